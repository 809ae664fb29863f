import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createPlatformKey } from '../../src/callers/keys.ts'
import type { Source } from '../../src/db/replica.ts'
import { inSnapshot } from '../../src/db/transaction.ts'
import { season } from '../harness/definitions.ts'
import { type Instance, startInstance } from '../harness/game.ts'
import { createWorld, type World } from '../harness/service.ts'
import { execute } from '../harness/sql.ts'
import { type Standby, startStandby } from '../harness/standby.ts'
import { type SystemPostgres, startSystemPostgres, withoutSystemPostgres } from '../harness/system-postgres.ts'
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

const NAME = 'tierway_replica'
const MAX_AGE_SECONDS = 3
const LIST = `query ($status: PlayerStatus) {
  players(environment: "production", filter: { status: $status }) { asOf totalCount nodes { playerId } }
}`
const FIGURES = `query {
  battlePassInsight(environment: "production", scenarioId: "season", nodeId: "pass") { asOf days { players } levels { level } }
  loginStatistics(environment: "production") { asOf total { logins } }
  callStatistics(environment: "production") { asOf calls }
}`
const PREVIEW = `query ($definition: String!) {
  previewScenario(input: { environment: "production", scenarioId: "season", definition: $definition }) { asOf valid }
}`
const BOOST = '{ previewBoost(environment: "production", percent: 100) { asOf players } }'
const BAN = `mutation ($id: ID!) { banPlayer(input: { playerId: $id, reason: "test" }) { player { id } } }`

