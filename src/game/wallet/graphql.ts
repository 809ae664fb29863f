import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { namesOf, PLAYERS_LIST, pageOf } from '../../declare/graphql/page.ts'
import { answerType, enumType, fieldsOf } from '../../declare/graphql/shapes.ts'
import { byBytes } from '../../players/graphql.ts'
import { findReadable } from '../../players/graphql-readable.ts'
import { balance, heldItem } from '../../players/read-player.ts'
import { reward, rewardBoost, rewardOrBoost } from '../definition/definition.ts'
import { WALLET_CAUSES, type WalletCause } from './holdings.ts'

export const RewardBoostType = answerType('RewardBoost', rewardBoost)
answerType('Reward', reward)
export const RewardOrBoostType = answerType('RewardOrBoost', rewardOrBoost)

export const PriceType = builder.objectRef<{ currency: string; amount: bigint }>('Price').implement({
  description: 'The price of premium.',
  fields: (t) => ({
    currency: t.exposeString('currency'),
    amount: t.field({ type: 'Int64', resolve: (price) => price.amount }),
  }),
})

const WalletType = builder.prismaObject('Wallet', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, currency }) => globalId('Wallet', playerId, currency) }),
    ...fieldsOf(t, balance.members),
  }),
})

const WalletCauseType = enumType('WalletCause', WALLET_CAUSES, {
  description: 'The cause of a change of a balance.',
  values: {
    tier_claim: 'A tier was claimed.',
    season_end: 'At the end of a season an earned tier was granted, or a currency expired or became another one.',
    premium_purchase: 'Premium was bought.',
    reward_node: 'A reward node paid.',
    adjustment: 'An operator credited or debited the wallet.',
    server_grant: 'A server of the game granted it.',
    server_spend: 'A server of the game spent it.',
    grant_job: 'A grant job gave it, or an undo of one took it back.',
    xp_conversion: 'Xp above the top level of a battle pass became a currency.',
    inbox_claim: 'A message of the inbox was claimed.',
  },
})

builder.prismaObject('WalletEntry', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('WalletEntry', playerId, id) }),
    currency: t.exposeString('currency'),
    amount: t.expose('amount', { type: 'Int64', description: 'The change: negative for a debit.' }),
    balance: t.expose('balance', { type: 'Int64', description: 'The balance after the change.' }),
    cause: t.field({
      type: WalletCauseType,
      description: 'The cause of the change.',
      select: { reason: true },
      resolve: ({ reason }) => reason as WalletCause,
    }),
    reference: t.exposeString('reference', {
      description:
        'The object behind the change, such as `season-1/pass/free/5`; for support, `support/` and the id of the entry in the audit log.',
    }),
    occurredAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of the change.' }),
  }),
})

const InventoryItemType = builder.prismaObject('InventoryItem', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, itemId }) => globalId('InventoryItem', playerId, itemId) }),
    ...fieldsOf(t, heldItem.members),
  }),
})

nodesOf('Wallet', ['uuid', 'name'], async (context, [playerId = '', currency = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_currency: { ...player, currency } }
  return where && context.prisma.wallet.findUnique({ where })
})

nodesOf('WalletEntry', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.walletEntry.findUnique({ where })
})

nodesOf('InventoryItem', ['uuid', 'name'], async (context, [playerId = '', itemId = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_itemId: { ...player, itemId } }
  return where && context.prisma.inventoryItem.findUnique({ where })
})

builder.prismaObjectFields('Player', (t) => ({
  wallet: t.field({
    type: [WalletType],
    description: 'Balances by currency.',
    select: (_args, _context, nested) => ({ wallets: nested() }),
    resolve: ({ wallets }) => [...wallets].sort((a, b) => byBytes(a.currency, b.currency)),
  }),
  inventory: t.field({
    type: [InventoryItemType],
    description: "The player's items.",
    select: (_args, _context, nested) => ({ inventory: nested() }),
    resolve: ({ inventory }) => [...inventory].sort((a, b) => byBytes(a.itemId, b.itemId)),
  }),
  walletLedger: t.prismaConnection(
    {
      type: 'WalletEntry',
      ...PLAYERS_LIST,
      description: 'Every change of a balance, the latest first.',
      resolve: (query, { environmentId, id: playerId }, _args, context) => {
        const { page, beyond } = pageOf(query, { scope: { playerId }, order: 'desc' })
        return context.prisma.walletEntry.findMany({ ...page, where: { environmentId, playerId, ...beyond } })
      },
    },
    ...namesOf('WalletEntry'),
  ),
}))
