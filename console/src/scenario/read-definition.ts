import { MAX_BONUS_TIERS } from '../../../src/base/limits.ts'
import { parseLocalTime } from '../../../src/base/moment.ts'
import { isTimeZone, TimeZone } from '../../../src/base/time-zone.ts'
import { earnedTiers } from '../../../src/game/battlepass/beyond.ts'
import type { SeasonDates } from '../../../src/game/definition/season.ts'
import type { Json } from '../graphql.ts'

// A definition as it is shown. It is lenient: a draft may lack what publishing requires.

/** The tracks whose tiers a definition lists. */
export type Track = 'FREE' | 'PREMIUM'
/** The tracks of claims. Bonus tiers are numbered from 1. */
export type ClaimTrack = Track | 'BONUS'

/** Exactly one of `currency`, `itemId` and `boost` is set. `amount` is a decimal text. */
export interface RewardView {
  readonly currency: string | null
  readonly itemId: string | null
  readonly boost?: { readonly percent: string | number; readonly minutes: string | number } | null
  readonly amount: string
}

/** What a claim grants: all rewards, and one option of the choice. */
export interface OfferView {
  readonly rewards: readonly RewardView[]
  /** Empty without a choice. */
  readonly choice: readonly (readonly RewardView[])[]
}

export interface TierView extends OfferView {
  readonly level: number
  readonly track: Track
}

/** The bonus tiers above the top level. */
export interface BonusView extends OfferView {
  /** The xp that earns one. */
  readonly every: bigint
  readonly max: number
  readonly perDay: number | null
}

export interface PassView {
  readonly id: string
  /** By level. `xp` is the total that reaches it. */
  readonly levels: readonly { readonly level: number; readonly xp: bigint }[]
  /** The tiers of the pass and of its level nodes. */
  readonly tiers: readonly TierView[]
  readonly price: { readonly currency: string; readonly amount: string } | null
  /** What owners of premium get on top of their xp, in percent. */
  readonly xpPercent: number | null
  /** What the purchase of premium grants at once. */
  readonly instant: readonly RewardView[]
  /** Null without bonus tiers. */
  readonly bonus: BonusView | null
  readonly announcedAt: string | null
  readonly startsAt: string | null
  /** The hours before its end in which the season is about to end. */
  readonly endingHours: number | null
  readonly endsAt: string | null
  readonly claimUntil: string | null
  /** Earned tiers that were not claimed are granted once claims have closed. */
  readonly grantsAtEnd: boolean
}

export interface NodeView {
  readonly id: string
  readonly type: string
}

export interface EdgeView {
  readonly from: string
  readonly handle: string
  readonly to: string
}

export interface DefinitionView {
  readonly name: string | null
  readonly nodes: readonly NodeView[]
  readonly edges: readonly EdgeView[]
  readonly passes: readonly PassView[]
}

export function readDefinition(definition: Json | undefined): DefinitionView {
  const nodes = list(member(definition, 'nodes'))
  return {
    name: text(member(definition, 'name')),
    nodes: nodes.map((node) => ({ id: text(member(node, 'id')) ?? '', type: text(member(node, 'type')) ?? '' })),
    edges: list(member(definition, 'edges')).map((edge) => ({
      from: text(member(edge, 'from')) ?? '',
      handle: text(member(edge, 'handle')) ?? '',
      to: text(member(edge, 'to')) ?? '',
    })),
    passes: nodes.filter((node) => member(node, 'type') === 'battle-pass').map((node) => readPass(node, nodes)),
  }
}

function readPass(node: Json, nodes: readonly Json[]): PassView {
  const data = member(node, 'data')
  const id = text(member(node, 'id')) ?? ''
  const premium = member(data, 'premium')
  const price = member(premium, 'price')
  const levels = list(member(data, 'levels')).map((one) => ({
    level: Number(member(one, 'level')),
    xp: integer(member(one, 'xp')),
  }))
  const tiers = new Map<string, TierView>()
  for (const tier of list(member(data, 'tiers'))) {
    const track = text(member(tier, 'track')) === 'premium' ? 'PREMIUM' : 'FREE'
    const level = Number(member(tier, 'level'))
    tiers.set(`${track} ${level}`, { level, track, ...readOffer(member(tier, 'rewards')) })
  }
  // If both list rewards, the level node's count (docs/scenarios.md).
  for (const other of nodes.filter((one) => member(one, 'type') === 'battle-pass-level')) {
    const own = member(other, 'data')
    if (member(own, 'passNodeId') !== id) continue
    const level = Number(member(own, 'levelNumber'))
    for (const [track, name] of [
      ['FREE', 'free'],
      ['PREMIUM', 'premium'],
    ] as const) {
      const rewards = member(member(own, 'rewards'), name)
      if (rewards !== undefined) tiers.set(`${track} ${level}`, { level, track, ...readOffer(rewards) })
    }
  }
  return {
    id,
    levels: levels.sort((a, b) => a.level - b.level),
    tiers: [...tiers.values()].sort((a, b) => a.level - b.level),
    price:
      price === undefined
        ? null
        : { currency: text(member(price, 'currency')) ?? '', amount: String(member(price, 'amount') ?? '') },
    xpPercent: Number(member(premium, 'xpPercent')) || null,
    instant: list(member(premium, 'instant')).map(readReward),
    bonus: readBonus(member(data, 'beyond')),
    announcedAt: moment(member(data, 'announcedAt')),
    startsAt: moment(member(data, 'startsAt')),
    endingHours: Number(member(data, 'endingHours')) || null,
    endsAt: moment(member(data, 'endsAt')),
    claimUntil: moment(member(data, 'claimUntil')),
    grantsAtEnd: ['grant', 'mail'].includes(text(member(data, 'atEnd')) ?? ''),
  }
}

