import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
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
const KILLED_PLAYERS = atScale(24, 8)
const KILLS = atScale(3, 2)
const CRASHES = atScale(5, 2)
const PASSES = atScale(60, 10)
const LOST_ANSWERS = atScale(100, 6)
/** The most that a game server may send in one call. */
const GRANTS = 200
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
afterAll(async () => {
  await stopBoth()
  await world?.close()
  await proxy?.close()
  await postgres?.remove()
})

async function stopBoth(): Promise<void> {
  for (const running of [service, other]) await stopService(running ?? undefined)
  service = null
  other = null
}

const XP = '/sdk/v1/battlepass/xp'
const CLAIM = '/sdk/v1/battlepass/claim'
const PREMIUM = '/sdk/v1/battlepass/premium'

type Body = { readonly [key: string]: Json }

/** One call. A purchase carries its key in the body, all others in a header. */
function call(target: Service, player: WorldPlayer, path: string, body: Body, key: string): Promise<ServiceAnswer> {
  const whole = { ...body, runId: player.runId, ...(path === PREMIUM && { idempotencyKey: key }) }
  return post(target, path, player.token, whole, path === PREMIUM ? {} : { 'idempotency-key': key })
}

const insist = (player: WorldPlayer, path: string, body: Body, key: string): Promise<ServiceAnswer> =>
  repeat((target) => call(target, player, path, body, key))

/** Repeats a call until it is acknowledged. All other answers must say `unavailable`. Two services take turns. */
async function repeat(make: (target: Service) => Promise<ServiceAnswer>): Promise<ServiceAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    const target = attempt % 2 === 0 ? (other ?? service) : service
    // A connection that breaks is no answer.
    const answer = target && (await make(target).catch(() => null))
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

