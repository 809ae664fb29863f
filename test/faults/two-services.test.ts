import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { auditBooks } from '../harness/audit.ts'
import { barrier } from '../harness/barrier.ts'
import { passNode, scenario, season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { breakConnections, type Cluster, startCluster } from '../harness/linearizability/cluster.ts'
import { Random } from '../harness/linearizability/random.ts'
import { type RedisServer, startRedis, withoutRedis } from '../harness/redis.ts'
import { atScale } from '../harness/scale.ts'
import { SEED } from '../harness/seed.ts'
import { post, type ServiceAnswer, type WorldPlayer } from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'

// Two processes of the service, each with a proxy before Postgres. Clients start on a barrier, every second one on the
// other service. Without redis-server the services run without Redis: no test here depends on it.

const CLAIM = '/sdk/v1/battlepass/claim'
const PREMIUM = '/sdk/v1/battlepass/premium'
const PROGRESS = '/sdk/v1/battlepass/progress'
const START = '/sdk/v1/scenarios/start'
const XP = '/sdk/v1/battlepass/xp'

const PRICE = 950
const BANK_PLAYERS = 20
const BANK_WORKERS = 8
const BANK_CALLS = atScale(60, 12)
const RACERS = atScale(200, 60)
const ADDITIONS = atScale(500, 100)
const ROUNDS = atScale(100, 30)
const CLAIMERS = atScale(40, 16)

const place = { scenarioId: 'season', nodeId: 'pass' }

type Body = { readonly [key: string]: Json }

let redis: RedisServer | undefined
let cluster: Cluster

beforeAll(async () => {
  redis = withoutRedis === '' ? await startRedis() : undefined
  cluster = await startCluster({ env: redis ? { REDIS_URL: redis.url } : {} })
  await cluster.world.publish('season', season())
})
afterAll(async () => {
  await auditBooks(cluster.world.pool)
  await cluster.close()
  await redis?.remove()
})

function call(index: number, player: WorldPlayer, path: string, body: Body, key?: string): Promise<ServiceAnswer> {
  const { service } = cluster.instances[index % 2 === 0 ? 0 : 1]
  const whole = { ...body, runId: player.runId, ...(path === PREMIUM && key && { idempotencyKey: key }) }
  return post(service, path, player.token, whole, key && path !== PREMIUM ? { 'idempotency-key': key } : {})
}

function together<T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> {
  const ready = barrier(count)
  return Promise.all(
    times(count, async (index) => {
      await ready()
      return act(index)
    }),
  )
}

/** Repeats a call with its key, on both services in turn, until it is acknowledged. */
async function insist(index: number, player: WorldPlayer, path: string, body: Body, key: string): Promise<Json> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await call(index + attempt, player, path, body, key)
    if (answer.status === 200) return answer.body
    expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
  }
}

async function books({ playerId }: WorldPlayer) {
  await settled(cluster.world.pool)
  const { rows } = await cluster.world.pool.query<{
    gems: number
    purchases: number
    claims: number
    events: string[]
  }>(
    `SELECT (SELECT balance::int FROM wallets WHERE player_id = $1 AND currency = 'gems') AS gems,
       (SELECT count(*)::int FROM wallet_ledger WHERE player_id = $1 AND reason = 'premium_purchase') AS purchases,
       (SELECT count(*)::int FROM tier_claims WHERE player_id = $1) AS claims,
       (SELECT coalesce(json_agg(handle ORDER BY position), '[]') FROM events WHERE player_id = $1 AND handle IS NOT NULL) AS events`,
    [playerId],
  )
  const [row] = rows
  if (!row) throw new Error('the books are empty')
  return row
}

/** Whether the xp and the purchase of a player were committed no later than its claim. */
async function earnedFirst({ playerId }: WorldPlayer): Promise<boolean> {
  const { rows } = await cluster.world.pool.query<{ earned: boolean }>(
    `SELECT greatest(pg_xact_commit_timestamp(x.xmin), pg_xact_commit_timestamp(l.xmin))
         <= pg_xact_commit_timestamp(c.xmin) AS earned
     FROM tier_claims c JOIN xp_ledger x USING (player_id) JOIN wallet_ledger l USING (player_id)
     WHERE player_id = $1 AND l.reason = 'premium_purchase'`,
    [playerId],
  )
  return rows[0]?.earned ?? false
}

