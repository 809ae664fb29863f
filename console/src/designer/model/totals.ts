import type { OfferView, PassView, RewardView, Track } from '../../scenario/read-definition.ts'
import { countText } from '../../ui/count-text.ts'
import { number } from '../../ui/words.ts'

// What a pass gives a player who reaches its top, and what of it looks unintended. Pure.

/** Levels that a note names one by one. */
const MOST_NAMED = 8

export interface PassTotals {
  /** Such as `50 levels, 75,460 xp to the top`. */
  readonly size: string
  /** What each track gives in all, such as `Free: 4,375 gold, 3 × sword`. */
  readonly gives: readonly string[]
  readonly notes: readonly string[]
}

export function totalsOf(pass: PassView): PassTotals {
  const { levels, tiers, price, instant } = pass
  const top = levels.at(-1)?.xp ?? 0n
  const of = (track: Track) => tiers.filter((tier) => tier.track === track)
  const free = sumText(of('FREE'))
  const premium = sumText([...of('PREMIUM'), { rewards: instant, choice: [] }])
  const cost = price === null ? '' : ` for ${numberText(price.amount)} ${price.currency}`
  return {
    size: `${countText(levels.length, 'level')}, ${number(top)} xp to the top`,
    gives: [`Free: ${free}`, ...(price === null && premium === NOTHING ? [] : [`Premium${cost}: ${premium}`])],
    notes: notesOf(pass),
  }
}

const NOTHING = 'nothing'

/** The sum of offers by what they give. A choice counts as one, since a player takes one of its options. */
function sumText(offers: readonly OfferView[]): string {
  const sums = new Map<string, bigint>()
  for (const reward of offers.flatMap(({ rewards }) => rewards)) {
    const name = assetText(reward)
    sums.set(name, (sums.get(name) ?? 0n) + amountOf(reward))
  }
  const choices = offers.filter(({ choice }) => choice.length > 0).length
  const texts = [...sums].map(([name, sum]) => `${number(sum)} ${name}`)
  if (choices > 0) texts.push(countText(choices, 'choice'))
  return texts.join(', ') || NOTHING
}

/** What a reward is, behind its amount: `gold`, `× sword`. */
export const assetText = ({ currency, itemId, boost }: Omit<RewardView, 'amount'>): string =>
  boost ? `× ${boost.percent} % more xp` : (currency ?? `× ${itemId ?? '?'}`)

/** A boost counts as one. An amount that cannot be read counts as nothing: the list of faults names it. */
const amountOf = ({ amount, boost }: RewardView): bigint => (boost ? 1n : /^\d+$/.test(amount) ? BigInt(amount) : 0n)

function notesOf({ levels, tiers, price }: PassView): string[] {
  const gives = new Set(tiers.filter(isFull).map(({ level }) => level))
  const bare = levels.filter(({ level }) => !gives.has(level)).map(({ level }) => level)
  const empty = tiers.filter((tier) => !isFull(tier)).length
  const isUnsold = price === null && tiers.some(({ track }) => track === 'PREMIUM')
  return [
    bare.length > 0 && bare.length === levels.length && 'No level gives anything.',
    bare.length > 0 && bare.length < levels.length && `${levelsText(bare)} nothing.`,
    empty > 0 && `${countText(empty, 'tier')} ${empty === 1 ? 'has' : 'have'} no reward.`,
    isUnsold && 'It has premium tiers and no price: only support and grants give premium.',
    price?.amount === '0' && 'Premium costs nothing.',
  ].filter((note) => note !== false)
}

const isFull = ({ rewards, choice }: OfferView): boolean => rewards.length > 0 || choice.length > 0

function levelsText(levels: readonly number[]): string {
  if (levels.length > MOST_NAMED) return `${levels.length} levels give`
  const [last = 0, ...others] = [...levels].reverse()
  if (others.length === 0) return `Level ${last} gives`
  return `Levels ${others.reverse().join(', ')} and ${last} give`
}

const numberText = (amount: string): string => (/^\d+$/.test(amount) ? number(BigInt(amount)) : amount)