/** Bonus tiers; null for none, and for those that cannot be read. */
function readBonus(beyond: Json | undefined): BonusView | null {
  const every = integer(member(beyond, 'every'))
  if (every < 1n) return null
  return {
    every,
    ...readOffer(member(beyond, 'rewards')),
    max: Number(member(beyond, 'max')) || MAX_BONUS_TIERS,
    perDay: Number(member(beyond, 'perDay')) || null,
  }
}

/** A moment as text with its offset; null for none, and for one that cannot be read. */
function moment(value: Json | undefined): string | null {
  const local = parseLocalTime(text(member(value, 'at')) ?? '')
  const zone = text(member(value, 'timeZone')) ?? ''
  if (local === undefined || !isTimeZone(zone)) return text(value)
  return new Date(new TimeZone(zone).momentOf(local)).toISOString()
}

/** The dates of a pass as the service counts with them. Those that cannot be read are left out. */
export function seasonDatesOf({ announcedAt, startsAt, endingHours, endsAt, claimUntil }: PassView): SeasonDates {
  const dateOf = (text: string | null): Date | null => {
    const at = new Date(text ?? Number.NaN)
    return Number.isNaN(at.getTime()) ? null : at
  }
  const end = dateOf(endsAt)
  return {
    announcedAt: dateOf(announcedAt),
    startsAt: dateOf(startsAt),
    endingAt: end && endingHours !== null ? new Date(end.getTime() - endingHours * 3_600_000) : null,
    endsAt: end,
    claimUntil: dateOf(claimUntil) ?? end,
  }
}

function readOffer(of: Json | undefined): OfferView {
  const isChoice = (entry: Json) => Array.isArray(member(entry, 'choice')) && (member(entry, 'amount') ?? null) === null
  const entries = list(of)
  return {
    rewards: entries.filter((entry) => !isChoice(entry)).map(readReward),
    choice: list(member(entries.find(isChoice), 'choice')).map((option) => list(option).map(readReward)),
  }
}

const readReward = (reward: Json): RewardView => ({
  currency: text(member(reward, 'currency')),
  itemId: text(member(reward, 'itemId')),
  boost: readBoost(member(reward, 'boost')),
  amount: String(member(reward, 'amount') ?? ''),
})

const readBoost = (boost: Json | undefined): RewardView['boost'] =>
  typeof boost === 'object' && boost !== null
    ? { percent: String(member(boost, 'percent') ?? '?'), minutes: String(member(boost, 'minutes') ?? '?') }
    : null

/** A reward in words, such as `50 gems` or `100% xp for 60 min`. */
export const rewardText = ({ currency, itemId, boost, amount }: RewardView): string =>
  boost && currency === null && itemId === null
    ? `${boost.percent}% xp for ${boost.minutes} min`
    : `${amount} ${currency ?? itemId ?? '?'}`

/** An option of a choice in words, such as `1 hat + 5 gold`. */
export const optionText = (option: readonly RewardView[]): string => option.map(rewardText).join(' + ')

/** What a claim grants in words, such as `50 gold, one of 1 hat / 1 cap`. */
export const offerText = ({ rewards, choice }: OfferView): string =>
  [...rewards.map(rewardText), ...(choice.length > 0 ? [`one of ${choice.map(optionText).join(' / ')}`] : [])].join(
    ', ',
  ) || 'nothing'

/** How many bonus tiers a total of xp has earned. */
export const earnedBonus = ({ bonus, levels }: PassView, xp: bigint): number =>
  bonus === null ? 0 : earnedTiers({ levels, beyond: { kind: 'tiers', every: bonus.every, max: bonus.max } }, xp)

/** A member of a JSON object. Undefined for any other value. */
export function member(of: Json | undefined, name: string): Json | undefined {
  return typeof of === 'object' && of !== null && !Array.isArray(of)
    ? (of as { [member: string]: Json })[name]
    : undefined
}

const list = (of: Json | undefined): readonly Json[] => (Array.isArray(of) ? of : [])
const text = (of: Json | undefined): string | null => (typeof of === 'string' ? of : null)

/** A whole number of JSON. Those beyond 2^53 come as decimal strings. */
function integer(of: Json | undefined): bigint {
  return /^-?\d+$/.test(String(of)) ? BigInt(String(of)) : 0n
}