describe('two services with racing calls (contract 4.1)', () => {
  it(`charge once and answer identically when ${RACERS} purchases have one key`, async () => {
    const player = await cluster.world.player('season', { gems: 5_000n })
    const answers = await together(RACERS, (index) => call(index, player, PREMIUM, place, 'one'))
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 200, body: { success: true } })
    expect(await books(player)).toMatchObject({ gems: 5_000 - PRICE, purchases: 1 })
  })

  it(`charge once when ${RACERS} purchases have different keys`, async () => {
    const player = await cluster.world.player('season', { gems: 5_000n })
    const answers = await together(RACERS, (index) => call(index, player, PREMIUM, place, `key ${index}`))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(answers.filter(({ body }) => body.success)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.error === 'premium already owned')).toHaveLength(RACERS - 1)
    expect(await books(player)).toMatchObject({ gems: 5_000 - PRICE, purchases: 1 })
  })

  it('charge once when fifty passes are bought with the price of one', async () => {
    const nodeIds = times(50, (index) => `pass-${index}`)
    await cluster.world.publish(
      'many',
      scenario(
        nodeIds.map((id) => passNode(id)),
        [],
      ),
    )
    const player = await cluster.world.player('many', { gems: BigInt(PRICE) })
    const answers = await together(50, (index) =>
      call(index, player, PREMIUM, { scenarioId: 'many', nodeId: nodeIds[index] ?? '' }),
    )
    expect(answers.filter(({ body }) => body.success)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.error === 'insufficient funds')).toHaveLength(49)
    expect(await books(player)).toMatchObject({ gems: 0, purchases: 1 })
  })

  it('begin one run when fifty starts arrive', async () => {
    const player = await cluster.world.player('season')
    await cluster.world.pool.query('DELETE FROM runs WHERE player_id = $1', [player.playerId])
    const answers = await together(50, (index) =>
      post(cluster.instances[index % 2 === 0 ? 0 : 1].service, START, player.token, { scenarioId: 'season' }),
    )
    expect(new Set(answers.map(({ body }) => body.runId)).size).toBe(1)
    expect(answers.filter(({ body }) => !body.resumed)).toHaveLength(1)
  })

  it(`grant a tier once when ${RACERS} claims of it arrive`, async () => {
    const player = await cluster.world.player('season')
    await call(0, player, XP, { ...place, amount: 100, source: 'race' })
    const answers = await together(RACERS, (index) => call(index, player, CLAIM, { ...place, level: 2, track: 'free' }))
    expect(answers.filter(({ body }) => body.success && !body.alreadyClaimed)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.success && body.alreadyClaimed)).toHaveLength(RACERS - 1)
    for (const { body } of answers) expect(body.granted).toEqual([{ amount: 20, currency: 'gold', itemId: null }])
    expect(await books(player)).toMatchObject({ claims: 1 })
  })

  it(`sum ${ADDITIONS} additions of xp exactly, and cross each level once`, async () => {
    const player = await cluster.world.player('season')
    const amount = 500 / ADDITIONS
    const answers = await together(ADDITIONS, (index) => call(index, player, XP, { ...place, amount, source: 'race' }))
    expect(answers.map(({ body }) => Number(body.xp)).sort((a, b) => a - b)).toEqual(
      times(ADDITIONS, (index) => (index + 1) * amount),
    )
    // The levels begin at 0, 100, 200, 300 and 400.
    expect(answers.filter(({ body }) => body.leveledUp)).toHaveLength(4)
    const { events } = await books(player)
    expect(events.filter((handle) => handle === 'onLevelUp')).toHaveLength(4)
    expect(events.filter((handle) => handle === 'onMaxLevel')).toHaveLength(1)
  })

  it(`never grant an unearned tier when a claim races its xp and its purchase, in ${ROUNDS} rounds`, async () => {
    const outcomes = new Set<string>()
    for (const round of times(ROUNDS, (index) => index)) {
      const player = await cluster.world.player('season', { gems: BigInt(PRICE) })
      const [xp, purchase, claim] = await together(3, (index) => {
        if (index === 0) return call(round, player, XP, { ...place, amount: 100, source: 'race' })
        if (index === 1) return call(round + 1, player, PREMIUM, place, 'buy')
        return call(round + 1, player, CLAIM, { ...place, level: 2, track: 'premium' })
      })
      expect([xp?.body.level, purchase?.body.success]).toEqual([2, true])
      const { claims } = await books(player)
      outcomes.add(claim?.body.success ? 'granted' : claim?.body.error)
      expect(claims).toBe(claim?.body.success ? 1 : 0)
      if (claims === 1) expect(await earnedFirst(player)).toBe(true)
    }
    for (const outcome of outcomes) expect(['granted', 'level not reached', 'premium required']).toContain(outcome)
  })

  it(`show no deadlock to ${CLAIMERS} workers that claim all tiers in opposite orders`, async () => {
    const players = await Promise.all(times(4, () => cluster.world.player('season', { gems: BigInt(PRICE) })))
    for (const player of players) {
      await call(0, player, XP, { ...place, amount: 400, source: 'race' })
      await call(0, player, PREMIUM, place, 'buy')
    }
    const tiers = times(5, (level) => level + 1).flatMap((level) =>
      ['free', 'premium'].map((track) => ({ level, track })),
    )
    await together(CLAIMERS, async (worker) => {
      const order = worker % 4 < 2 ? tiers : tiers.toReversed()
      for (const claim of order) {
        for (const player of worker % 8 < 4 ? players : players.toReversed()) {
          const { status, body } = await call(worker, player, CLAIM, { ...place, ...claim })
          expect([status, body.success]).toEqual([200, true])
        }
      }
    })
    for (const player of players) expect(await books(player)).toMatchObject({ claims: tiers.length })
  })
})

