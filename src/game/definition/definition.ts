import type { RawJson } from '../../base/json.ts'
import { type AnswerOf, answer, memberOf, out } from '../../declare/answer.ts'
import type { Displayed } from './display.ts'
import type { NextSeason } from './next-season.ts'
import type { SeasonMail } from './season-mail.ts'
import type { XpRules } from './xp-rules.ts'

// A scenario's definition: parsed and validated as a whole, with every fault at once. Pure; versions never change.

/** The tracks whose tiers a definition lists by level. */
export const TRACKS = ['free', 'premium'] as const
export type Track = (typeof TRACKS)[number]

/** The tracks whose tiers are claimed. Those of `bonus` are numbered from 1, above the top level. */
export const CLAIM_TRACKS = [...TRACKS, 'bonus'] as const
export type ClaimTrack = (typeof CLAIM_TRACKS)[number]

export const rewardBoost = answer(
  'A boost of the player alone: more of each xp for a time, from the moment at which it is granted.',
  {
    percent: out.int32('The percentage that is added to each xp.', { minimum: 1 }),
    minutes: out.int32('The duration in minutes.', { minimum: 1 }),
  },
  { name: 'RewardBoost' },
)
export type RewardBoost = AnswerOf<typeof rewardBoost>

interface Asset extends Displayed {
  readonly amount: bigint
  readonly boost?: undefined
}

interface CurrencyReward extends Asset {
  readonly currency: string
  readonly itemId: null
}

interface ItemReward extends Asset {
  readonly currency: null
  readonly itemId: string
}

/** Its amount is 1. */
interface BoostReward extends Displayed {
  readonly currency: null
  readonly itemId: null
  readonly amount: bigint
  readonly boost: RewardBoost
}

/** Exactly one of `currency`, `itemId` and `boost` is set. */
export type Reward = CurrencyReward | ItemReward | BoostReward

export const reward = answer(
  'Something granted: exactly one of `currency` and `itemId` is set.',
  {
    amount: out.int64('The amount of the currency or item.', { minimum: 1 }),
    currency: out.orNull(out.text('The currency; null for an item.')),
    itemId: out.orNull(out.text('The item; null for a currency.')),
  },
  { name: 'Reward' },
)

export const rewardOrBoost = answer(
  'A reward that may be a boost: exactly one of `currency`, `itemId` and `boost` is set.',
  {
    amount: out.int64(
      'The amount of the currency or item. For a boost: the number of boosts, which is 1 in most places.',
      {
        minimum: 1,
      },
    ),
    currency: out.orNull(out.text('The currency; null for anything else.')),
    itemId: out.orNull(out.text('The item; null for anything else.')),
    boost: out.optional({ ...memberOf(rewardBoost), description: 'The boost. Absent for anything else.' }),
  },
  { name: 'RewardOrBoost' },
)
/** A reward as it is stored, and stands in events. */
export type Granted = AnswerOf<typeof rewardOrBoost>

/** The boosts of an answer, beside its rewards of contract 2.2. */
export const boosts = out.optional(
  out.list(rewardBoost, 'The boosts among the rewards, which the list of rewards does not have. Absent without one.', {
    size: 1,
  }),
)

/** The currencies and items among rewards. */
export const assetsOf = (rewards: readonly Granted[]): readonly Granted[] =>
  rewards.some(isBoost) ? rewards.filter((reward) => !isBoost(reward)) : rewards

const isBoost = ({ boost }: Granted): boolean => boost !== undefined

/** The boosts among rewards; undefined without one. */
export function boostsOf(rewards: readonly Granted[]): readonly RewardBoost[] | undefined {
  let found: RewardBoost[] | undefined
  for (const { boost } of rewards)
    if (boost) {
      found ??= []
      found.push(boost)
    }
  return found
}

/** A reward in that form. The boost is absent for anything else. */
export const granted = ({ amount, currency, itemId, boost }: Reward): Granted =>
  boost ? { amount, currency, itemId, boost } : { amount, currency, itemId }

/** A reward from a request, or as `granted` stored it. */
export function rewardOf({ amount, currency, itemId, boost }: Granted): Reward {
  if (boost) return { amount, currency: null, itemId: null, boost }
  if (currency !== null) return { amount, currency, itemId: null }
  if (itemId !== null) return { amount, currency: null, itemId }
  throw new Error('a reward is neither a currency nor an item nor a boost')
}

/** The same for the same currency, item or boost, whatever the amount. */
export const assetKey = ({ currency, itemId, boost }: Omit<Granted, 'amount'>): string =>
  boost ? `boost\0${boost.percent}\0${boost.minutes}` : `${currency ?? ''}\0${itemId ?? ''}`

/** Options of which the player picks one: each is a list of rewards. */
export type Choice = readonly (readonly Reward[])[]

/** What a claim grants. */
export interface Offer {
  readonly rewards: readonly Reward[]
  /** What the player picks besides. Absent for nothing. */
  readonly choice?: Choice
}

/** Every reward that a claim may grant, also those that exclude each other. */
export const allRewards = ({ rewards, choice = [] }: Offer): readonly Reward[] =>
  choice.length === 0 ? rewards : [...rewards, ...choice.flat()]

export interface Tier extends Offer, Displayed {
  readonly level: number
  readonly track: Track
}

export type TierKey = `${Track}:${number}`
export type ClaimKey = `${ClaimTrack}:${number}`

export function areSameRewards(one: readonly Reward[], two: readonly Reward[]): boolean {
  return (
    one.length === two.length &&
    one.every(({ currency, itemId, amount, boost }, index) => {
      const other = two[index]
      return (
        other?.currency === currency &&
        other.itemId === itemId &&
        other.amount === amount &&
        other.boost?.percent === boost?.percent &&
        other.boost?.minutes === boost?.minutes
      )
    })
  )
}