describe.skipIf(withoutSystemPostgres !== '')(`${withoutSystemPostgres}a read replica`, () => {
  let primary: SystemPostgres
  /** Between the standby and the primary. */
  let stream: TcpProxy
  /** Between the service and the standby. */
  let link: TcpProxy
  let standby: Standby
  let world: World
  let service: Instance
  let key: string
  let otherKey: string
  let projectId: string

  beforeAll(async () => {
    primary = await startSystemPostgres(NAME)
    world = await createWorld(primary.url)
    await world.publish('season', season())
    const { rows } = await world.pool.query('SELECT project_id FROM environments')
    projectId = rows[0].project_id
    key = (await createPlatformKey(world.pool, projectId, 'admin')).key
    otherKey = (await createPlatformKey(world.pool, projectId, 'admin')).key
    stream = await startTcpProxy(() => `tcp://127.0.0.1:${primary.port}`)
    standby = await startStandby(NAME, stream.port)
    link = await startTcpProxy(() => standby.url.replace('postgres:', 'tcp:'))
    const url = new URL(standby.url)
    url.port = String(link.port)
    service = await startInstance(primary.url, {
      ...world.env,
      DATABASE_REPLICA_URL: url.href,
      REPLICA_MAX_AGE: String(MAX_AGE_SECONDS),
    })
  })
  afterAll(async () => {
    await service?.stop()
    await link?.close()
    await standby?.stop()
    await stream?.close()
    await world?.close()
    await primary?.stop()
  })

  async function ask(query: string, variables: object = {}, token = key) {
    const answer = await fetch(`${service.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
    const { data, errors } = (await answer.json()) as { data: any; errors?: unknown }
    expect(errors).toBeUndefined()
    return data
  }

  /** The reads since the last call, by place and reason. */
  let before: Readonly<Record<string, number>> = {}
  async function reads(): Promise<Record<string, number>> {
    const { values } = await service.app.metrics.replicaReads.get()
    const now = Object.fromEntries(
      values.map(({ labels, value }) => [`${labels.place} ${labels.reason}`.trim(), value]),
    )
    const grown = Object.entries(now).map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
    before = now
    return Object.fromEntries(grown.filter(([, value]) => value > 0))
  }

  /** Waits until a list is read there. */
  const untilReadsAre = (where: string) =>
    until(`lists are read: ${where}`, async () => {
      await reads()
      await ask(LIST)
      return Object.keys(await reads()).join() === where
    })

  it('serves lists, figures, exports and previews, and each answer says how old it can be', async () => {
    await world.player('season')
    await untilReadsAre('replica')
    await until('the replica has the player', async () => (await ask(LIST)).players.totalCount === 1)
    await reads()
    const started = Date.now()
    const { players } = await ask(LIST)
    const figures = await ask(FIGURES)
    const { previewScenario } = await ask(PREVIEW, { definition: print(season()) })
    const { previewBoost } = await ask(BOOST)
    const exported = await fetch(
      `${service.baseUrl}/platform/v1/projects/${projectId}/players.ndjson?environment=production`,
      { headers: { authorization: `Bearer ${key}` } },
    )
    expect([exported.status, (await exported.text()).trim().split('\n')]).toEqual([200, [expect.anything()]])
    expect(Object.keys(await reads())).toEqual(['replica'])
    const times = [players, ...Object.values<{ asOf: string }>(figures), previewScenario, previewBoost].map(
      ({ asOf }) => asOf,
    )
    times.push(exported.headers.get('tierway-as-of') ?? '')
    expect(times).toHaveLength(7)
    for (const asOf of times) {
      expect(Date.parse(asOf)).toBeLessThan(Date.now())
      expect(Date.parse(asOf)).toBeGreaterThan(started - (MAX_AGE_SECONDS + 1) * 1000)
    }
  })

  it('is not used for a list after a change by the same key, until it has the change', async () => {
    const { playerId } = await world.player('season')
    await untilReadsAre('replica')
    await execute(standby.url, 'SELECT pg_wal_replay_pause()')
    try {
      await ask(BAN, { id: playerId })
      const listed = async (token: string) => (await ask(LIST, { status: 'BANNED' }, token)).players.totalCount
      expect(await listed(key)).toBe(1)
      expect(Object.keys(await reads())).toContain('primary own_change')
    } finally {
      await execute(standby.url, 'SELECT pg_wal_replay_resume()')
    }
    await untilReadsAre('replica')
    expect((await ask(LIST, { status: 'BANNED' }, otherKey)).players.totalCount).toBe(1)
  })

  it('is not used while it is older than REPLICA_MAX_AGE: paused, or cut off from the primary', async () => {
    const faults = {
      paused: [
        () => execute(standby.url, 'SELECT pg_wal_replay_pause()'),
        () => execute(standby.url, 'SELECT pg_wal_replay_resume()'),
      ],
      'cut off': [async () => stream.cut({ refuse: true }), async () => stream.restore()],
      'cut off without a word': [async () => stream.pause(), async () => stream.resume()],
    } as const
    for (const [name, [begin, end]] of Object.entries(faults)) {
      await untilReadsAre('replica')
      await begin()
      try {
        const { playerId } = await world.player('season')
        await untilReadsAre('primary old')
        const { nodes, asOf } = (await ask(LIST)).players
        expect([name, nodes.map((node: { playerId: string }) => node.playerId).includes(playerId)]).toEqual([
          name,
          true,
        ])
        expect(Date.parse(asOf)).toBeGreaterThan(Date.now() - 60_000)
        expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200)
        const age = await service.app.metrics.registry.getSingleMetricAsString('tierway_replica_age_seconds')
        expect(Number(age.trim().split(' ').at(-1))).toBeGreaterThan(MAX_AGE_SECONDS)
      } finally {
        await end()
      }
    }
    await untilReadsAre('replica')
  })

  it('fails no read when it is unreachable, frozen or dead, and serves again when it is back', async () => {
    const faults = {
      unreachable: [async () => link.cut({ refuse: true }), async () => link.restore()],
      frozen: [async () => link.pause(), async () => link.resume()],
      dead: [() => standby.kill(), () => standby.start()],
    } as const
    for (const [name, [begin, end]] of Object.entries(faults)) {
      await untilReadsAre('replica')
      await begin()
      try {
        // The first ones begin on the replica.
        await Promise.all(Array.from({ length: 4 }, () => ask(LIST)))
        expect([name, Object.keys(await reads())]).toEqual([name, expect.arrayContaining(['primary failed'])])
        await untilReadsAre('primary failed')
        expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200)
      } finally {
        await end()
      }
    }
    await untilReadsAre('replica')
  })

  it('repeats a read on the primary that replay has ended', async () => {
    await untilReadsAre('replica')
    await world.pool.query('CREATE TABLE gone AS SELECT 1 AS row')
    await until('the replica has the table', () =>
      execute(standby.url, 'SELECT FROM gone').then(
        () => true,
        () => false,
      ),
    )
    const places: string[] = []
    const work = ({ pool }: Source) =>
      inSnapshot(pool, async (client) => {
        const { rows } = await client.query('SELECT pg_is_in_recovery() AS is_standby, (SELECT count(*) FROM gone)')
        places.push(rows[0].is_standby ? 'replica' : 'primary')
        if (!rows[0].is_standby) return
        const reading = client.query('SELECT pg_sleep(3)').catch((error) => error)
        await world.pool.query('DELETE FROM gone')
        await world.pool.query('VACUUM gone')
        const error = await reading
        expect(error.code).toBe('40001')
        throw error
      })
    await service.app.service.reads.reader('a key').read(work)
    expect(places).toEqual(['replica', 'primary'])
  })

  it('does not repeat a read that took too long', async () => {
    await untilReadsAre('replica')
    const places: boolean[] = []
    const reading = service.app.service.reads.reader('a key').read(async ({ pool }) => {
      const { rows } = await pool.query('SELECT pg_is_in_recovery() AS is_standby')
      places.push(rows[0].is_standby)
      await pool.query("DO $$ BEGIN RAISE EXCEPTION 'too long' USING ERRCODE = '57014'; END $$")
    })
    await expect(reading).rejects.toThrow('too long')
    expect(places).toEqual([true])
  })

  it('is not used once it was promoted', async () => {
    await untilReadsAre('replica')
    await execute(standby.url, 'SELECT pg_promote()')
    await untilReadsAre('primary failed')
    const { playerId } = await world.player('season')
    const { nodes } = (await ask(LIST)).players
    expect(nodes.map((node: { playerId: string }) => node.playerId).includes(playerId)).toBe(true)
  })
})