describe('wallets under load', () => {
  it('equal their ledgers in every read, while connections break and answers are lost', async () => {
    const { pool, publish, player: newPlayer } = cluster.world
    const passes = times(BANK_CALLS, (index) => `pass-${index}`)
    await publish(
      'bank',
      scenario(
        passes.map((id) => passNode(id)),
        [],
      ),
    )
    const funds = PRICE * 60
    const players = await Promise.all(times(BANK_PLAYERS, () => newPlayer('bank', { gems: BigInt(funds) })))
    let over = false
    let acknowledged = 0
    let reads = 0
    const reading = (async () => {
      while (!over) {
        const { rows } = await pool.query(
          `SELECT w.player_id, w.currency, w.balance, (SELECT sum(amount) FROM wallet_ledger l
             WHERE (l.environment_id, l.player_id, l.currency) = (w.environment_id, w.player_id, w.currency)) AS ledger
           FROM wallets w WHERE w.player_id = ANY($1) AND (w.balance < 0 OR w.balance <> (SELECT sum(amount)
             FROM wallet_ledger l WHERE (l.environment_id, l.player_id, l.currency) = (w.environment_id, w.player_id, w.currency)))`,
          [players.map(({ playerId }) => playerId)],
        )
        expect(rows).toEqual([])
        reads += 1
        await pause(10)
      }
    })()
    const breaking = breakConnections(
      cluster,
      'all',
      new Random(SEED),
      () => over,
      () => undefined,
      () => acknowledged,
    )
    let bought = 0
    const working = together(BANK_WORKERS, async (worker) => {
      const random = new Random(SEED + worker)
      for (const index of times(BANK_CALLS, (step) => step)) {
        const player = random.one(players)
        const nodeId = random.one(passes)
        const key = `${worker} ${index}`
        const answer = await insist(worker, player, PREMIUM, { scenarioId: 'bank', nodeId }, key)
        if ((answer as { success: boolean }).success) bought += 1
        await insist(worker, player, XP, { scenarioId: 'bank', nodeId, amount: 1, source: 'bank' }, key)
        await insist(worker, player, CLAIM, { scenarioId: 'bank', nodeId, level: 1, track: 'premium' }, key)
        acknowledged += 1
      }
    })
    try {
      await working
    } finally {
      over = true
      await breaking
      await reading
    }
    await cluster.quiet()
    await until('the services are ready again', async () => {
      const answers = await Promise.all(cluster.instances.map(({ service }) => fetch(`${service.baseUrl}/readyz`)))
      return answers.every(({ status }) => status === 200)
    })
    expect(reads).toBeGreaterThan(0)
    const { rows } = await pool.query<{ gems: number; spent: number }>(
      `SELECT sum(balance)::int AS gems, (SELECT count(*)::int FROM wallet_ledger
         WHERE reason = 'premium_purchase' AND player_id = ANY($1)) * $2::int AS spent
       FROM wallets WHERE currency = 'gems' AND player_id = ANY($1)`,
      [players.map(({ playerId }) => playerId), PRICE],
    )
    expect(rows).toEqual([{ gems: BANK_PLAYERS * funds - bought * PRICE, spent: bought * PRICE }])
    const { status } = await call(0, players[0] as WorldPlayer, PROGRESS, { scenarioId: 'bank', nodeId: 'pass-0' })
    expect(status).toBe(200)
  })
})
