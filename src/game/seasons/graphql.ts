import { builder } from '../../declare/graphql/builder.ts'
import { answerType, playerQuery } from '../../declare/graphql/shapes.ts'
import { seasonProgress, seasonsCall } from './list-seasons.ts'

const SeasonProgressType = answerType('SeasonProgress', seasonProgress)
const seasonsQuery = playerQuery(seasonsCall)

builder.queryField('seasons', (t) =>
  t.field({
    type: [SeasonProgressType],
    description:
      "The calling player's seasons, the last started first: one for each battle pass that it has begun, also those that are over.",
    resolve: async (root, args, context) => (await seasonsQuery.resolve(root, args, context)).seasons,
  }),
)
