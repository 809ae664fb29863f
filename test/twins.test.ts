import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../src/base/json.ts'
import { createServerKey } from '../src/callers/keys.ts'
import { auditBooks } from './harness/audit.ts'
import {
  CASES,
  CASES_DEFINITION,
  type Caller,
  overClient,
  overGraphql,
  overHttp,
  overRest,
  overSocket,
  startCasesOperator,
} from './harness/cases.ts'
import { type Game, startGame, type TestPlayer, times } from './harness/game.ts'
import type { Operator } from './harness/operator.ts'
import { atScale } from './harness/scale.ts'
import { SEED } from './harness/seed.ts'
import { settled } from './harness/settled.ts'
import { graphqlOf, type Outcome, restOf, type Surface } from './harness/surfaces.ts'

const SEQUENCES = atScale(1_000, 24)
/** A limit for tests that hang: they take a minute on a quiet machine. */
const TIMEOUT_MS = 600_000

let game: Game
let operator: Operator

beforeAll(async () => {
  game = await startGame()
  operator = await startCasesOperator(game)
  const published = await game.publish('rest', CASES_DEFINITION)
  const { data } = await game.graphql(
    game.platformKey,
    `mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) { scenario { version definition } } }`,
    {
      input: { environment: 'production', scenarioId: 'graphql', definition: print(CASES_DEFINITION), reason: 'test' },
    },
  )
  expect(data.publishScenario.scenario).toEqual({
    version: published.body.version,
    definition: published.body.definition,
  })
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await operator.close()
  await game.stop()
})

/** One of two players that make the same calls, each on its own surface and its own scenario. */
interface Twin {
  readonly player: TestPlayer
  readonly surface: Surface
  readonly scenarioId: string
  runId: string
}

async function twins(): Promise<readonly [Twin, Twin]> {
  const [one, two] = await Promise.all([game.player(), game.player()])
  return [
    { player: one, surface: restOf(one), scenarioId: 'rest', runId: 'none' },
    { player: two, surface: graphqlOf(two), scenarioId: 'graphql', runId: 'none' },
  ]
}

type Step = readonly [call: keyof Surface, input?: Record<string, unknown>]

async function take({ surface, scenarioId, runId }: Twin, [call, input]: Step): Promise<Outcome> {
  const sent = call === 'start' ? { scenarioId } : call === 'run' ? { runId } : { scenarioId, runId, ...input }
  if (call === 'progress') return surface.progress({ scenarioId, nodeId: input?.nodeId })
  return surface[call](sent as never)
}

async function start(twin: Twin): Promise<Outcome> {
  const outcome = await take(twin, ['start'])
  twin.runId = await twin.player.start(twin.scenarioId)
  return outcome
}

/** The whole state of a player, without the names that differ between the twins. */
async function stateOf({ player, surface, scenarioId, runId }: Twin): Promise<unknown> {
  const { pool } = game.app
  const named = (text: string) => text.replaceAll(`${scenarioId}/`, 'scenario/').replaceAll(runId, 'run')
  const { data } = await player.graphql(`{ me { status wallet { currency balance } inventory { itemId amount }
    walletLedger(first: 200) { edges { node { currency amount balance cause reference } } } } }`)
  const claims = await pool.query(
    'SELECT node_id, level, track, granted FROM tier_claims WHERE player_id = $1 ORDER BY 1, 2, 3',
    [player.playerId],
  )
  const xp = await pool.query('SELECT node_id, amount, source FROM xp_ledger WHERE player_id = $1 ORDER BY id', [
    player.playerId,
  ])
  await settled(pool)
  const events = await pool.query(
    'SELECT type, handle, node_id, data FROM events WHERE player_id = $1 ORDER BY position',
    [player.playerId],
  )
  return {
    me: JSON.parse(named(JSON.stringify(data.me))),
    claims: claims.rows,
    xp: xp.rows,
    events: events.rows,
    run: await surface.run({ runId }),
    seasons: await surface.seasons(),
    passes: [
      await surface.progress({ scenarioId, nodeId: 'pass' }),
      await surface.progress({ scenarioId, nodeId: 'bonus' }),
      await surface.progress({ scenarioId, nodeId: 'third' }),
    ],
  }
}

const SURFACES: readonly (readonly [name: string, over: (game: Game) => Caller])[] = [
  ['REST', overRest],
  ['GraphQL', (game) => overGraphql(overHttp(game))],
  ['a WebSocket', (game) => overGraphql(overSocket(game))],
  ['the client library for JavaScript', overClient],
]

