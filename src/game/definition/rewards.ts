import { MAX_INT64 } from '../../base/json.ts'
import {
  MAX_ASSET,
  MAX_BOOST_MINUTES,
  MAX_BOOST_PERCENT,
  MAX_OPTIONS,
  MAX_REWARDS,
  MIN_OPTIONS,
} from '../../base/limits.ts'
import {
  integer,
  list,
  type Members,
  name,
  named,
  object,
  optional,
  type Part,
  part,
  places,
  type Schema,
  type ValuesOf,
} from '../../declare/document/parts.ts'
import type { Choice, Offer, Reward, RewardBoost } from './definition.ts'
import { displayParts, readDisplay } from './display.ts'

// The rewards of a definition: of reward nodes, of tiers, where one may be a choice, and of the purchase of premium.

const personalBoost = named(
  'personalBoost',
  object(
    'A boost of the player alone, in all scenarios.',
    {
      percent: integer(1, MAX_BOOST_PERCENT, 'The percentage that is added to each xp.'),
      minutes: integer(
        1,
        MAX_BOOST_MINUTES,
        'The duration in minutes. It prolongs a boost of the same percentage that the player has.',
      ),
    },
    (given): RewardBoost => ({
      percent: Number(given.read('percent') ?? 1n),
      minutes: Number(given.read('minutes') ?? 1n),
    }),
  ),
)

/** That an object has a member which is not null. */
const has = (name: string): Schema => ({ required: [name], properties: { [name]: { not: { type: 'null' } } } })
const areNull = (...names: string[]): Schema => Object.fromEntries(names.map((name) => [name, { type: 'null' }]))

const grantParts = {
  currency: optional(name(MAX_ASSET, 'A currency.'), 'Goes into the wallet.'),
  itemId: optional(name(MAX_ASSET, 'An item.'), 'Goes into the inventory.'),
  boost: optional(personalBoost, 'The player gets more xp for a time.'),
  amount: optional(integer(1, MAX_INT64, 'The amount.'), 'Required for a currency or an item. Not for a boost.'),
  ...displayParts,
}
type Given = Members<ValuesOf<typeof grantParts>>

const hasAsset = (given: Given): boolean => given.has('currency') || given.has('itemId')

/** A stored reward may have members `choice` and `boost` of the game's own, but each has a currency or an item. */
const isChoice = (given: Given): boolean => given.hasOther('choice') && !given.has('boost') && !hasAsset(given)

function readReward(given: Given): Reward {
  const boost = given.has('boost') && !hasAsset(given) ? given.read('boost') : null
  if (boost !== null) {
    if (given.has('amount')) given.fault('amount', 'must not stand beside a boost')
    return { currency: null, itemId: null, amount: 1n, boost, ...readDisplay(given) }
  }
  if (!given.has('amount')) given.lacks('amount')
  const amount = given.read('amount') ?? 1n
  const display = readDisplay(given)
  if (given.has('boost')) given.reader.lateFault(given.path, 'must not have boost besides a currency or an item')
  const [currency, itemId] = [given.read('currency'), given.read('itemId')]
  if (currency === null && itemId !== null) return { currency, itemId, amount, ...display }
  if (currency === null || itemId !== null) given.wrong('must have exactly one of currency, itemId and boost')
  return { currency: currency ?? '', itemId: null, amount, ...display }
}

const grant = named(
  'grant',
  object(
    'Exactly one of currency, itemId and boost.',
    grantParts,
    (given): Reward => {
      if (!isChoice(given)) return readReward(given)
      given.wrong('must not be a choice: only the rewards of tiers have one')
      return { currency: '', itemId: null, amount: 1n, ...readDisplay(given) }
    },
    {
      rules: {
        oneOf: ['currency', 'itemId', 'boost'].map(has),
        if: has('boost'),
        // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
        then: { properties: areNull('amount') },
        else: has('amount'),
      },
    },
  ),
)

/** A list of rewards, each a currency, an item or a boost. */
export const grants = (description: string, min: number): Part<Reward[]> =>
  list(grant, { min, max: MAX_REWARDS }, description)

export const rewards = named('rewards', grants('The rewards. All of them are granted.', 1))

const options = list(rewards, { min: MIN_OPTIONS, max: MAX_OPTIONS }, 'The options, each a list of rewards.')

const choice = named(
  'choice',
  object(
    'Options of which the player picks one when it claims the tier.',
    { choice: options },
    (given): Choice => given.read('choice'),
    { rules: { properties: { choice: options.schema, ...areNull('currency', 'itemId', 'boost', 'amount') } } },
  ),
)

const entryMembers = object('', { ...grantParts, choice: optional(options, '') }, (given): Reward | Choice => {
  if (!isChoice(given)) {
    if (given.has('choice')) given.reader.lateFault(given.path, 'must not have choice besides a reward')
    return readReward(given)
  }
  if (given.has('amount')) given.fault('amount', 'must not stand beside a choice')
  return given.read('choice') ?? []
})

const tierEntry = named(
  'tierEntry',
  part(
    {
      description: 'A reward, or a choice.',
      if: { type: 'object', ...has('choice') },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
      then: choice.schema,
      else: grant.schema,
    },
    entryMembers.read,
    { ...choice.named, ...grant.named },
  ),
)

const isReward = (entry: Reward | Choice): entry is Reward => !Array.isArray(entry)

/** The rewards of a tier. One entry may be a choice between lists of rewards. */
export function offer(description: string, min: number): Part<Offer> {
  const entries = places(tierEntry, { min, max: MAX_REWARDS }, description)
  return {
    ...entries,
    read(reader, place) {
      const rewards: Reward[] = []
      let choice: Choice | undefined
      for (const one of entries.read(reader, place)) {
        const entry = tierEntry.read(reader, one)
        if (isReward(entry)) {
          rewards.push(entry)
          continue
        }
        if (choice) reader.fault(one.path, 'is a second choice: a tier has at most one')
        choice = entry
      }
      return choice ? { rewards, choice } : { rewards }
    },
  }
}

export const NO_OFFER: Offer = { rewards: [] }

export const tierRewards = named(
  'tierRewards',
  offer('The rewards, and at most one choice. A claim grants all rewards, and one option of the choice.', 0),
)
