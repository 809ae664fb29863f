import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { season } from '../harness/definitions.ts'
import { createWorld, post, type Service, startService, stopService, type World } from '../harness/service.ts'
import { execute } from '../harness/sql.ts'

// In production, made-up calls come before those of players, so that the first ones are not slow.

let database: TestDatabase
let world: World
let service: Service | undefined

beforeAll(async () => {
  database = await createDatabase()
  world = await createWorld(database.url)
})
afterEach(async () => {
  await stopService(service)
})
afterAll(async () => {
  await world?.close()
  await database?.drop()
})

const METRICS_TOKEN = 'the-metrics-token-of-this-test'

async function metricsOf({ baseUrl }: Service): Promise<string[]> {
  const answer = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return (await answer.text()).split('\n')
}

/** The number of rows of each table that calls write. */
async function rows(): Promise<Record<string, number>> {
  const tables = ['projects', 'environments', 'scenarios', 'players', 'runs', 'passes', 'xp_ledger', 'tier_claims']
  const others = ['wallet_ledger', 'idempotency_keys', 'insight_changes']
  const counts = [...tables, ...others].map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`)
  // The service numbers the events that were there.
  const events = '(SELECT count(*) FROM events)::int + (SELECT count(*) FROM unnumbered_events)::int AS events'
  return (await world.pool.query(`SELECT ${counts.join(', ')}, ${events}`)).rows[0]
}

describe('the warm-up', () => {
  it('leaves nothing in the database, in metrics and in the log', async () => {
    await world.publish('season', season())
    const player = await world.player('season')
    const before = await rows()
    service = await startService({ ...world.env, WARM_UP: 'true', METRICS_TOKEN })
    expect(await rows()).toEqual(before)
    expect(service.output).not.toContain('warm-up')
    const lines = await metricsOf(service)
    const counted = lines.filter((line) =>
      /^tierway_(http_requests_total.*\/sdk\/|group_commands_count.*write)/.test(line),
    )
    expect(counted.filter((line) => !line.endsWith(' 0'))).toEqual([])

    const { runId, token } = player
    const gift = { scenarioId: 'season', nodeId: 'pass', runId, amount: 150, source: 'match' }
    const answer = await post(service, '/sdk/v1/battlepass/xp', token, gift)
    expect(answer).toMatchObject({ status: 200, body: { level: 2, xp: 150, leveledUp: true } })
    expect((await metricsOf(service)).filter((line) => /^tierway_group_commands_count.*write/.test(line))).toEqual([
      'tierway_group_commands_count{kind="write"} 1',
    ])
  })

  it('is no reason not to start: without it the service starts and says so', async () => {
    // The project of the warm-up is refused.
    await execute(database.url, 'ALTER TABLE projects ADD CONSTRAINT none CHECK (false) NOT VALID')
    service = await startService({ ...world.env, WARM_UP: 'true' })
    expect(service.output).toContain('the first calls will be slow: the warm-up failed')
    expect((await fetch(`${service.baseUrl}/livez`)).status).toBe(200)
  })
})
