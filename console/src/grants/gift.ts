import { MAX_BOOST_MINUTES, MAX_BOOST_PERCENT } from '../../../src/base/limits.ts'
import type { FragmentOf, ResultOf, VariablesOf } from '../graphql.ts'
import { filtersText } from '../players/filters.ts'
import { playersText } from '../ui/players-text.ts'
import { number } from '../ui/words.ts'
import type { jobFragment, policyQuery, previewJobQuery, previewUndoQuery } from './operations.ts'

// What a grant gives and to whom: the fields as a person fills them in, and their words. Pure.

export type Job = FragmentOf<typeof jobFragment>
export type PreviewInput = VariablesOf<typeof previewJobQuery>['input']
export type GiftInput = NonNullable<PreviewInput['give']>

export const GIFT_KINDS = [
  ['rewards', 'Currencies, items and boosts'],
  ['xp', 'Xp of a battle pass'],
  ['levels', 'Levels of a battle pass'],
  ['premium', 'Premium of a battle pass'],
  ['message', 'Nothing, only a message'],
] as const
export type GiftKind = (typeof GIFT_KINDS)[number][0]

export interface RewardFields {
  readonly id: number
  readonly kind: 'currency' | 'itemId' | 'boost'
  readonly name: string
  readonly amount: string
  /** Of a boost. */
  readonly percent: string
  readonly minutes: string
}

export const NO_REWARD: RewardFields = {
  id: 0,
  kind: 'currency',
  name: '',
  amount: '',
  percent: '100',
  minutes: '60',
}

export interface GiftFields {
  readonly kind: GiftKind
  readonly rewards: readonly RewardFields[]
  readonly scenarioId: string
  readonly nodeId: string
  readonly xp: string
  readonly levels: string
}

export const NO_GIFT: GiftFields = {
  kind: 'rewards',
  rewards: [NO_REWARD],
  scenarioId: '',
  nodeId: '',
  xp: '',
  levels: '1',
}

const isAmount = (text: string): boolean => /^[1-9]\d{0,18}$/.test(text.trim())

/**
 * The gift of a request; null for a message alone, undefined while the fields are incomplete. When the list of players
 * has amounts, the one reward or the xp has none.
 */
export function giftOf(fields: GiftFields, hasAmounts: boolean): GiftInput | null | undefined {
  const { kind, rewards, scenarioId, nodeId, xp, levels } = fields
  const place = { scenarioId, nodeId }
  const hasPlace = scenarioId !== '' && nodeId !== ''
  switch (kind) {
    case 'message':
      return null
    case 'rewards':
      if (!rewards.every((reward) => isComplete(reward, hasAmounts))) return undefined
      return { rewards: rewards.map((reward) => rewardOf(reward, hasAmounts)) }
    case 'xp':
      return hasPlace && (hasAmounts || isAmount(xp))
        ? { xp: { ...place, ...(!hasAmounts && { amount: xp.trim() }) } }
        : undefined
    case 'levels':
      return hasPlace && isAmount(levels) && levels.trim().length <= 6
        ? { levels: { ...place, levels: Number(levels) } }
        : undefined
    default:
      return hasPlace ? { premium: place } : undefined
  }
}

const isUpTo = (text: string, max: number): boolean => isAmount(text) && BigInt(text.trim()) <= BigInt(max)

const isComplete = ({ kind, name, amount, percent, minutes }: RewardFields, hasAmounts: boolean): boolean =>
  kind === 'boost'
    ? isUpTo(percent, MAX_BOOST_PERCENT) && isUpTo(minutes, MAX_BOOST_MINUTES)
    : name.trim() !== '' && (hasAmounts || isAmount(amount))

const rewardOf = ({ kind, name, amount, percent, minutes }: RewardFields, hasAmounts: boolean) =>
  kind === 'boost'
    ? { boost: { percent: Number(percent), minutes: Number(minutes) } }
    : { [kind]: name.trim(), ...(!hasAmounts && { amount: amount.trim() }) }

