import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Service } from '../../src/app/service.ts'
import { Refusal } from '../../src/base/errors.ts'
import { freeze } from '../../src/base/frozen-json.ts'
import type { Json } from '../../src/base/json.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { claimAll, claimTier } from '../../src/game/battlepass/claim-tier.ts'
import { purchasePremium } from '../../src/game/battlepass/purchase-premium.ts'
import { readProgress } from '../../src/game/battlepass/read-progress.ts'
import { startRun } from '../../src/game/battlepass/start-run.ts'
import { crossHandle } from '../../src/game/runs/cross-handle.ts'
import {
  cancelRun,
  crossHandle as crossForSupport,
  grantTier,
  grantXp,
} from '../../src/operations/support/support-gifts.ts'
import { grantPremium, resetPass, resetTier, revokePremium } from '../../src/operations/support/support-pass.ts'
import {
  banPlayer,
  deletePlayer,
  deletePlayerStorage,
  endSessions,
  setPlayerStorage,
  unbanPlayer,
  unlinkIdentity,
} from '../../src/operations/support/support-player.ts'
import { creditWallet, debitWallet } from '../../src/operations/support/support-wallet.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import type { PlayerRef } from '../../src/players/player-status.ts'
import { deleteStorage, setStorage } from '../../src/players/storage.ts'
import { auditBooks, auditSupport } from '../harness/audit.ts'
import { gold, passNode, scenario } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { atScale } from '../harness/scale.ts'
import { SEED } from '../harness/seed.ts'
import { settled } from '../harness/settled.ts'
import { newOperator, type Operator, random } from './desk.ts'

// Commands that arrive at once are decided in one transaction, one after another, on rows in memory. The results must
// be the same as with one transaction per command: of two players in the same state, one has its commands decided in
// one group, the other one by one, and both must end in the same state.

const SEQUENCES = atScale(100, 40)

/** Commands that wait at once: fewer than a group takes, so that no trial is split. */
const WAITING = 200
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const pass = { scenarioId: 'season', nodeId: 'pass' }
const bonus = { scenarioId: 'season', nodeId: 'bonus' }
const boss = { scenarioId: 'season', nodeId: 'boss' }
const third = { scenarioId: 'season', nodeId: 'third' }

const definition = scenario(
  [
    passNode('pass', { levels: [0, 100, 200] }),
    passNode('bonus'),
    { id: 'third', type: 'battle-pass-level', data: { levelNumber: 3, passNodeId: 'pass' } },
    { id: 'boss', type: 'fight', handles: { onWin: { from: 'server' } } },
    { id: 'gift', type: 'reward', data: { rewards: [gold(5)] } },
  ],
  [
    { from: 'start', handle: 'onStart', to: 'pass' },
    { from: 'start', handle: 'onStart', to: 'bonus' },
    { from: 'start', handle: 'onStart', to: 'boss' },
    { from: 'boss', handle: 'onWin', to: 'boss' },
    { from: 'boss', handle: 'onWin', to: 'gift' },
    { from: 'pass', handle: 'onLevelUp', to: 'gift' },
    { from: 'pass', handle: 'onComplete', to: 'gift' },
    { from: 'third', handle: 'onComplete', to: 'gift' },
  ],
)

let game: Game
let operator: Operator

beforeAll(async () => {
  game = await startGame()
  operator = await newOperator(game.app.pool, game.projectId)
  expect((await game.publish('season', definition)).status).toBe(200)
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await auditSupport(game.app.pool)
  await game.stop()
})

/** A player and its first run; an unknown run for a new player. */
interface Subject extends PlayerRef {
  readonly runId: string
}

type Call = (subject: Subject) => Promise<unknown>

const run: Service['run'] = (command) => game.app.service.run(command)
const call = ({ environmentId, playerId }: PlayerRef) => ({
  caller: operator.caller,
  player: { environmentId, playerId },
  reason: 'ticket 4711',
})
const keyed = (player: PlayerRef, idempotencyKey: string) => ({ ...call(player), idempotencyKey })
const values = (name: string) => new Map([[name, '1']])

let keys = 0
const key = (): string => {
  keys += 1
  return `key ${keys}`
}

