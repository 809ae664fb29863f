import { keyLabelOf } from '../../audit/graphql.ts'
import { orNull } from '../../base/errors.ts'
import { MAX_NOTES } from '../../base/limits.ts'
import { requirePlatform } from '../../callers/access.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { needs } from '../../declare/graphql/field-marks.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { namesOf, PLAYERS_LIST, pageOf } from '../../declare/graphql/page.ts'
import { findPlayer } from '../../players/find-player.ts'

builder.prismaObject('PlayerNote', {
  description: 'A note of an operator about a player, for other operators. The game and the player never see it.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('PlayerNote', playerId, id) }),
    noteId: t.exposeID('id', { description: 'The id of the note, which is also that of its entry in the audit log.' }),
    text: t.exposeString('text', { description: 'What the operator wrote.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    actor: t.exposeString('actor', { description: '`platform_key:` and its id.' }),
    actorLabel: t.string({
      nullable: true,
      description: 'The label of the platform key; null for a key without a label.',
      select: { actor: true },
      resolve: async ({ actor }, _args, context) => {
        const { projectId } = await requirePlatform(context, 'players')
        return keyLabelOf(context.prisma, { projectId, actor })
      },
    }),
    operator: t.exposeString('operator', {
      nullable: true,
      description:
        'The person who wrote it: the `actor` of an operator token, or the `X-Operator` of a call with a platform key. Null without one.',
    }),
    operatorIsClaimed: t.exposeBoolean('operatorIsClaimed', {
      description: 'True when the call itself named the `operator`.',
    }),
  }),
})

nodesOf('PlayerNote', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const { projectId } = await requirePlatform(context, 'players')
  const player = await orNull(findPlayer(context.service.pool, projectId, playerId), 'playerNotFound')
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.playerNote.findUnique({ where })
})

builder.prismaObjectField('Player', 'notes', (t) =>
  t.prismaConnection(
    {
      type: 'PlayerNote',
      cursor: PLAYERS_LIST.cursor,
      nullable: true,
      extensions: { ...PLAYERS_LIST.extensions, ...needs('players') },
      description: `Notes of operators, the latest first: up to ${MAX_NOTES}. For platform keys.`,
      resolve: async (query, { environmentId, id: playerId }, _args, context) => {
        await requirePlatform(context, 'players')
        const { page, beyond } = pageOf(query, { scope: { playerId }, order: 'desc' })
        return context.prisma.playerNote.findMany({ ...page, where: { environmentId, playerId, ...beyond } })
      },
    },
    ...namesOf('PlayerNote'),
  ),
)
