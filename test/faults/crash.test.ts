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
const KILLED_PLAYERS = atScale(24, 12)
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
const CLAIM = '/sdk/v1/battlepass/claim'
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

/** Writes of one player, by kind. */
interface Writes {
  xp: number
  claims: number
  purchases: number
}

/** The writes that the books have, for each of the players. */
async function books(players: readonly WorldPlayer[]): Promise<ReadonlyMap<string, Writes>> {
  const { rows } = await world.pool.query<{ id: string } & Writes>(
    `SELECT id,
       (SELECT count(*)::int FROM xp_ledger x WHERE (x.environment_id, x.player_id) = (p.environment_id, p.id)) AS xp,
       (SELECT count(*)::int FROM tier_claims c WHERE (c.environment_id, c.player_id) = (p.environment_id, p.id)) AS claims,
       (SELECT count(*)::int FROM wallet_ledger w WHERE (w.environment_id, w.player_id) = (p.environment_id, p.id)
         AND reason = 'premium_purchase') AS purchases
     FROM players p WHERE id = ANY($1)`,
    [players.map(({ playerId }) => playerId)],
  )
  return new Map(rows.map(({ id, ...writes }) => [id, writes]))
}

/** Expects that the books have at least these writes, which were acknowledged before. */
function expectKept(kept: ReadonlyMap<string, Writes>, acknowledged: ReadonlyMap<string, Writes>): void {
  for (const [playerId, { xp, claims, purchases }] of acknowledged) {
    const found = kept.get(playerId)
    expect(found?.xp).toBeGreaterThanOrEqual(xp)
    expect(found?.claims).toBeGreaterThanOrEqual(claims)
    expect(found?.purchases).toBeGreaterThanOrEqual(purchases)
  }
}

async function gemsOf(players: readonly WorldPlayer[]): Promise<string[]> {
  const { rows } = await world.pool.query<{ balance: string }>(
    `SELECT DISTINCT balance FROM wallets WHERE currency = 'gems' AND player_id = ANY($1)`,
    [players.map(({ playerId }) => playerId)],
  )
  return rows.map(({ balance }) => balance)
}

const noWrites = (players: readonly WorldPlayer[]): Map<string, Writes> =>
  new Map(players.map(({ playerId }) => [playerId, { xp: 0, claims: 0, purchases: 0 }]))

const place = { scenarioId: 'season', nodeId: 'pass' }

describe('a service that is killed under load (spec 8: an answered write is durable)', () => {
  it('keeps every acknowledged write and does none twice, through three kills', async () => {
    const players = await Promise.all(times(KILLED_PLAYERS, () => world.player('season', { gems: 5_000n })))
    const acknowledged = noWrites(players)
    let calls = 0
    let isOver = false

    /** Makes calls until the kills are over, and at least as many as earn four levels. */
    async function play(player: WorldPlayer): Promise<void> {
      const own = acknowledged.get(player.playerId)
      if (!own) throw new Error('an unknown player')
      while (!isOver || own.xp < 60) {
        await insist(player, XP, { ...place, amount: 7, source: 'load' }, `xp ${own.xp}`)
        own.xp += 1
        calls += 1
        if (own.xp === 5) {
          const { body } = await insist(player, PREMIUM, place, 'premium')
          expect(body).toMatchObject({ success: true })
          own.purchases += 1
        }
        const level = own.xp / 15
        if (level === 1 || level === 2 || level === 3 || level === 4) {
          for (const track of ['free', 'premium']) {
            const { body } = await insist(player, CLAIM, { ...place, level, track }, `${level} ${track}`)
            expect(body).toMatchObject({ success: true })
            own.claims += 1
          }
        }
      }
    }

    service = await startService(world.env)
    const load = Promise.all(players.map(play))
    // A failure is reported at the end; until then it must not count as an unhandled rejection.
    load.catch(() => undefined)
    for (const kill of [1, 2, 3]) {
      await Promise.race([load, until('the load has gone on', () => calls > kill * 12 * players.length)])
      const killed: Service = service
      killed.kill('SIGKILL')
      await killed.exited
      service = null
      expectKept(await books(players), acknowledged)
      service = await startService(world.env)
    }
    isOver = true
    await load
    expect(await books(players)).toEqual(acknowledged)
    expect(await gemsOf(players)).toEqual(['4050'])
    await auditBooks(world.pool)
  })
})

describe('a service whose Postgres fails under load (spec 8: unavailable, never lost, never twice)', () => {
  it('answers 200 or 503 while Postgres crashes five times, then charges every purchase once', async () => {
    const players = await Promise.all(times(24, () => world.player('many', { gems: PRICE * BigInt(PASSES) })))
    service = await startService(world.env)
    other = await startService(world.env)
    const running = [service, other]
    let bought = 0
    const acknowledged = noWrites(players)
    const load = Promise.all(
      players.map(async (player) => {
        for (const index of times(PASSES, (pass) => pass)) {
          const body = { scenarioId: 'many', nodeId: `pass-${index}` }
          const answer = await insist(player, PREMIUM, body, `purchase ${index}`)
          expect(answer.body).toMatchObject({ success: true, error: null })
          bought += 1
          acknowledged.set(player.playerId, { xp: 0, claims: 0, purchases: index + 1 })
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
      expectKept(await books(players), known)
      await until('the service is ready again', async () => (await status('/readyz')) === 200)
    }
    await load
    for (const { exit } of running) expect(exit).toBeUndefined()
    expect(await gemsOf(players)).toEqual(['0'])
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
