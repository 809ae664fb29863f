import { MAX_INT64 } from '../../base/json.ts'
import { MAX_ASSET, MAX_CARRIED_PERCENT, MAX_ID, MAX_REWARDS } from '../../base/limits.ts'
import {
  byDefault,
  flag,
  integer,
  matched,
  name,
  named,
  object,
  optional,
  type Part,
  places,
  withKeywords,
} from '../../declare/document/parts.ts'
import type { Place, Reader } from '../../declare/document/reader.ts'

// What follows a season: `data.next` of its pass. Pure.

/** What becomes of a currency at the end: `gives` of another one for each `per`, or nothing. */
export interface Conversion {
  readonly currency: string
  /** Null for a currency that expires. */
  readonly to: string | null
  readonly gives: bigint
  readonly per: bigint
}

/** What a player takes along. */
export interface Carry {
  /** Of the xp, rounded down; 0 for none. */
  readonly xpPercent: number
  /** The most xp. Null for no limit. */
  readonly xpMax: bigint | null
  readonly premium: boolean
}

export interface NextSeason {
  /** Null when only currencies end. */
  readonly scenarioId: string | null
  /** The pass of that scenario. Null for the one with the id of this pass. */
  readonly nodeId: string | null
  readonly carry: Carry
  readonly convert: readonly Conversion[]
}

const carry = named(
  'carry',
  object(
    'What a player takes along.',
    {
      xpPercent: optional(
        integer(1, MAX_CARRIED_PERCENT, 'A percentage.'),
        'The percentage of the xp that is carried over, rounded down. Default: none.',
      ),
      xpMax: optional(integer(1, MAX_INT64, 'An amount of xp.'), 'Maximum xp that is carried over. Default: no limit.'),
      premium: byDefault(flag('Whether an owner of premium owns it in the next season, too. Default: false.'), false),
    },
    (given): Carry => {
      const xpPercent = Number(given.read('xpPercent') ?? 0)
      const xpMax = given.read('xpMax') ?? null
      if (given.has('xpMax') && !given.has('xpPercent')) given.fault('xpMax', 'needs xpPercent')
      return { xpPercent, xpMax, premium: given.read('premium') }
    },
  ),
)

const rate = withKeywords(
  matched(/^([1-9]\d{0,8}):([1-9]\d{0,8})$/, {
    description:
      'With `to`: what is given, and for how much, such as 1:10 for one of `to` for each ten. Rounded down; the rest ends.',
    fault: 'must be what is given, a colon, and for how much, such as 1:10',
    of: ([gives = '', per = '']) => ({ gives: BigInt(gives), per: BigInt(per) }),
  }),
  { examples: ['1:10', '5:1'] },
)

const conversion = named(
  'conversion',
  object(
    'A currency that ends with the season.',
    {
      currency: name(MAX_ASSET, 'A currency that ends.'),
      to: optional(name(MAX_ASSET, 'A currency that does not end.'), 'What it becomes. Default: it expires.'),
      rate: byDefault(rate, { gives: 0n, per: 1n }),
    },
    (given): Conversion => {
      const [currency, to] = [given.read('currency'), given.read('to')]
      if (to === null && given.has('rate')) given.fault('rate', 'needs to')
      if (to !== null && !given.has('rate')) given.fault('to', 'needs rate')
      return { currency, to, ...given.read('rate') }
    },
  ),
)

const conversionList = places(conversion, { max: MAX_REWARDS }, 'Each currency once.')

const conversions: Part<Conversion[]> = {
  ...conversionList,
  read(reader, place) {
    const places = conversionList.read(reader, place)
    const conversions = places.map((one) => conversion.read(reader, one))
    checkConversions(reader, places, conversions)
    return conversions
  },
}

function checkConversions(reader: Reader, places: readonly Place[], conversions: readonly Conversion[]): void {
  const known = new Set<string>()
  for (const [index, { currency, to }] of conversions.entries()) {
    const path = places[index]?.path ?? ''
    if (currency !== '' && known.has(currency)) reader.fault(`${path}.currency`, 'repeats a currency')
    known.add(currency)
    // Otherwise the order of the list would decide how much is left.
    if (to !== null && to !== '' && conversions.some((other) => other.currency === to))
      reader.fault(`${path}.to`, 'must not be among the currencies that end: the order would matter')
  }
}

const NOTHING: Carry = { xpPercent: 0, xpMax: null, premium: false }

export const nextSeason = named(
  'nextSeason',
  object(
    'What follows a season.',
    {
      scenarioId: optional(
        name(MAX_ID, 'The scenario of the next season.'),
        'Once the season has ended, its players are started there. Default: none.',
      ),
      nodeId: optional(name(MAX_ID, 'The pass of that scenario.'), 'Default: the one with the id of this pass.'),
      carry: optional(carry, 'What a player takes along to the next season, once. Default: nothing.', NOTHING),
      convert: optional(
        conversions,
        'Currencies that end once claims have closed: they expire, or become another one. Default: none.',
        [],
      ),
    },
    (given): NextSeason | null => {
      const [scenarioId, nodeId] = [given.read('scenarioId'), given.read('nodeId')]
      const [carry, convert] = [given.read('carry'), given.read('convert')]
      if (scenarioId === null && nodeId !== null) given.fault('nodeId', 'needs scenarioId')
      if (scenarioId === null && (carry.xpPercent > 0 || carry.premium)) given.fault('carry', 'needs scenarioId')
      return scenarioId === null && convert.length === 0 ? null : { scenarioId, nodeId, carry, convert }
    },
  ),
)

/** The xp that a player takes along. */
export function carriedXp({ xpPercent, xpMax }: Carry, xp: bigint): bigint {
  const part = (xp * BigInt(xpPercent)) / 100n
  return xpMax !== null && part > xpMax ? xpMax : part
}

/** What a balance becomes, rounded down. What is left of it ends. */
export const converted = ({ gives, per }: Conversion, balance: bigint): bigint => (balance * gives) / per
