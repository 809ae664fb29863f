import { MAX_ASSET, MAX_BOOST_MINUTES, MAX_BOOST_PERCENT, MAX_REWARDS } from '../../base/limits.ts'
import {
  type Check,
  type Field,
  int32,
  int64,
  listOf,
  mapped,
  nested,
  optional,
  type RequestOf,
  shape,
  text,
} from '../../declare/shape.ts'
import { type Reward, rewardOf } from './definition.ts'

const boostShape = shape({
  percent: int32(`The percentage that is added to each xp: 1 to ${MAX_BOOST_PERCENT}.`, {
    min: 1,
    max: MAX_BOOST_PERCENT,
  }),
  minutes: int32(`The duration in minutes: 1 to ${MAX_BOOST_MINUTES}.`, { min: 1, max: MAX_BOOST_MINUTES }),
})

/** The members of a reward in a request. */
export const rewardFields = (amount: string) => ({
  currency: optional(text('A currency.', { max: MAX_ASSET })),
  itemId: optional(text('An item.', { max: MAX_ASSET })),
  boost: optional(nested('A boost of the player alone.', boostShape, undefined, 'RewardBoostInput')),
  amount: optional(int64(amount, { min: 1n })),
})
const rewardShape = shape(rewardFields('The amount of the currency or item: 1 or more. A boost has none. Default: 1.'))

/** Faults of a reward that is not exactly one thing. */
export const checkReward: Check<RequestOf<typeof rewardShape>> = ({ amount, ...kinds }) => [
  ...(Object.values(kinds).filter((kind) => kind !== null).length === 1
    ? []
    : [{ path: '', message: 'must have exactly one of currency, itemId and boost' }]),
  ...(kinds.boost && amount !== null ? [{ path: 'amount', message: 'must be absent: a boost has none' }] : []),
]

/** A reward that was read, with this amount of a currency or item. */
export const rewardWith = ({ boost, ...reward }: RequestOf<typeof rewardShape>, amount: bigint): Reward =>
  rewardOf({ ...reward, amount: boost ? 1n : amount, ...(boost && { boost }) })

/** A list of rewards in a request. In GraphQL it is a list of `RewardInput`. */
export const rewardList = (description: string, { min = 1 } = {}): Field<readonly Reward[]> =>
  mapped(
    listOf(description, rewardShape, { min, max: MAX_REWARDS, check: checkReward, input: 'RewardInput' }),
    (rewards) => rewards.map((reward) => rewardWith(reward, reward.amount ?? 1n)),
  )