/** Every call that changes a player in a group, by the player or by support. */
const CALLS: Readonly<Record<string, Call>> = {
  start: (player) => run(startRun(player, { scenarioId: 'season' })),
  'a little xp': ({ runId, ...player }) => run(addXp(player, { ...pass, runId, amount: 20n, source: 'match' })),
  'xp to the top': ({ runId, ...player }) => run(addXp(player, { ...pass, runId, amount: 500n, source: 'match' })),
  'xp with a key': ({ runId, ...player }) =>
    run(addXp(player, { ...pass, runId, amount: 30n, source: 'match', idempotencyKey: 'mine' })),
  'a claim': ({ runId, ...player }) => run(claimTier(player, { ...pass, runId, level: 2, track: 'free' })),
  'a claim again': ({ runId, ...player }) => run(claimTier(player, { ...pass, runId, level: 1, track: 'free' })),
  'a premium claim': ({ runId, ...player }) => run(claimTier(player, { ...pass, runId, level: 1, track: 'premium' })),
  'a claim on a level node': ({ runId, ...player }) =>
    run(claimTier(player, { ...third, runId, level: null, track: 'free' })),
  'all claims': ({ runId, ...player }) => run(claimAll(player, { ...pass, runId })),
  'a purchase': ({ runId, ...player }) => run(purchasePremium(player, { ...bonus, runId })),
  'a purchase again': ({ runId, ...player }) => run(purchasePremium(player, { ...pass, runId, idempotencyKey: 'buy' })),
  'a value stored': (player) => run(setStorage(player, values('own'))),
  'a value removed': (player) => run(deleteStorage(player, ['color'])),
  banPlayer: (player) => run(banPlayer(call(player))),
  unbanPlayer: (player) => run(unbanPlayer(call(player))),
  deletePlayer: (player) => run(deletePlayer(call(player))),
  endSessions: (player) => run(endSessions(call(player))),
  creditWallet: (player) => run(creditWallet(keyed(player, key()), { currency: 'gems', amount: 900n })),
  'creditWallet with a key': (player) => run(creditWallet(keyed(player, 'one'), { currency: 'gems', amount: 7n })),
  'creditWallet with that key, of something else': (player) =>
    run(creditWallet(keyed(player, 'one'), { currency: 'gems', amount: 8n })),
  debitWallet: (player) => run(debitWallet(keyed(player, key()), { currency: 'gems', amount: 50n })),
  grantXp: (player) => run(grantXp(keyed(player, key()), { ...pass, amount: 60n, source: 'support' })),
  'grantXp to the top': (player) => run(grantXp(keyed(player, key()), { ...pass, amount: 900n, source: 'support' })),
  grantTier: (player) => run(grantTier(keyed(player, key()), { ...pass, level: 3, track: 'free' })),
  'grantTier of premium': (player) => run(grantTier(keyed(player, key()), { ...pass, level: 2, track: 'premium' })),
  'grantTier with a key': (player) => run(grantTier(keyed(player, 'one'), { ...bonus, level: 1, track: 'premium' })),
  resetTier: (player) => run(resetTier(call(player), { ...pass, level: 1, track: 'free' })),
  'resetTier of premium': (player) => run(resetTier(call(player), { ...pass, level: 1, track: 'premium' })),
  grantPremium: (player) => run(grantPremium(call(player), bonus)),
  revokePremium: (player) => run(revokePremium(call(player), pass)),
  resetPass: (player) => run(resetPass(call(player), pass)),
  'a handle crossed': ({ runId, ...player }) => run(crossHandle(player, { ...boss, runId, handle: 'onComplete' })),
  crossHandleForPlayer: (player) => run(crossForSupport(keyed(player, key()), { ...boss, handle: 'onWin' })),
  cancelRun: ({ runId, ...player }) => run(cancelRun(call(player), { runId })),
  setPlayerStorage: (player) => run(setPlayerStorage(call(player), values('theirs'))),
  deletePlayerStorage: (player) => run(deletePlayerStorage(call(player), ['color', 'own'])),
}

const NAMES = Object.keys(CALLS)

/** Calls that are left out of the pairs, since they resemble another call. */
const ALIKE = new Set([
  'a little xp',
  'all claims',
  'a purchase again',
  'a value removed',
  'unbanPlayer',
  'endSessions',
  'creditWallet with that key, of something else',
  'grantXp to the top',
  'grantTier with a key',
  'grantPremium',
  'setPlayerStorage',
  'debitWallet',
  'creditWallet',
])
const PAIRED = NAMES.filter((name) => !ALIKE.has(name))
/** The share of the pairs that a run tries. */
const SHARE = atScale(1, 0.2)

const PLACES = ['in a run', 'between two runs', 'new', 'banned'] as const
type Place = (typeof PLACES)[number]

