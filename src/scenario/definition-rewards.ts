import { kindOf, MAX_INT64 } from '../base/json.ts'
import {
  MAX_ASSET,
  MAX_BOOST_MINUTES,
  MAX_BOOST_PERCENT,
  MAX_OPTIONS,
  MAX_REWARDS,
  MIN_OPTIONS,
} from '../base/limits.ts'
import type { Choice, Offer, Reward } from './definition.ts'
import type { RawValue, Reader } from './definition-reader.ts'
import { DISPLAY_MEMBERS, readDisplay } from './display.ts'

const MEMBERS = ['currency', 'itemId', 'boost', 'amount', ...DISPLAY_MEMBERS]

/** A list of rewards, each a currency, an item or a boost. */
export const readRewards = (reader: Reader, source: RawValue, min = 1): Reward[] =>
  reader.list(source, { min, max: MAX_REWARDS }).map((entry) => {
    const member = reader.object(entry, MEMBERS)
    if (isChoice(member)) reader.fault(entry.path, 'must not be a choice: only the rewards of tiers have one')
    return readReward(reader, entry, member)
  })

/** The rewards of a tier. One entry may be a choice between lists of rewards. */
export function readOffer(reader: Reader, source: RawValue, min = 0): Offer {
  const rewards: Reward[] = []
  let choice: Choice | undefined
  for (const entry of reader.list(source, { min, max: MAX_REWARDS })) {
    const member = reader.object(entry, [...MEMBERS, 'choice'])
    if (!isChoice(member)) {
      if (member('choice').raw !== undefined) reader.lateFault(entry.path, 'must not have choice besides a reward')
      rewards.push(readReward(reader, entry, member))
      continue
    }
    if (member('amount').raw !== undefined) reader.fault(member('amount').path, 'must not stand beside a choice')
    if (choice) reader.fault(entry.path, 'is a second choice: a tier has at most one')
    choice = reader
      .list(member('choice'), { min: MIN_OPTIONS, max: MAX_OPTIONS })
      .map((option) => readRewards(reader, option))
  }
  return choice ? { rewards, choice } : { rewards }
}

type Members = (name: string) => RawValue

const isAsset = (member: Members): boolean => member('currency').raw !== undefined || member('itemId').raw !== undefined

/** A stored reward may have members `choice` and `boost` of the game's own, but each has a currency or an item. */
const isChoice = (member: Members): boolean =>
  member('choice').raw !== undefined && member('boost').raw === undefined && !isAsset(member)

const isBoost = (member: Members): boolean => member('boost').raw !== undefined && !isAsset(member)

function readReward(reader: Reader, entry: RawValue, member: Members): Reward {
  if (isBoost(member)) return readBoost(reader, member)
  const currency = member('currency')
  const itemId = member('itemId')
  const amount = isChoice(member) ? 1n : (reader.integer(member('amount'), 1n, MAX_INT64) ?? 1n)
  const display = readDisplay(reader, member)
  if (member('boost').raw !== undefined)
    reader.lateFault(entry.path, 'must not have boost besides a currency or an item')
  if ((currency.raw === undefined) === (itemId.raw === undefined)) {
    if (entry.raw !== undefined && kindOf(entry.raw) === 'object' && !isChoice(member))
      reader.fault(entry.path, 'must have exactly one of currency, itemId and boost')
    return { currency: '', itemId: null, amount, ...display }
  }
  return currency.raw === undefined
    ? { currency: null, itemId: readAsset(reader, itemId), amount, ...display }
    : { currency: readAsset(reader, currency), itemId: null, amount, ...display }
}

function readBoost(reader: Reader, member: Members): Reward {
  if (member('amount').raw !== undefined) reader.fault(member('amount').path, 'must not stand beside a boost')
  const part = reader.object(member('boost'), ['percent', 'minutes'])
  const percent = Number(reader.integer(part('percent'), 1n, BigInt(MAX_BOOST_PERCENT)) ?? 1n)
  const minutes = Number(reader.integer(part('minutes'), 1n, BigInt(MAX_BOOST_MINUTES)) ?? 1n)
  return { currency: null, itemId: null, amount: 1n, boost: { percent, minutes }, ...readDisplay(reader, member) }
}

/** The name of a currency or an item. */
export function readAsset(reader: Reader, source: RawValue): string {
  const name = reader.text(source, MAX_ASSET)
  reader.blankNotice(source.path, name)
  return name
}
