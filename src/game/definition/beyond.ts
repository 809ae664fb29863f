import { MAX_INT64 } from '../../base/json.ts'
import { MAX_ASSET, MAX_BONUS_TIERS } from '../../base/limits.ts'
import { integer, type Members, name, named, object, optional, type ValuesOf } from '../../declare/document/parts.ts'
import type { Beyond, BonusTiers, XpConversion } from './definition.ts'
import { NO_OFFER, offer } from './rewards.ts'

// What xp above the top level of a pass brings: `data.beyond`. Pure.

const conversion = object(
  'A currency, and the xp that becomes one of it.',
  {
    currency: name(MAX_ASSET, 'A currency of the wallet.'),
    per: integer(1, MAX_INT64, 'The xp that becomes one of the currency.'),
  },
  (given): XpConversion => ({ kind: 'conversion', currency: given.read('currency'), per: given.read('per') ?? 1n }),
)

const tierParts = {
  every: optional(integer(1, MAX_INT64, 'An amount of xp.'), 'The xp above the top level that earns each bonus tier.'),
  rewards: optional(offer('The rewards, and at most one choice.', 1), 'The rewards of each bonus tier.'),
  max: optional(
    integer(1, MAX_BONUS_TIERS, 'A number of tiers.'),
    `The number of bonus tiers. Default: ${MAX_BONUS_TIERS}.`,
  ),
  perDay: optional(
    integer(1, MAX_BONUS_TIERS, 'A number of tiers.'),
    'Maximum number of bonus tiers that a player claims on a day of the game. Default: no limit.',
  ),
}
const OF_TIERS = Object.keys(tierParts) as (keyof typeof tierParts)[]

function readTiers(given: Members<ValuesOf<typeof tierParts>>): BonusTiers {
  if (!given.has('every')) given.lacks('every')
  if (!given.has('rewards')) given.lacks('rewards')
  const every = given.read('every') ?? 1n
  const offer = given.read('rewards') ?? NO_OFFER
  const max = Number(given.read('max') ?? MAX_BONUS_TIERS)
  const perDay = given.read('perDay') ?? null
  return { kind: 'tiers', every, ...offer, max, perDay: perDay === null ? null : Number(perDay) }
}

const isGiven = { not: { type: 'null' } }
const isAbsent = { type: 'null' }

export const beyond = named(
  'beyond',
  object(
    'Either bonus tiers, by `every` and `rewards`, or `convert`.',
    { ...tierParts, convert: optional(conversion, 'What xp above the top level becomes.') },
    (given): Beyond | null => {
      const hasTiers = OF_TIERS.some((name) => given.has(name))
      if (hasTiers === given.has('convert')) given.wrong('must have either every and rewards, or convert')
      const conversion = given.read('convert')
      return hasTiers ? readTiers(given) : conversion
    },
    {
      rules: {
        oneOf: [
          { required: ['every', 'rewards'], properties: { every: isGiven, rewards: isGiven, convert: isAbsent } },
          {
            required: ['convert'],
            properties: { convert: isGiven, ...Object.fromEntries(OF_TIERS.map((name) => [name, isAbsent])) },
          },
        ],
      },
    },
  ),
)
