import type { PlayerHistory } from './checker.ts'
import { type Definition, enteredText } from './definitions.ts'
import type { Call, Version } from './history.ts'
import type { Answer, Crossed, PlayerState, Request } from './model.ts'

// Histories that are written by hand, to test the checker.

export const RUN = '00000000-0000-7000-8000-000000000001'

/** A pass of two levels with a free tier at the first, and premium for 50 gems. */
export function passOf({ name = 'first', first = 0, second = 100, reward = 10 } = {}): Definition {
  return {
    name,
    start: 'start',
    nodes: [
      { id: 'start', type: 'start', data: {} },
      {
        id: 'pass',
        type: 'battle-pass',
        data: {
          levels: [
            { level: 1, xp: first },
            { level: 2, xp: second },
          ],
          tiers: [{ level: 1, track: 'free', rewards: [{ currency: 'gold', amount: reward }] }],
          premium: { price: { currency: 'gems', amount: 50 } },
        },
      },
    ],
    edges: [{ from: 'start', handle: 'onStart', to: 'pass' }],
  }
}

/** A player in its run, with nothing yet. */
export const BEGINNER: PlayerState = {
  status: 'active',
  nickname: null,
  storage: {},
  wallet: {},
  items: {},
  passes: {},
  runs: { [RUN]: { scenario: 'side', status: 'active', active: ['pass'], plan: null } },
  answers: {},
}

type Written = readonly [from: number, to: number, request: Request, answer?: Answer, committed?: number]

/** Calls with the times of their invocation, answer and commit. The outcome of a call without an answer is unknown. */
export function history(
  calls: readonly Written[],
  {
    versions = [
      { scenario: 'side', definition: passOf(), from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY },
    ],
    stream,
    start = BEGINNER,
  }: { versions?: readonly Version[]; stream?: readonly Crossed[]; start?: PlayerState } = {},
): PlayerHistory {
  return {
    start,
    versions,
    stream,
    calls: calls.map(
      ([invoked, answered, request, answer, committed], id): Call => ({
        id,
        on: id % 2 === 0 ? 'a' : 'b',
        player: 0,
        request,
        invoked,
        answered: answer ? answered : Number.POSITIVE_INFINITY,
        answer,
        effect: 'perhaps',
        committed,
      }),
    ),
  }
}

const place = { scenario: 'side', node: 'pass' } as const

export const xp = (amount: number, key?: string): Request => ({
  kind: 'xp',
  ...place,
  run: RUN,
  amount,
  source: 'test',
  ...(key !== undefined && { key }),
})
/** The answer to an addition below the second level. */
export const xpAnswer = (total: number): Answer => ({
  ok: { level: 1, xp: total, leveledUp: false, maxLevel: false, plan: null },
})
export const claim: Request = { kind: 'claim', ...place, run: RUN, level: 1, track: 'free' }
export const claimAnswer = (alreadyClaimed: boolean, amount = 10): Answer => ({
  ok: { success: true, alreadyClaimed, error: null, granted: [`${amount} gold`] },
})
export const progress: Request = { kind: 'progress', ...place }
export const progressAnswer = (total: number, claimedTiers: readonly string[] = [], level = 1): Answer => ({
  ok: { level, xp: total, premiumOwned: false, claimedTiers },
})
/** A grant by support of a tier that does not exist. The audit log records the attempt. */
export const gift: Request = { kind: 'grantTier', ...place, level: 1, track: 'premium', key: 'gift', reason: 'test' }
export const refusedGift: Answer = {
  no: 'tier_not_found',
}
export const me: Request = { kind: 'me' }
export const meAnswer = (wallet: Readonly<Record<string, number>>): Answer => ({
  ok: { nickname: null, wallet, items: {} },
})
export const ban: Request = { kind: 'ban', reason: 'test' }
export const start: Request = { kind: 'start', scenario: 'side' }
export const done: Answer = { ok: null }

/** The answer to an addition that reaches the second level, which is the top. */
export const reachedAnswer = (total: number): Answer => ({
  ok: { level: 2, xp: total, leveledUp: true, maxLevel: true, plan: REACHED },
})

const REACHED = {
  runId: RUN,
  status: 'active',
  crossed: ['pass.onLevelUp', 'pass.onMaxLevel'],
  entered: [],
  granted: [],
}

/** The events of that addition. */
export const levelUp = (total: number): Crossed[] => [
  { node: 'pass', handle: 'onLevelUp', data: { fromLevel: 1, toLevel: 2, xp: total, source: 'test' } },
  { node: 'pass', handle: 'onMaxLevel', data: { level: 2, xp: total, source: 'test' } },
]

/** The books after an addition of 100. */
export const BOOKS_AT_TOP: Answer = {
  ok: {
    ...BEGINNER,
    passes: {
      'side/pass': { xp: 100, level: 2, premium: false, topped: true, completed: false, nodes: [], claims: {} },
    },
    runs: { [RUN]: { scenario: 'side', status: 'active', active: ['pass'], plan: REACHED } },
    answers: [],
  },
}

export const startAnswer = (runId: string, resumed: boolean): Answer => {
  const entered = passOf().nodes.map(({ id, type, data }) => enteredText(id, type, data))
  return {
    ok: { runId, resumed, plan: { runId, status: 'active', crossed: ['start.onStart'], entered, granted: [] } },
  }
}
