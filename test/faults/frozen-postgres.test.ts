import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditBooks } from '../harness/audit.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { type Cluster, startCluster } from '../harness/linearizability/cluster.ts'
import { post, type Service, type ServiceAnswer, type WorldPlayer } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'

const XP = '/sdk/v1/battlepass/xp'
const METRICS_TOKEN = 'a-token-for-the-metrics-of-this-test'
const PLAYERS = 100
const FROZEN_MS = 20_000
/** That of an instance without the variable. */
const DEADLINE_MS = 5_000
/** More than the deadline, for a busy machine, and less than the time for which Postgres is frozen. */
const MAX_WAIT_MS = 15_000
const MAX_GROWTH_BYTES = 100 * 2 ** 20

let cluster: Cluster

beforeAll(async () => {
  cluster = await startCluster({ env: { METRICS_TOKEN, CALL_DEADLINE_MS: String(DEADLINE_MS) } })
  await cluster.world.publish('season', season())
})
afterAll(async () => {
  await auditBooks(cluster.world.pool)
  await cluster.close()
})

const addXp = (service: Service, { runId, token }: WorldPlayer, key: string): Promise<ServiceAnswer> => {
  const body = { scenarioId: 'season', nodeId: 'pass', runId, amount: 1, source: 'frozen' }
  return post(service, XP, token, body, { 'idempotency-key': key })
}

async function memoryOf({ baseUrl }: Service): Promise<number> {
  const response = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(await response.text())?.[1])
}

const isReady = async ({ baseUrl }: Service): Promise<boolean> => (await fetch(`${baseUrl}/readyz`)).status === 200

describe('a service whose Postgres is frozen for twenty seconds', () => {
  it('answers every call within its deadline, in bounded memory, and counts a repeat with its key once', async () => {
    const [{ service, proxy }] = cluster.instances
    const players = await Promise.all(times(PLAYERS, () => cluster.world.player('season')))
    for (const player of players) expect((await addXp(service, player, 'before')).status).toBe(200)
    const before = await memoryOf(service)

    proxy.pause()
    const elapsed = startStopwatch()
    let unavailable = 0
    const calls = await Promise.all(
      players.map(async (player) => {
        let count = 0
        while (elapsed() < FROZEN_MS) {
          const waited = startStopwatch()
          const { status, body } = await addXp(service, player, `frozen ${count}`)
          expect([status, body.code]).toEqual([503, 'unavailable'])
          expect(waited()).toBeLessThan(MAX_WAIT_MS)
          unavailable += 1
          count += 1
        }
        return count
      }),
    )
    expect(unavailable).toBeGreaterThan(PLAYERS)
    expect(await isReady(service)).toBe(false)
    expect((await fetch(`${service.baseUrl}/livez`)).status).toBe(200)
    const listed = await post(service, '/graphql', players[0]?.token ?? '', { query: '{ me { wallet { balance } } }' })
    expect(listed.body.errors[0].extensions.code).toBe('UNAVAILABLE')
    expect((await memoryOf(service)) - before).toBeLessThan(MAX_GROWTH_BYTES)
    proxy.resume()

    await until('the service is ready again', () => isReady(service))
    for (const [index, player] of players.entries()) {
      for (const call of times(calls[index] ?? 0, (number) => number)) {
        await until('the repeat is acknowledged', async () => {
          return (await addXp(service, player, `frozen ${call}`)).status === 200
        })
      }
      const { body } = await addXp(service, player, 'before')
      expect(body.xp).toBe(1)
    }
    const { rows } = await cluster.world.pool.query<{ id: string; xp: number }>(
      'SELECT player_id AS id, xp::int FROM passes WHERE player_id = ANY($1)',
      [players.map(({ playerId }) => playerId)],
    )
    const expected = players.map(({ playerId }, index) => [playerId, 1 + (calls[index] ?? 0)] as const)
    expect(new Map(rows.map(({ id, xp }) => [id, xp]))).toEqual(new Map(expected))
  })
})