/**
 * A player in one of the places. Unless new, the player has 150 xp, premium, the first free tier and a stored value.
 */
async function subject(place: Place): Promise<Subject> {
  const player = await run(createPlayer(game.environmentId, 'Ada'))
  await run(adjustWallet(player, { currency: 'gems', amount: 1000n, reference: 'test' }))
  if (place === 'new') return { ...player, runId: '01900000-0000-7000-8000-000000000000' }
  await run(setStorage(player, values('color')))
  const { runId } = await run(startRun(player, { scenarioId: 'season' }))
  await run(addXp(player, { ...pass, runId, amount: 150n, source: 'match' }))
  await run(purchasePremium(player, { ...pass, runId, idempotencyKey: 'buy' }))
  await run(claimTier(player, { ...pass, runId, level: 1, track: 'free' }))
  if (place === 'between two runs') await run(cancelRun(call(player), { runId }))
  if (place === 'banned') await run(banPlayer(call(player)))
  return { ...player, runId }
}

/** The result of a call in a comparable form: its answer as text, or the code of its refusal. */
const settle = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (outcome) => freeze((outcome ?? null) as Json),
    (error) => {
      if (error instanceof Refusal) return error.code
      throw error
    },
  )

/** Sends all calls at once. They are queued in this order, and decided in one group. */
const together = (player: Subject, names: readonly string[]): Promise<string[]> =>
  Promise.all(names.map((name) => settle(CALLS[name]?.(player) ?? Promise.reject(new Error(name)))))

async function oneByOne(player: Subject, names: readonly string[]): Promise<string[]> {
  const outcomes: string[] = []
  for (const name of names) outcomes.push(...(await together(player, [name])))
  return outcomes
}

/** The state of a player by table. Rows are sorted by their first columns. */
const STATE: Readonly<Record<string, string>> = {
  passes: 'node_id, xp, level, premium_owned, max_level_crossed, completed, completed_nodes FROM passes t',
  claims: 'level, track || node_id, granted, run_id FROM tier_claims t',
  xp: 'id, node_id, amount, source, run_id FROM xp_ledger t',
  wallet: 'currency, balance FROM wallets t',
  ledger: 'id, currency, amount, balance, reason FROM wallet_ledger t',
  items: 'item_id, amount FROM inventory t',
  runs: 'id, scenario_id, status, active, plan FROM runs t',
  storage: 'key, value FROM player_storage t',
  events: 'position, type, handle, node_id, run_id, data FROM events t',
  audit: `id, action, before, after, reason FROM (SELECT *, target::uuid AS player_id FROM audit_log WHERE target = ANY ($2)) t`,
}
/** Columns that sort rows, but differ between players, so they are not compared. */
const OWN = new Set(['id', 'position'])

/** The states of players by id, with run ids replaced by numbers. */
async function arrivals(subjects: readonly Subject[]): Promise<Map<string, Record<string, unknown>>> {
  const ids = subjects.map(({ playerId }) => playerId)
  const found = new Map<string, Record<string, unknown>>()
  await settled(game.app.pool)
  const { rows: players } = await game.app.pool.query(
    'SELECT id, status, nickname FROM players WHERE environment_id = $1 AND id = ANY ($2::uuid[])',
    [game.environmentId, ids],
  )
  for (const { id, ...standing } of players) found.set(id, { standing })
  const runs = new Map<string, string[]>()
  for (const [part, columns] of Object.entries(STATE)) {
    const { rows } = await game.app.pool.query(
      `SELECT player_id, ${columns} WHERE t.environment_id = $1 AND player_id = ANY ($2::uuid[]) ORDER BY 1, 2, 3`,
      [game.environmentId, ids],
    )
    for (const { player_id, ...row } of rows) {
      const player = found.get(player_id)
      if (!player) throw new Error(`${part} of nobody`)
      if (part === 'runs') runs.set(player_id, [...(runs.get(player_id) ?? []), row.id])
      const shown = Object.entries(row).filter(([column]) => !OWN.has(column))
      player[part] = [...((player[part] as unknown[]) ?? []), Object.fromEntries(shown)]
    }
  }
  for (const [playerId, player] of found) found.set(playerId, numbered(player, runs.get(playerId) ?? []))
  return found
}

function numbered<T>(value: T, runs: readonly string[]): T {
  let text = JSON.stringify(value)
  for (const [index, id] of runs.entries()) text = text.replaceAll(id, `run ${index + 1}`)
  return JSON.parse(text)
}

