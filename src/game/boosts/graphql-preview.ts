import { answer, out } from '../../declare/answer.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { fieldsOf } from '../../declare/graphql/shapes.ts'
import type { BoostPreview, PassBoostPreview } from './preview-boost.ts'

const { members } = answer('What a boost would have given.', {
  xp: out.int64('The xp that it would have added.'),
})
const PLAYERS = 'Players who got xp in these days that it is for. Deleted players do not count.'
const LEVEL_GAINED = 'Players among them who would stand at a higher level now.'

const PassType = builder.objectRef<PassBoostPreview>('PassBoostPreview').implement({
  description: 'What a boost would have given on one battle pass.',
  fields: (t) => ({
    scenarioId: t.exposeString('scenarioId'),
    nodeId: t.exposeString('nodeId'),
    players: t.expose('players', { type: 'Count', description: PLAYERS }),
    levelGained: t.expose('levelGained', { type: 'Count', description: LEVEL_GAINED }),
    ...fieldsOf(t, members),
  }),
})

builder.objectRef<BoostPreview>('PreviewBoostResult').implement({
  description:
    'What a boost would have given, had it run in the last days: by their xp and by the current versions of the scenarios.',
  fields: (t) => ({
    asOf: t.expose('asOf', { type: 'DateTime' }),
    from: t.expose('from', { type: 'DateTime', description: 'The beginning of the days.' }),
    players: t.expose('players', { type: 'Count', description: PLAYERS }),
    levelGained: t.expose('levelGained', { type: 'Count', description: LEVEL_GAINED }),
    ...fieldsOf(t, members),
    passes: t.field({
      extensions: { size: 3 },
      type: [PassType],
      description: 'The same for each battle pass with such players, by scenario and node.',
      resolve: ({ passes }) => [...passes],
    }),
  }),
})