export const areSameOffers = (one: Offer, two: Offer): boolean =>
  areSameRewards(one.rewards, two.rewards) && areSameChoices(one.choice, two.choice)

export const areSameChoices = (one: Choice = [], two: Choice = []): boolean =>
  one.length === two.length && one.every((option, index) => areSameRewards(option, two[index] ?? []))

export const tierKey = <T extends ClaimTrack>(level: number, track: T): `${T}:${number}` => `${track}:${level}`

/** A tier as it is claimed: by its level and track, or by the number of a bonus tier. */
export interface Claimable {
  readonly level: number
  readonly track: ClaimTrack
}

export function readTierKey(key: ClaimKey): Claimable {
  const [track, level] = key.split(':') as [ClaimTrack, string]
  return { level: Number(level), track }
}

/** The order of claimed tiers: by level, then free, premium, bonus. */
export const byLevel = (a: Claimable, b: Claimable): number =>
  a.level - b.level || CLAIM_TRACKS.indexOf(a.track) - CLAIM_TRACKS.indexOf(b.track)

export interface NodeBase {
  readonly id: string
  /** As published, for the client that runs the node. */
  readonly data: RawJson
}

export interface Level extends Displayed {
  readonly level: number
  readonly xp: bigint
}

/** What becomes of tiers that were earned and not claimed, once claims close. */
export const AT_ENDS = ['lose', 'grant', 'mail'] as const
type AtEnd = (typeof AT_ENDS)[number]

/** When the service claims tiers for the player: never, or always when the player reaches them. */
export const AUTO_CLAIMS = ['never', 'always'] as const
export type AutoClaim = (typeof AUTO_CLAIMS)[number]

/** A tier that repeats: one for each `every` xp above the top level. */
export interface BonusTiers extends Offer {
  readonly kind: 'tiers'
  readonly every: bigint
  /** How many there are in all. */
  readonly max: number
  /** How many are claimed on a day of the game. Null for no limit. */
  readonly perDay: number | null
}

/** One of a currency for each `per` xp that is gained above the top level. */
export interface XpConversion {
  readonly kind: 'conversion'
  readonly currency: string
  readonly per: bigint
}

export type Beyond = BonusTiers | XpConversion

/** A battle pass. State is kept per player, scenario and node. */
export interface PassNode extends NodeBase, Displayed {
  readonly type: 'battle-pass'
  /** By level and by xp. */
  readonly levels: readonly Level[]
  readonly topLevel: number
  /** The tiers of the pass and of its level nodes. Where both list rewards, the level node's count. */
  readonly tiers: ReadonlyMap<TierKey, Tier>
  readonly premium: { readonly currency: string; readonly amount: bigint } | null
  /** What an owner of premium gets on top of its xp, in percent. Null for nothing. */
  readonly premiumXpPercent: bigint | null
  /** What the purchase of premium grants at once. */
  readonly premiumInstant: readonly Reward[]
  readonly announcedAt: Date | null
  readonly startsAt: Date | null
  /** From `endingHours` before `endsAt` on, the season is about to end. */
  readonly endingAt: Date | null
  readonly endsAt: Date | null
  /** As published, otherwise `endsAt`. */
  readonly claimUntil: Date | null
  readonly atEnd: AtEnd
  /** The message with these tiers; null unless they are mailed. */
  readonly mail: SeasonMail | null
  readonly autoClaim: AutoClaim
  /** What follows the season. Null for nothing. */
  readonly next: NextSeason | null
  /** What xp above the top level brings. Null for nothing. */
  readonly beyond: Beyond | null
  /** Who may give xp, and how much. Null when clients may send any. */
  readonly xpRules: XpRules | null
}

/** A view on the tiers of one level of a pass. Its rewards are in the pass's `tiers`. */
export interface LevelNode extends NodeBase {
  readonly type: 'battle-pass-level'
  readonly levelNumber: number
  readonly passNodeId: string
}

/** How often a reward node pays a player: only once, once in each run, or at each entry. */
export const REPEATS = ['never', 'run', 'always'] as const
export type Repeat = (typeof REPEATS)[number]

/** Grants its rewards on entry and completes. */
export interface RewardNode extends NodeBase {
  readonly type: 'reward'
  readonly rewards: readonly Reward[]
  /** As published, otherwise `never` for a node that clients can reach by themselves, and `always` for any other. */
  readonly repeat: Repeat
}

export interface StartNode extends NodeBase {
  readonly type: 'start'
}

/** A node of any other type, which the client runs. Plans pass it to the client. */
export interface ClientNode extends NodeBase {
  readonly type: 'client'
  readonly clientType: string
  /** Handles that only the game's servers cross. */
  readonly serverHandles: ReadonlySet<string>
}

export type Node = PassNode | LevelNode | RewardNode | StartNode | ClientNode

export interface Definition extends Displayed {
  readonly name: string
  readonly start: string
  readonly nodes: ReadonlyMap<string, Node>
  /** The targets of each handle. Use `nextNodes`. */
  readonly edges: ReadonlyMap<string, readonly string[]>
}

// Ids and handles contain no NUL, so keys are unambiguous.
export const edgeKey = (nodeId: string, handle: string): string => `${nodeId}\0${handle}`

/** The target nodes of a crossed handle, in the order of the edges. */
export function nextNodes(definition: Definition, nodeId: string, handle: string): readonly string[] {
  return definition.edges.get(edgeKey(nodeId, handle)) ?? []
}

export function typeOf(node: Node): string {
  return node.type === 'client' ? node.clientType : node.type
}