interface Asset {
  readonly currency?: string | null | undefined
  readonly itemId?: string | null | undefined
  readonly amount?: string | null | undefined
  readonly boost?: { readonly percent: number; readonly minutes: number } | null | undefined
}

/** The currency, the item, or the effect of a boost. */
const assetName = ({ currency, itemId, boost }: Asset): string =>
  boost ? `${number(boost.percent)}% more xp for ${number(boost.minutes)} minutes` : (currency ?? itemId ?? '?')

/** `100 gold`, `2 × sword`, `100% more xp for 60 minutes`, or `gold by the list`. */
export function assetText(asset: Asset): string {
  const { itemId, amount, boost } = asset
  if (boost) return amount && amount !== '1' ? `${number(amount)} × ${assetName(asset)}` : assetName(asset)
  if (amount === null || amount === undefined) return `${assetName(asset)} by the list`
  return `${number(amount)}${itemId ? ' ×' : ''} ${assetName(asset)}`
}

export const assetsText = (assets: readonly Asset[]): string => inWords(assets.map(assetText))

const inWords = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`

/** What each player gets, in words. */
export function giftText(gift: GiftInput | Job['give'] | null): string {
  if (gift?.rewards) return assetsText(gift.rewards)
  if (gift?.xp) {
    const { amount, scenarioId } = gift.xp
    return amount === null || amount === undefined
      ? `xp of ${scenarioId} by the list`
      : `${number(amount)} xp of ${scenarioId}`
  }
  if (gift?.levels)
    return `${number(gift.levels.levels)} ${gift.levels.levels === 1 ? 'level' : 'levels'} of ${gift.levels.scenarioId}`
  if (gift?.premium) return `premium of ${gift.premium.scenarioId}`
  return 'a message'
}

/** What a job does, in words, without the message that comes with a gift. */
export const jobText = ({ undoOf, give }: Pick<Job, 'undoOf' | 'give'>): string =>
  undoOf === null ? giftText(give) : `takes back ${giftText(give)}`

/** The players of a job, in words. */
export function targetText({ kind, segment, filter }: Job['target']): string {
  if (kind === 'LIST') return 'a list of players'
  if (kind === 'UNDO') return 'the players of the job that it undoes'
  if (segment !== null) return `the segment ${segment}`
  const text = filter ? filtersText(filter) : ''
  return text === '' ? 'all players' : `players: ${text}`
}

export const STATE_TONES: Readonly<Record<Job['state'], string>> = {
  PLANNED: 'warn',
  COLLECTING: 'warn',
  AWAITING_APPROVAL: 'warn',
  RUNNING: '',
  PAUSED: 'warn',
  DONE: 'good',
  CANCELLED: '',
  FAILED: 'bad',
}
export const ENDED: readonly Job['state'][] = ['DONE', 'CANCELLED', 'FAILED']

/** Ids of players in a text: one a line, or with commas between them, each once. */
export const idsOf = (text: string): string[] => [...new Set(text.split(/[\s,;]+/).filter((id) => id !== ''))]

type Undo = ResultOf<typeof previewUndoQuery>['previewGrantUndo']

/** What was given, what could be taken back, and what is spent, of each currency and item. */
export function undoRows({ given, taken }: Pick<Undo, 'given' | 'taken'>) {
  return given.map((asset) => {
    const name = assetName(asset)
    const back = taken.find((one) => assetName(one) === name)?.amount ?? '0'
    return { name, given: asset.amount, taken: back, spent: String(BigInt(asset.amount) - BigInt(back)) }
  })
}

export type Policy = ResultOf<typeof policyQuery>['grantPolicy']

/** Above which size a grant needs a second person, in words. */
export function policyText({ approvalAbovePlayers: players, approvalAboveAmount: amount }: Policy): string {
  const limits = [
    players !== null && `for more than ${playersText(players)}`,
    amount !== null && `with more than ${number(amount)} of one currency, one item or xp in all`,
  ].filter((one) => one !== false)
  return limits.length === 0
    ? 'No grant needs the approval of a second person.'
    : `A grant ${limits.join(', or ')} waits until a second person approves it.`
}
