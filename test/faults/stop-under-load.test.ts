import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { auditBooks } from '../harness/audit.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { type Cluster, startCluster } from '../harness/linearizability/cluster.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { post, type WorldPlayer } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'

const XP = '/sdk/v1/battlepass/xp'
const PLAYERS = 16
const SOCKETS = 100
const LOGINS = 20
/** Three attempts of 3 s, two pauses, and the rest of the stop. Beyond 15 s the process ends with code 1. */
const STOP_MS = 15_000

let cluster: Cluster
let hanging: Operator

beforeAll(async () => {
  cluster = await startCluster()
  await cluster.world.publish('season', season())
  hanging = await startOperator(() => new Promise(() => {}))
})
afterAll(async () => {
  await auditBooks(cluster.world.pool)
  await cluster.close()
  await hanging.close()
})

async function openSocket(baseUrl: string, { token }: WorldPlayer): Promise<WebSocket> {
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await once(socket, 'open')
  const acknowledged = once(socket, 'message')
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }))
  await acknowledged
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'subscription { onLevelUp { xp } }' } }))
  return socket
}

describe('SIGTERM under load', () => {
  it('leads to an answer to every call, a close of 100 sockets with 1001, and a 503 to 20 hung logins', async () => {
    const { world, sdkKey, platformKey, projectId, instances } = cluster
    const [{ service }, { service: next }] = instances
    const provided = await fetch(`${service.baseUrl}/platform/v1/projects/${projectId}/auth-providers`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        environment: 'production',
        authProviders: { custom: { default: { enabled: true, url: hanging.url, secret: hanging.secret } } },
      }),
    })
    expect(provided.status).toBe(200)
    const players = await Promise.all(times(PLAYERS, () => world.player('season')))
    const [first] = players
    if (!first) throw new Error('there are no players')
    const sockets = await Promise.all(times(SOCKETS, () => openSocket(service.baseUrl, first)))
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')))

    const answered = new Map<string, number>()
    let isStopping = false
    const load = Promise.all(
      players.map(async (player, index) => {
        for (let call = 0; ; call += 1) {
          const body = { scenarioId: 'season', nodeId: 'pass', runId: player.runId, amount: 1, source: 'load' }
          const key = { 'idempotency-key': `${index} ${call}` }
          // As a load balancer does: after a refused connection the call goes to the other service.
          const answer =
            (await post(service, XP, player.token, body, key).catch(() => null)) ??
            (await post(next, XP, player.token, body, key))
          expect(answer.status).toBe(200)
          answered.set(player.playerId, (answered.get(player.playerId) ?? 0) + 1)
          if (isStopping && service.exit !== undefined) return
        }
      }),
    )
    load.catch(() => undefined)
    await Promise.race([load, until('the load has begun', () => answered.size === PLAYERS)])
    const logins = times(LOGINS, async (index) => {
      const response = await fetch(`${service.baseUrl}/sdk/v1/authorization/custom`, {
        method: 'POST',
        headers: { 'x-sdk-key': sdkKey, 'content-type': 'application/json' },
        body: JSON.stringify({ customData: { player: `hangs ${index}` } }),
      })
      return { status: response.status, body: (await response.json()) as { code: string } }
    })
    await until('all logins wait for the webhook', () => hanging.hits.length >= LOGINS)

    const elapsed = startStopwatch()
    isStopping = true
    service.kill('SIGTERM')
    for (const [code] of await closed) expect(code).toBe(1001)
    for (const { status, body } of await Promise.all(logins)) {
      expect([status, body.code]).toEqual([503, 'custom_auth_unavailable'])
    }
    expect(await service.exited).toEqual({ code: 0, signal: null })
    expect(elapsed()).toBeLessThan(STOP_MS)
    await load
    const { rows } = await world.pool.query<{ id: string; xp: number }>(
      'SELECT player_id AS id, xp::int FROM passes WHERE player_id = ANY($1)',
      [players.map(({ playerId }) => playerId)],
    )
    // A call that was sent twice counts once, because of its key.
    expect(new Map(rows.map(({ id, xp }) => [id, xp]))).toEqual(answered)
    const { rows: made } = await world.pool.query("SELECT FROM identities WHERE subject LIKE 'hangs%'")
    expect(made).toEqual([])
  })
})
