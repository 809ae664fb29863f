import { MAX_ASSET, MAX_REWARDS } from '../base/limits.ts'
import { type Check, type Field, int64, listOf, optional, type RequestOf, shape, text } from '../declare/shape.ts'
import type { Reward } from '../scenario/definition.ts'

const rewardShape = shape({
  currency: optional(text('A currency. Exactly one of `currency` and `itemId` is sent.', { max: MAX_ASSET })),
  itemId: optional(text('An item. Exactly one of `currency` and `itemId` is sent.', { max: MAX_ASSET })),
  amount: int64('The amount: 1 or more.', { min: 1n }),
})
const check: Check<RequestOf<typeof rewardShape>> = ({ currency, itemId }) =>
  (currency === null) === (itemId === null)
    ? [{ path: '', message: 'must have exactly one of currency and itemId' }]
    : []

/** A list of currencies and items in a request. In GraphQL it is a list of `RewardInput`. */
export const rewardList = (description: string, { min = 1 } = {}): Field<readonly Reward[]> =>
  listOf(description, rewardShape, { min, max: MAX_REWARDS, check, input: 'RewardInput' })