describe('a service that is killed under load (contract 8: an answered write is durable)', () => {
  it('keeps every acknowledged write and does none twice, through several kills', async () => {
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
    for (const kill of times(KILLS, (index) => index + 1)) {
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

/** Keeps everybody else from writing to a table. */
async function holdTable(table: string) {
  const holder = new pg.Client(postgres.url)
  await holder.connect()
  await holder.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`)
  const waiting = `FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`
  return {
    hasWaiting: async (): Promise<boolean> => ((await holder.query(`SELECT ${waiting}`)).rowCount ?? 0) > 0,
    /** Ends the connections that wait, as Postgres does when it notices that their client has died. */
    endWaiting: () => holder.query(`SELECT pg_terminate_backend(pid, 5000) ${waiting}`),
    release: () => holder.end(),
  }
}

/**
 * The first half of the grants is for players with a run of the season, and reaches no level: it writes no runs. The
 * second half is for players without a run.
 */
async function grantsOfMatch() {
  const half = GRANTS / 2
  // Some players get two grants.
  const players = await Promise.all(times(GRANTS - 20, (index) => world.player(index < half - 10 ? 'season' : 'many')))
  const [started, others] = [players.slice(0, half - 10), players.slice(half - 10)]
  const of = [...started, ...started.slice(0, 10), ...others, ...others.slice(0, 10)]
  const amountOf = (index: number) => (index < half ? 1 + (index % 45) : index)
  const grants = of.map(({ playerId }, index) => ({
    player: { playerId },
    ...place,
    amount: amountOf(index),
    source: 'match',
  }))
  const xp = new Map<string, number>()
  const results = of.map(({ playerId }, index) => {
    const before = xp.get(playerId) ?? 0
    const after = before + amountOf(index)
    xp.set(playerId, after)
    const levelOf = (total: number) => 1 + Math.floor(total / 100)
    const level = levelOf(after)
    const leveledUp = level > levelOf(before)
    const crossed = [{ nodeId: 'pass', handle: 'onLevelUp' }]
    const plan = { runId: expect.any(String), status: 'active', crossed, entered: [], granted: [] }
    return { playerId, level, xp: after, leveledUp, maxLevel: false, plan: leveledUp ? plan : null, error: null }
  })
  return { players, grants, results }
}

/** How many grants the books have, and the xp that each player of them has. */
async function grantedTo(players: readonly WorldPlayer[]): Promise<{ count: number; xp: Map<string, number> }> {
  const { rows } = await world.pool.query<{ id: string; xp: string; count: string }>(
    `SELECT player_id AS id, sum(amount) AS xp, count(*) FROM xp_ledger WHERE player_id = ANY($1) GROUP BY player_id`,
    [players.map(({ playerId }) => playerId)],
  )
  const count = rows.reduce((sum, row) => sum + Number(row.count), 0)
  return { count, xp: new Map(rows.map(({ id, xp }) => [id, Number(xp)])) }
}

describe('a service that is killed in the middle of a batch of grants', () => {
  beforeAll(stopBoth)

  it('gives every grant once, and answers as if nothing had happened, however often it is killed before and after', async () => {
    const { key } = await createServerKey(world.pool, world.environmentId)
    const { players, grants, results } = await grantsOfMatch()
    const give = () =>
      repeat((target) => post(target, '/server/v1/battlepass/xp', key, { grants, idempotencyKey: 'match' }))

    async function killNow(): Promise<void> {
      const killed = service
      service = null
      killed?.kill('SIGKILL')
      await killed?.exited
    }

    /** Kills a new service while it waits to write to a table, when this many grants are committed. */
    async function killBefore(table: string, granted: number, fate: 'lost' | 'committed'): Promise<void> {
      const held = await holdTable(table)
      try {
        service = await startService(world.env)
        await until(
          `a write to ${table} waits after ${granted} grants`,
          async () => (await held.hasWaiting()) && (await grantedTo(players)).count >= granted,
        )
        expect((await grantedTo(players)).count).toBe(granted)
        await killNow()
        if (fate === 'lost') await held.endWaiting()
      } finally {
        await held.release()
      }
    }

    const answer = give()
    // A failure is reported at the end; until then it must not count as an unhandled rejection.
    answer.catch(() => undefined)
    // What was sent may be committed after the death.
    await killBefore('xp_ledger', 0, 'committed')
    // The grants of players with a run are made, those of the others are not.
    await killBefore('runs', GRANTS / 2, 'lost')
    service = await startService(world.env)
    await until('all grants are committed', async () => (await grantedTo(players)).count >= GRANTS)
    // The answer may be on its way.
    await killNow()
    service = await startService(world.env)
    const { body } = await answer
    expect(body).toEqual({ results })
    expect((await give()).body).toEqual(body)

    const { count, xp } = await grantedTo(players)
    expect(count).toBe(GRANTS)
    expect(xp).toEqual(new Map(results.map((result) => [result.playerId, result.xp])))
    await auditBooks(world.pool)
  })
})

describe('a service whose Postgres fails under load (contract 8: unavailable, never lost, never twice)', () => {
  beforeAll(async () => {
    await stopBoth()
    ;[service, other] = await Promise.all([
      startService({ ...world.env, DATABASE_URL: proxy.url }),
      startService(world.env),
    ])
  })

  it(`answers 200 or 503 while Postgres crashes ${CRASHES} times, then charges every purchase once`, async () => {
    const players = await Promise.all(times(24, () => world.player('many', { gems: PRICE * BigInt(PASSES) })))
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
    for (const round of times(CRASHES, (index) => index + 1)) {
      await Promise.race([
        load,
        until('the load has gone on', () => bought > (round * players.length * PASSES) / (CRASHES + 2)),
      ])
      await postgres.crash()
      const known = new Map(acknowledged)
      await until('the service says that it is not ready', async () => (await status('/readyz')) === 503)
      expect(await status('/livez')).toBe(200)
      await postgres.restart()
      expectKept(await books(players), known)
      await until('the service is ready again', async () => (await status('/readyz')) === 200)
    }
    await load
    for (const one of running) expect(one?.exit).toBeUndefined()
    expect(await gemsOf(players)).toEqual(['0'])
    await auditBooks(world.pool)
  })

  it(`charges once when the answer to COMMIT is lost ${LOST_ANSWERS} times, and the repeat goes to another service (contract 4.1)`, async () => {
    const running = service as Service
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