// test/unity.test.ts has the same cases in the client for Unity.
describe('a game over', () => {
  it.each(SURFACES)('%s has the answers and refusals of every other surface', async (name, over) => {
    const caller = over(game)
    // REST has no call for all tiers at once.
    for (const { call, input, reply } of CASES.filter((one) => one.call !== 'claimAll' || name !== 'REST')) {
      const sent = input.player === 'accepted' ? { player: name } : input
      expect([call, input, await caller(call, sent)]).toEqual([call, input, reply])
    }
  })
})

describe('a season over REST and the same season over GraphQL', () => {
  it(`end in the same state after random sequences of calls (${SEQUENCES} sequences)`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const next = random(SEED)
    const plans = times(SEQUENCES, () => sequence(next))
    for (let at = 0; at < plans.length; at += 10) {
      await Promise.all(
        plans.slice(at, at + 10).map(async (steps, index) => {
          const pair = await twins()
          const [expected, outcomes] = await Promise.all(
            pair.map(async (twin) => {
              const results: unknown[] = [await start(twin)]
              for (const step of steps) results.push(await take(twin, step))
              return [...results, await stateOf(twin)]
            }),
          )
          expect(outcomes, `sequence ${at + index} of SEED=${SEED}: ${print(steps as unknown as Json)}`).toEqual(
            expected,
          )
        }),
      )
    }
  })
})

it('a player that a game server finds by its identity is the one that operators find, with the same state', async () => {
  const player = await game.player({ wallet: { gems: 9_007_199_254_740_993n, gold: 3n } })
  const identity = { provider: 'custom:studio', subject: 'twin of "both"' }
  await game.app.pool.query(
    'INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, $2, $3, $4)',
    [game.environmentId, identity.provider, identity.subject, player.playerId],
  )
  const { key } = await createServerKey(game.app.pool, game.environmentId)
  const found = await game.request('POST', '/server/v1/players/find', {
    body: JSON.stringify(identity),
    headers: { authorization: `Bearer ${key}` },
  })
  const { data } = await game.graphql(
    game.platformKey,
    `query ($provider: String!, $subject: String!) {
      players(environment: "production", search: $subject, provider: $provider) { nodes {
        playerId nickname avatarUrl region language createdAt
        wallet { currency balance } inventory { itemId amount } identities { provider subject } } } }`,
    identity,
  )
  const [node] = data.players.nodes
  const asText = JSON.parse(found.text.replaceAll(/"(balance|amount)":(\d+)/g, '"$1":"$2"'))
  expect(asText).toEqual({ ...node, createdAt: new Date(node.createdAt).toISOString() })
})

/** Random numbers from 0 to below 1, determined by a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** 3 to 14 calls, some of them invalid. */
function sequence(next: () => number): Step[] {
  const one = <T>(...choices: readonly [T, ...T[]]): T => choices[Math.floor(next() * choices.length)] ?? choices[0]
  const nodeId = () => one('pass', 'pass', 'pass', 'bonus', 'bonus', 'third', 'gift', 'shop', 'nowhere')
  const idempotencyKey = () => one(undefined, undefined, 'a', 'b')
  const step = (): Step =>
    one<() => Step>(
      () => [
        'addXp',
        {
          nodeId: nodeId(),
          amount: one<number | bigint>(1, 40, 100, 250, 2 ** 40, 2n ** 63n - 1n, 0, -5),
          source: one('quest', '', 'x'.repeat(65)),
          idempotencyKey: idempotencyKey(),
        },
      ],
      () => [
        'claim',
        {
          nodeId: nodeId(),
          level: one(null, 1, 2, 3, 5, 9, -1),
          track: one('free', 'premium'),
          idempotencyKey: idempotencyKey(),
        },
      ],
      () => ['claim', { nodeId: one('pass', 'bonus', 'third'), level: one(1, 2, 3), track: one('free', 'premium') }],
      () => ['premium', { nodeId: nodeId(), idempotencyKey: one(undefined, 'a', 'b', '') }],
      () => [
        'cross',
        {
          nodeId: one('shop', 'shop', 'pass', 'nowhere'),
          handle: one('onBought', 'onComplete', 'onStart', 'onElse', ''),
        },
      ],
      () => ['progress', { nodeId: nodeId() }],
      () => ['run'],
      () => ['seasons'],
      () => ['start'],
    )()
  return times(3 + Math.floor(next() * 12), step)
}
