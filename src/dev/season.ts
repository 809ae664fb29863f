import { type Json, print } from '../base/json.ts'

const LEVELS = 100

/**
 * Who may give xp in the ranked season. Matches are played on a game server. Nobody verifies what clients
 * report, so it counts up to a limit.
 */
const XP_RULES: Json = {
  from: 'server',
  sources: {
    match: { from: 'server', max: 2_000 },
    tutorial: { from: 'client', max: 600, perSeason: 1_200 },
    practice: { from: 'client', max: 2_000, perDay: 20_000 },
  },
}

/**
 * The definition of the demo's `season-1`: 100 levels with a reward at each, and an edge from every handle of its pass.
 * It takes any xp from clients.
 */
export const demoSeason = (): string => seasonOf('Season 1: First Light', {})

/** The definition of the demo's `ranked-1`: the same season, with the xp of matches from game servers alone. */
export const rankedSeason = (): string => seasonOf('Ranked season 1: First Light', { xp: XP_RULES })

function seasonOf(name: string, rules: { readonly [member: string]: Json }): string {
  const levels = range(LEVELS).map((level) => ({
    level,
    xp: BigInt((level - 1) * 500 + (level - 1) * (level - 2) * 10),
  }))
  const free = range(LEVELS).map((level) => ({ level, track: 'free', rewards: freeRewards(level) }))
  const premium = range(LEVELS).map((level) => ({ level, track: 'premium', rewards: premiumRewards(level) }))
  return print({
    name,
    start: 'start',
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'welcome', type: 'reward', data: { rewards: [gems(1000), gold(250)] } },
      {
        id: 'pass',
        type: 'battle-pass',
        data: {
          levels,
          tiers: [...free, ...premium],
          premium: { price: { currency: 'gems', amount: 950 } },
          ...rules,
        },
      },
      { id: 'halfway', type: 'battle-pass-level', data: { levelNumber: LEVELS / 2, passNodeId: 'pass' } },
      { id: 'level-up', type: 'popup', data: { title: 'Level up!' } },
      { id: 'premium-thanks', type: 'reward', data: { rewards: [item('banner-first-light')] } },
      { id: 'champion', type: 'reward', data: { rewards: [item('trophy-first-light'), gold(10_000)] } },
      { id: 'finale', type: 'cutscene', data: { clip: 'first-light-finale' } },
    ],
    edges: [
      edge('start', 'onStart', 'welcome'),
      edge('start', 'onStart', 'pass'),
      edge('start', 'onStart', 'halfway'),
      edge('pass', 'onLevelUp', 'level-up'),
      edge('pass', 'onPremiumPurchase', 'premium-thanks'),
      edge('pass', 'onMaxLevel', 'champion'),
      edge('pass', 'onComplete', 'finale'),
    ],
  })
}

const range = (length: number): number[] => Array.from({ length }, (_, index) => index + 1)
const gold = (amount: number): Json => ({ currency: 'gold', amount })
const gems = (amount: number): Json => ({ currency: 'gems', amount })
const item = (itemId: string): Json => ({ itemId, amount: 1 })
const edge = (from: string, handle: string, to: string): Json => ({ from, handle, to })

function freeRewards(level: number): Json[] {
  return level % 5 === 0 ? [gems(100), gold(200)] : [gold(50 + level * 5)]
}

function premiumRewards(level: number): Json[] {
  return level % 10 === 0 ? [item(`skin-first-light-${level}`), gems(50)] : [gold(100 + level * 10)]
}
