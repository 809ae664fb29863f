import { createHash } from 'node:crypto'
import type { Random } from './random.ts'

// The scenarios of a round, and edits of them. They use only what the contract determines: no season ends, and no
// reward depends on a crossing by a client.

export type Track = 'free' | 'premium'

export interface Reward {
  readonly currency?: string | null
  readonly itemId?: string | null
  readonly amount: number
}

export interface Tier {
  readonly level: number
  readonly track: Track
  readonly rewards: readonly Reward[]
}

export interface PassData {
  readonly levels: readonly { readonly level: number; readonly xp: number }[]
  readonly tiers: readonly Tier[]
  readonly premium?: { readonly price: { readonly currency: string; readonly amount: number } }
}

export interface Node {
  readonly id: string
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: each type of node has data of its own.
  readonly data: any
}

export interface Definition {
  readonly name: string
  readonly start: string
  readonly nodes: readonly Node[]
  readonly edges: readonly { readonly from: string; readonly handle: string; readonly to: string }[]
}

/** `season` has every type of node, `side` a pass alone. */
export const SCENARIOS = ['season', 'side'] as const
export type ScenarioId = (typeof SCENARIOS)[number]

/** The nodes of battle pass calls. */
export const PLACES: readonly { readonly scenario: ScenarioId; readonly node: string }[] = [
  { scenario: 'season', node: 'pass' },
  { scenario: 'season', node: 'third' },
  { scenario: 'side', node: 'pass' },
]

/** The handles that a client may cross. */
export const CLIENT_HANDLES: readonly { readonly node: string; readonly handle: string }[] = [
  { node: 'shop', handle: 'onBought' },
  { node: 'shop', handle: 'onComplete' },
  { node: 'note', handle: 'onComplete' },
]

const gold = (amount: number): Reward => ({ currency: 'gold', amount })
const gems = (amount: number): Reward => ({ currency: 'gems', amount })
const item = (itemId: string, amount: number): Reward => ({ itemId, amount })

const LADDERS = [
  [0, 60, 150, 300],
  [0, 40, 90, 200, 420],
  [20, 80, 200, 260, 500],
]

/** A random definition of a scenario. Its name is unique. */
export function drawDefinition(random: Random, scenario: ScenarioId, name: string): Definition {
  const ladder = random.one(LADDERS)
  const isSold = scenario === 'season' || random.chance(0.7)
  const worth = random.int(1, 9)
  const tiers = ladder.flatMap((_, index): Tier[] => {
    const level = index + 1
    // The level node needs its tier.
    const free = level === 3 || random.chance(0.7)
    return [
      ...(free
        ? [{ level, track: 'free' as const, rewards: [gold(worth * level), ...(level === 3 ? [gems(5)] : [])] }]
        : []),
      ...(isSold && random.chance(0.7) ? [{ level, track: 'premium' as const, rewards: [item('skin', worth)] }] : []),
    ]
  })
  const price = { currency: 'gems', amount: random.one([20, 50, 80]) }
  const pass: Node = {
    id: 'pass',
    type: 'battle-pass',
    data: {
      levels: ladder.map((xp, index) => ({ level: index + 1, xp })),
      tiers,
      ...(isSold && { premium: { price } }),
    } satisfies PassData,
  }
  const start: Node = { id: 'start', type: 'start', data: {} }
  if (scenario === 'side') {
    return { name, start: 'start', nodes: [start, pass], edges: [{ from: 'start', handle: 'onStart', to: 'pass' }] }
  }
  return {
    name,
    start: 'start',
    nodes: [
      start,
      pass,
      { id: 'third', type: 'battle-pass-level', data: { levelNumber: 3, passNodeId: 'pass' } },
      { id: 'gift', type: 'reward', data: { rewards: [gems(worth), item('card', 1)] } },
      { id: 'thanks', type: 'reward', data: { rewards: [gold(worth)] } },
      { id: 'shop', type: 'shop', data: { offer: worth } },
      { id: 'note', type: 'note', data: { text: name } },
    ],
    edges: [
      { from: 'start', handle: 'onStart', to: 'pass' },
      { from: 'start', handle: 'onStart', to: 'third' },
      { from: 'start', handle: 'onStart', to: 'shop' },
      { from: 'pass', handle: 'onLevelUp', to: 'gift' },
      { from: 'pass', handle: 'onMaxLevel', to: 'shop' },
      { from: 'pass', handle: 'onPremiumPurchase', to: 'thanks' },
      { from: 'pass', handle: 'onComplete', to: 'note' },
      { from: 'gift', handle: 'onComplete', to: 'shop' },
      { from: 'third', handle: 'onComplete', to: 'note' },
      { from: 'shop', handle: 'onBought', to: 'note' },
    ],
  }
}

/** A short text of a reward. */
export const rewardText = ({ currency, itemId, amount }: Reward): string => `${amount} ${currency ?? itemId}`

/** A short text of an entered node with its data. */
export function enteredText(id: string, type: string, data: unknown): string {
  return `${id}:${type}:${createHash('sha256').update(JSON.stringify(data)).digest('hex').slice(0, 8)}`
}
