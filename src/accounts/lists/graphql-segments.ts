import { inThousands } from '../../base/in-thousands.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { ON_REQUEST } from '../../declare/graphql/field-marks.ts'
import { NodeType } from '../../declare/graphql/node.ts'
import { outputOfShape } from '../../declare/graphql/shapes.ts'
import { playerFilter, searchOf } from './requests.ts'
import { countPlayers, MAX_COUNT, type PlayerCount } from './search-players.ts'
import { readFilterJson } from './segments.ts'

export const PlayerFilterType = outputOfShape(
  'PlayerFilter',
  playerFilter,
  'Filters of players. Null for those that are not set.',
)

interface Counted {
  readonly environmentId: string
  readonly filter: string
}

/** Both fields of a count are of one statement. */
const counts = new WeakMap<object, Promise<PlayerCount>>()

function countOf(segment: Counted, { service }: Context): Promise<PlayerCount> {
  const known = counts.get(segment)
  if (known) return known
  const { environmentId, filter } = segment
  const counted = searchOf(service.run, readFilterJson(filter), environmentId).then((search) =>
    countPlayers(service.operatorPool, { ...search, isPresent: true }),
  )
  counts.set(segment, counted)
  return counted
}

builder.prismaObject('Segment', {
  description: 'A filter of players with a name.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('Segment', id) }),
    segmentId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: ({ environment }) => environment.name,
    }),
    name: t.exposeString('name', { description: 'The name by which lists, exports and grant jobs take it.' }),
    filter: t.field({
      type: PlayerFilterType,
      description: 'The filters of its players.',
      select: { filter: true },
      resolve: ({ filter }) => readFilterJson(filter),
    }),
    playerCount: t.field({
      extensions: ON_REQUEST,
      type: 'Count',
      description: `The number of its players now, as a grant takes them: without deleted ones, unless the segment asks for these. Counted up to ${inThousands(MAX_COUNT)}. When \`playerCountIsExact\` is false, there may be more.`,
      select: { filter: true, environmentId: true },
      resolve: async (segment, _args, context) => (await countOf(segment, context)).count,
    }),
    playerCountIsExact: t.boolean({
      extensions: ON_REQUEST,
      description: 'False when there may be more players than `playerCount`.',
      select: { filter: true, environmentId: true },
      resolve: async (segment, _args, context) => (await countOf(segment, context)).isExact,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
  }),
})
