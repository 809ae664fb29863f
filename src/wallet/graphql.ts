import { builder } from '../graphql/builder.ts'
import type { Granted } from '../scenario/plan.ts'

export const RewardType = builder.objectRef<Granted>('Reward').implement({
  description: 'Something granted: exactly one of `currency` and `itemId` is set (spec 2.2).',
  fields: (t) => ({
    amount: t.field({ type: 'Int64', resolve: (reward) => reward.amount }),
    currency: t.exposeString('currency', { nullable: true }),
    itemId: t.exposeString('itemId', { nullable: true }),
  }),
})

export const PriceType = builder.objectRef<{ currency: string; amount: bigint }>('Price').implement({
  description: 'What premium costs.',
  fields: (t) => ({
    currency: t.exposeString('currency'),
    amount: t.field({ type: 'Int64', resolve: (price) => price.amount }),
  }),
})

export const WalletType = builder.prismaObject('Wallet', {
  fields: (t) => ({
    currency: t.exposeString('currency'),
    balance: t.expose('balance', { description: 'What the player has of it, in whole units.', type: 'Int64' }),
  }),
})

builder.prismaObject('WalletEntry', {
  fields: (t) => ({
    id: t.exposeID('id'),
    currency: t.exposeString('currency'),
    amount: t.expose('amount', { type: 'Int64', description: 'What was added; negative for what was taken.' }),
    balance: t.expose('balance', { type: 'Int64', description: 'The balance after it.' }),
    reason: t.exposeString('reason', {
      description: '`tier_claim`, `premium_purchase`, `reward_node` or `adjustment`.',
    }),
    reference: t.exposeString('reference', {
      description:
        'What it was for, such as `season-1/pass/free/5`; of support `support/` and the id of the entry in the audit log.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

export const InventoryItemType = builder.prismaObject('InventoryItem', {
  fields: (t) => ({
    itemId: t.exposeString('itemId'),
    amount: t.expose('amount', { type: 'Int64' }),
  }),
})
