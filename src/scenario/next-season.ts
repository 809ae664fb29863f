import { MAX_INT64 } from '../base/json.ts'
import { MAX_ASSET, MAX_CARRIED_PERCENT, MAX_ID, MAX_REWARDS } from '../base/limits.ts'
import { type RawValue, type Reader, stringOf } from './definition-reader.ts'

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

const RATE = /^([1-9]\d{0,8}):([1-9]\d{0,8})$/
export const RATE_PATTERN = RATE.source

export function readNextSeason(reader: Reader, source: RawValue, endsAt: Date | null): NextSeason | null {
  if (source.raw === undefined) return null
  const next = reader.object(source, ['scenarioId', 'nodeId', 'carry', 'convert'])
  const scenarioId = readText(reader, next('scenarioId'), MAX_ID)
  const nodeId = readText(reader, next('nodeId'), MAX_ID)
  const carry = readCarry(reader, next('carry'))
  const convert = readConversions(reader, next('convert'))
  if (scenarioId === null && nodeId !== null) reader.fault(next('nodeId').path, 'needs scenarioId')
  if (scenarioId === null && (carry.xpPercent > 0 || carry.premium))
    reader.fault(next('carry').path, 'needs scenarioId')
  if (scenarioId === null && convert.length === 0) return null
  if (!endsAt) reader.fault(source.path, 'needs endsAt: without it, the season never ends')
  return { scenarioId, nodeId, carry, convert }
}

function readText(reader: Reader, source: RawValue, max: number): string | null {
  if (source.raw === undefined) return null
  const text = reader.text(source, max)
  reader.blankNotice(source.path, text)
  return text
}

function readCarry(reader: Reader, source: RawValue): Carry {
  if (source.raw === undefined) return { xpPercent: 0, xpMax: null, premium: false }
  const carry = reader.object(source, ['xpPercent', 'xpMax', 'premium'])
  const read = (name: string, max: bigint) =>
    carry(name).raw === undefined ? undefined : reader.integer(carry(name), 1n, max)
  const xpPercent = Number(read('xpPercent', BigInt(MAX_CARRIED_PERCENT)) ?? 0)
  const xpMax = read('xpMax', MAX_INT64) ?? null
  if (carry('xpMax').raw !== undefined && carry('xpPercent').raw === undefined)
    reader.fault(carry('xpMax').path, 'needs xpPercent')
  return { xpPercent, xpMax, premium: reader.flag(carry('premium'), false) }
}

function readConversions(reader: Reader, source: RawValue): Conversion[] {
  const places = reader.list(source, { min: 0, max: MAX_REWARDS })
  const conversions = places.map((place) => readConversion(reader, place))
  const known = new Set<string>()
  for (const [index, { currency, to }] of conversions.entries()) {
    const path = places[index]?.path ?? ''
    if (currency !== '' && known.has(currency)) reader.fault(`${path}.currency`, 'repeats a currency')
    known.add(currency)
    // Otherwise the order of the list would decide how much is left.
    if (to !== null && to !== '' && conversions.some((other) => other.currency === to))
      reader.fault(`${path}.to`, 'must not be among the currencies that end: the order would matter')
  }
  return conversions
}

function readConversion(reader: Reader, source: RawValue): Conversion {
  const member = reader.object(source, ['currency', 'to', 'rate'])
  const currency = reader.text(member('currency'), MAX_ASSET)
  reader.blankNotice(member('currency').path, currency)
  const to = readText(reader, member('to'), MAX_ASSET)
  const rate = member('rate')
  const [, gives, per] = RATE.exec(stringOf(rate) ?? '') ?? []
  if (to === null && rate.raw !== undefined) reader.fault(rate.path, 'needs to')
  if (to !== null && rate.raw === undefined) reader.fault(member('to').path, 'needs rate')
  if (rate.raw !== undefined && per === undefined)
    reader.unfit(rate, 'must be what is given, a colon, and for how much, such as 1:10')
  return { currency, to, gives: BigInt(gives ?? 0), per: BigInt(per ?? 1) }
}

/** The xp that a player takes along. */
export function carriedXp({ xpPercent, xpMax }: Carry, xp: bigint): bigint {
  const part = (xp * BigInt(xpPercent)) / 100n
  return xpMax !== null && part > xpMax ? xpMax : part
}

/** What a balance becomes, rounded down. What is left of it ends. */
export const converted = ({ gives, per }: Conversion, balance: bigint): bigint => (balance * gives) / per
