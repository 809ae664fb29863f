import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { auditBooks } from '../harness/audit.ts'
import { passNode, scenario, season } from '../harness/definitions.ts'
import { type DurablePostgres, startDurablePostgres } from '../harness/durable-postgres.ts'
import { times } from '../harness/game.ts'
import { type PostgresProxy, startProxy } from '../harness/proxy.ts'
import { atScale } from '../harness/scale.ts'
import {
  buildService,
  createWorld,
  post,
  type Service,
  type ServiceAnswer,
  startService,
  stopService,
  type World,
  type WorldPlayer,
} from '../harness/service.ts'
import { until } from '../harness/until.ts'

const PRICE = 950n
const PASSES = atScale(60, 16)
const LOST_ANSWERS = atScale(100, 12)
const RETRY_MS = 20

let postgres: DurablePostgres
let proxy: PostgresProxy
let world: World
/** The service that runs now; null while it is down. */
let service: Service | null = null
/** A second service on the same database, for the tests that need it. */
let other: Service | null = null

beforeAll(async () => {
  await buildService()
  postgres = await startDurablePostgres()
  proxy = await startProxy(postgres.url)
  world = await createWorld(postgres.url)
  await world.publish('season', season())
  await world.publish(
    'many',
    scenario(
      times(PASSES, (index) => passNode(`pass-${index}`)),
      [],
    ),
  )
})
afterEach(async () => {
  for (const running of [service, other]) await stopService(running ?? undefined)
  service = null
  other = null
})
afterAll(async () => {
  await world?.close()
  await proxy?.close()
  await postgres?.remove()
})

const XP = '/sdk/v1/battlepass/xp'
const PREMIUM = '/sdk/v1/battlepass/premium'

type Body = { readonly [key: string]: Json }

/** One call. A purchase carries its key in the body, all others in a header. */
function call(target: Service, player: WorldPlayer, path: string, body: Body, key: string): Promise<ServiceAnswer> {
  const whole = { ...body, runId: player.runId, ...(path === PREMIUM && { idempotencyKey: key }) }
  return post(target, path, player.token, whole, path === PREMIUM ? {} : { 'idempotency-key': key })
}

/**
 * Repeats a call with its key until it is acknowledged. All other answers must say `unavailable`. With two services the
 * attempts alternate between them.
 */
async function insist(player: WorldPlayer, path: string, body: Body, key: string): Promise<ServiceAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    const target = attempt % 2 === 0 ? (other ?? service) : service
    // A connection that breaks is no answer.
    const answer = target && (await call(target, player, path, body, key).catch(() => null))
    if (answer?.status === 200) return answer
    if (answer) expectUnavailable(answer)
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

function expectUnavailable({ status, headers, body }: ServiceAnswer): void {
  expect([status, body.error, body.code]).toEqual([503, 'unavailable', 'unavailable'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
}

async function status(path: string): Promise<number> {
  const { status } = await fetch(`${service?.baseUrl}${path}`)
  return status
}

const place = { scenarioId: 'season', nodeId: 'pass' }

describe('a service whose Postgres fails under load (spec 8: unavailable, never lost, never twice)', () => {
  it('answers 200 or 503 while Postgres crashes five times, then charges every purchase once', async () => {
    const players = await Promise.all(times(24, () => world.player('many', { gems: PRICE * BigInt(PASSES) })))
    service = await startService(world.env)
    other = await startService(world.env)
    const running = [service, other]
    let bought = 0
    const acknowledged = new Map<string, number>()
    const load = Promise.all(
      players.map(async (player) => {
        for (const index of times(PASSES, (pass) => pass)) {
          const body = { scenarioId: 'many', nodeId: `pass-${index}` }
          const answer = await insist(player, PREMIUM, body, `purchase ${index}`)
          expect(answer.body).toMatchObject({ success: true, error: null })
          bought += 1
          acknowledged.set(player.playerId, index + 1)
        }
      }),
    )
    load.catch(() => undefined)
    for (const round of [1, 2, 3, 4, 5]) {
      await Promise.race([load, until('the load has gone on', () => bought > (round * players.length * PASSES) / 7)])
      await postgres.crash()
      const known = new Map(acknowledged)
      await until('the service says that it is not ready', async () => (await status('/readyz')) === 503)
      expect(await status('/livez')).toBe(200)
      await postgres.restart()
      const { rows } = await world.pool.query<{ player_id: string; bought: number }>(
        `SELECT player_id, count(*)::int AS bought FROM wallet_ledger
         WHERE reason = 'premium_purchase' AND player_id = ANY($1) GROUP BY player_id`,
        [players.map(({ playerId }) => playerId)],
      )
      const kept = new Map(rows.map((row) => [row.player_id, row.bought]))
      for (const [playerId, count] of known) expect(kept.get(playerId)).toBeGreaterThanOrEqual(count)
      await until('the service is ready again', async () => (await status('/readyz')) === 200)
    }
    await load
    for (const { exit } of running) expect(exit).toBeUndefined()
    const { rows } = await world.pool.query(
      `SELECT DISTINCT balance FROM wallets WHERE currency = 'gems' AND player_id = ANY($1)`,
      [players.map(({ playerId }) => playerId)],
    )
    expect(rows).toEqual([{ balance: '0' }])
    await auditBooks(world.pool)
  })

  it(`charges once when the answer to COMMIT is lost ${LOST_ANSWERS} times, and the repeat goes to another service (spec 4.1)`, async () => {
    service = await startService({ ...world.env, DATABASE_URL: proxy.url })
    other = await startService(world.env)
    const running = service
    for (const index of times(LOST_ANSWERS, (round) => round)) {
      const player = await world.player('season', { gems: 5_000n })
      const premium = index % 2 === 0
      const path = premium ? PREMIUM : XP
      const body = premium ? place : { ...place, amount: 60, source: 'lost' }
      proxy.swallowCommits(1)
      const first = await call(running, player, path, body, 'one')
      expectUnavailable(first)
      expect(proxy.swallowed).toBe(index + 1)
      const second = await insist(player, path, body, 'one')
      const third = await insist(player, path, body, 'one')
      expect(third.body).toEqual(second.body)
      expect(second.body).toMatchObject(premium ? { success: true } : { xp: 60 })
      const { rows } = await world.pool.query(
        `SELECT (SELECT count(*)::int FROM wallet_ledger WHERE player_id = $1 AND reason = 'premium_purchase') AS purchases,
           (SELECT count(*)::int FROM xp_ledger WHERE player_id = $1) AS xp`,
        [player.playerId],
      )
      expect(rows).toEqual([premium ? { purchases: 1, xp: 0 } : { purchases: 0, xp: 1 }])
    }
    await auditBooks(world.pool)
  })
})