interface Trial {
  readonly place: Place
  readonly names: readonly string[]
}

/** Expects that each trial has the same results in one group as one by one. */
async function expectAlike(trials: readonly Trial[]): Promise<void> {
  const differing: string[] = []
  // In each trial, all commands of one player wait, and one command of the other.
  const atOnce = Math.floor(WAITING / (1 + Math.max(...trials.map(({ names }) => names.length))))
  for (let at = 0; at < trials.length; at += atOnce) {
    const ran = await Promise.all(
      trials.slice(at, at + atOnce).map(async ({ place, names }) => {
        const subjects = await Promise.all([subject(place), subject(place)])
        const [one, two] = subjects
        const outcomes = await Promise.all([together(one, names), oneByOne(two, names)])
        return { trial: `${place}: ${names.join(', then ')}`, subjects, outcomes }
      }),
    )
    const states = await arrivals(ran.flatMap(({ subjects }) => subjects))
    for (const { trial, subjects, outcomes } of ran) {
      const [grouped, single] = subjects.map(({ playerId }, index) => {
        const answers = outcomes[index]?.map((outcome) => outcome.replaceAll(UUID, 'id'))
        return { ...states.get(playerId), answers } as Record<string, unknown>
      })
      for (const part of ['standing', ...Object.keys(STATE), 'answers']) {
        const [told, expected] = [JSON.stringify(grouped?.[part]), JSON.stringify(single?.[part])]
        if (told === expected) continue
        differing.push(`${trial}: ${part}: ${told?.slice(0, 400)} and not ${expected?.slice(0, 400)}`)
        break
      }
    }
  }
  expect(differing.slice(0, 10), `${differing.length} differences`).toEqual([])
}

describe('the results of calls in one group', () => {
  it.each(['in a run', 'between two runs'] as const)(
    `are the same as one by one for any two calls of a player %s (${Math.round(SHARE * PAIRED.length ** 2)} of ${PAIRED.length ** 2} pairs)`,
    async (place) => {
      const pairs = PAIRED.flatMap((first) => PAIRED.map((second) => ({ place, names: [first, second] })))
      const next = random(SEED)
      await expectAlike(pairs.filter(() => next() < SHARE))
    },
  )

  it(`are the same as one by one for any eight calls (${SEQUENCES} sequences)`, async () => {
    const next = random(SEED)
    const one = <T>(choices: readonly T[]): T => choices[Math.floor(next() * choices.length)] as T
    await expectAlike(times(SEQUENCES, () => ({ place: one(PLACES), names: times(8, () => one(NAMES)) })))
  })
})

describe('pairs of names in one group that differ only in where they are split', () => {
  it('are kept apart for scenarios and nodes', async () => {
    const places = [
      { scenarioId: 'alike', nodeId: 'one\ntwo' },
      { scenarioId: 'alike\none', nodeId: 'two' },
    ]
    for (const { scenarioId, nodeId } of places) {
      const alike = scenario([passNode(nodeId)], [{ from: 'start', handle: 'onStart', to: nodeId }])
      expect((await game.publish(encodeURIComponent(scenarioId), alike)).status).toBe(200)
    }
    const player = await run(createPlayer(game.environmentId, 'Ada'))
    const calls = await Promise.all(
      places.map(async (place) => ({ ...place, ...(await run(startRun(player, place))), source: 'match' })),
    )
    const ten = calls.flatMap((one) => times(5, () => run(addXp(player, { ...one, amount: 10n }))))
    await Promise.all([...ten, ...calls.slice(1).map((one) => run(addXp(player, { ...one, amount: 7n })))])
    const xp = await Promise.all(places.map(async (place) => (await run(readProgress(player, place))).xp))
    expect(xp).toEqual([50n, 57n])
  })

  it('are kept apart for providers and subjects', async () => {
    const { environmentId, playerId } = await run(createPlayer(game.environmentId, 'Ada'))
    const own = { provider: 'custom', subject: 'studio/7' }
    await game.app.pool.query(
      'INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, $2, $3, $4)',
      [environmentId, own.provider, own.subject, playerId],
    )
    const other = { provider: 'custom/studio', subject: '7' }
    const outcomes = [other, own, other].map((ref) =>
      settle(run(unlinkIdentity(call({ environmentId, playerId }), { ...ref, allowLast: true }))),
    )
    const done = expect.stringMatching(/^\{"auditId":/)
    expect(await Promise.all(outcomes)).toEqual(['not_found', done, 'not_found'])
  })
})
