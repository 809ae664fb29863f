import { builder } from '../graphql/builder.ts'
import { requirePlayer } from '../graphql/context.ts'

builder.prismaObject('Identity', {
  fields: (t) => ({ provider: t.exposeString('provider'), subject: t.exposeString('subject') }),
})

builder.prismaObject('Player', {
  fields: (t) => ({
    id: t.exposeID('id'),
    status: t.exposeString('status', { description: '`active`, `banned` or `deleted`.' }),
    nickname: t.exposeString('nickname', { nullable: true }),
    avatarUrl: t.exposeString('avatarUrl', { nullable: true }),
    region: t.exposeString('region', { nullable: true }),
    language: t.exposeString('language', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    identities: t.relation('identities', { query: { orderBy: [{ provider: 'asc' }, { subject: 'asc' }] } }),
    wallet: t.relation('wallets', { query: { orderBy: { currency: 'asc' } }, description: 'Balances by currency.' }),
    inventory: t.relation('inventory', { query: { orderBy: { itemId: 'asc' } }, description: 'Items held.' }),
    walletLedger: t.prismaConnection({
      type: 'WalletEntry',
      cursor: 'environmentId_playerId_id',
      description: 'Every change of a balance, the latest first.',
      resolve: (query, player, _args, context) =>
        context.prisma.walletEntry.findMany({
          ...query,
          where: { environmentId: player.environmentId, playerId: player.id },
          orderBy: { id: 'desc' },
        }),
    }),
  }),
})

builder.queryField('me', (t) =>
  t.prismaField({
    type: 'Player',
    description: 'The calling player.',
    resolve: async (query, _root, _args, context) => {
      const caller = await requirePlayer(context)
      await context.operations.admitPlayer(caller)
      const { environmentId, playerId: id } = caller
      return context.prisma.player.findUniqueOrThrow({ ...query, where: { environmentId_id: { environmentId, id } } })
    },
  }),
)
