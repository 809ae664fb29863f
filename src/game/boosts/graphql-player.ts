import { databaseNow } from '../../db/ids.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { findReadable } from '../../players/graphql-readable.ts'

builder.prismaObject('PlayerBoost', {
  description: 'More xp for a time, of one player.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('PlayerBoost', playerId, id) }),
    boostId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    percent: t.exposeInt('percent', { description: 'The percentage that is added to each xp.' }),
    startsAt: t.expose('startsAt', { type: 'DateTime', description: 'When it started.' }),
    endsAt: t.expose('endsAt', { type: 'DateTime', description: 'When it ends: the first time without it.' }),
    reference: t.exposeString('reference', {
      description:
        'What gave it, or made it longer at last, such as `season-1/pass/free/5`; for support, `support/` and the id of the entry in the audit log.',
    }),
  }),
})

nodesOf('PlayerBoost', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.playerBoost.findUnique({ where })
})

builder.prismaObjectField('Player', 'boosts', (t) =>
  t.relation('boosts', {
    description: 'The boosts that the player alone has and that run now, the first to end first.',
    query: () => ({
      where: { endsAt: { gt: new Date(databaseNow()) } },
      orderBy: [{ endsAt: 'asc' }, { id: 'asc' }],
    }),
  }),
)
