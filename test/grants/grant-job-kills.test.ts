import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { auditBooks } from '../harness/audit.ts'
import { type Service, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

const PLAYERS = 6_000
const KILLS = 4
/** Far below the time that the players take. */
const MOST_MS = 250

let world: World
const services: Service[] = []

beforeAll(async () => {
  world = await openWorld()
})
afterAll(async () => {
  await Promise.all(services.map(stopService))
  await world?.close()
})

interface Row {
  readonly state: string
  readonly granted: number
  readonly failed: number
  readonly isHeld: boolean
}

async function readJob(): Promise<Row> {
  const { rows } = await world.pool.query<Row>(
    `SELECT state, granted, failed, holder IS NOT NULL AND held_until > clock_timestamp() AS "isHeld" FROM grant_jobs`,
  )
  return rows[0] as Row
}

describe('a grant job whose instance is killed again and again (docs/grants.md, How it goes)', () => {
  it('goes on in the next instance, and gives each player its gold and its item once', async () => {
    const { pool, environmentId } = world
    await pool.query(
      `INSERT INTO players (environment_id, id)
       SELECT $1, (lpad(to_hex(n), 12, '0') || '7000a000000000000000')::uuid FROM generate_series(1, ${PLAYERS}) n`,
      [environmentId],
    )
    const { rows } = await pool.query<{ projectId: string }>(
      'SELECT project_id AS "projectId" FROM environments WHERE id = $1',
      [environmentId],
    )
    const { key } = await createPlatformKey(pool, rows[0]?.projectId ?? '', 'admin')
    const document = `mutation ($input: CreateGrantJobInput!) { createGrantJob(input: $input) { job { jobId } } }`
    const input = {
      ...{ environment: 'production', to: { filter: {} }, reason: 'test', idempotencyKey: 'killed', allowNew: true },
      give: {
        rewards: [
          { currency: 'gold', amount: '7' },
          { itemId: 'sword', amount: '1' },
        ],
      },
    }
    services.push(await startService(world.env))
    const answer = await fetch(`${services[0]?.baseUrl}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: document, variables: { input } }),
    })
    expect(await answer.json()).toEqual({ data: { createGrantJob: { job: { jobId: expect.any(String) } } } })

    let kills = 0
    while (kills < KILLS && (await readJob()).state !== 'done') {
      const next = startService(world.env)
      await until('an instance holds the job', async () => {
        const { isHeld, state } = await readJob()
        return isHeld || state === 'done'
      })
      await new Promise((resolve) => setTimeout(resolve, Math.random() * MOST_MS))
      await stopService(services.pop())
      kills += 1
      // Its hold would lapse by itself, half a minute later.
      await pool.query('UPDATE grant_jobs SET held_until = clock_timestamp()')
      services.push(await next)
    }
    expect(kills).toBeGreaterThan(1)
    await until('the job is done', async () => (await readJob()).state === 'done')
    await until('the job is released', async () => !(await readJob()).isHeld)
    expect(await readJob()).toMatchObject({ state: 'done', granted: PLAYERS, failed: 0 })
    const { rows: held } = await pool.query(
      `SELECT count(DISTINCT w.player_id)::int AS players, sum(w.balance)::int AS gold,
         (SELECT sum(amount)::int FROM inventory) AS swords, (SELECT count(*)::int FROM wallet_ledger) AS rows
       FROM wallets w WHERE currency = 'gold'`,
    )
    expect(held).toEqual([{ players: PLAYERS, gold: 7 * PLAYERS, swords: PLAYERS, rows: PLAYERS }])
    await auditBooks(pool)
  })
})
