import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlayer } from '../../src/players/create-player.ts'
import { type Game, startGame, startInstance } from '../harness/game.ts'
import { startProxy } from '../harness/proxy.ts'
import { execute } from '../harness/sql.ts'
import { until } from '../harness/until.ts'
import { auditRows, newOperator, type Operator } from '../support/desk.ts'

// The export of players: lines of JSON, produced while they are sent.

/** More than socket buffers hold, so that the end is not produced before the client reads the beginning. */
const CROWD = 20_000

let game: Game
let operator: Operator

beforeAll(async () => {
  game = await startGame()
  operator = await newOperator(game.app.pool, game.projectId)
  await execute(
    game.databaseUrl,
    `INSERT INTO players (environment_id, id, nickname, avatar_url)
     SELECT $1, (lpad(to_hex(n), 12, '0') || '7000a000000000000000')::uuid, NULL, repeat('x', 1500) FROM generate_series(1, $2::int) n`,
    [game.stagingId, CROWD],
  )
})
afterAll(() => game?.stop())

const pathOf = (asked: Record<string, string>, projectId = game.projectId) =>
  `/platform/v1/projects/${projectId}/players.ndjson?${new URLSearchParams(asked)}`

async function get(asked: Record<string, string>, key = operator.key, projectId = game.projectId) {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(game.baseUrl + pathOf(asked, projectId), { headers })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** Begins an export of the crowd, and waits for its first bytes. */
async function begin(key: string, baseUrl = game.baseUrl): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${key}` }
  const call = request(baseUrl + pathOf({ environment: 'staging' }), { headers }).end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  await once(response, 'readable')
  return response
}

/** Reads the remaining lines, and whether the response is complete. */
async function rest(response: IncomingMessage): Promise<{ lines: number; isWhole: boolean }> {
  let lines = 0
  try {
    for await (const chunk of response) lines += chunk.toString().split('\n').length - 1
  } catch {
    return { lines, isWhole: false }
  }
  return { lines, isWhole: response.complete }
}

describe('an export of players', () => {
  it('has a line for each player of the list, newest first, and is in the audit log', async () => {
    const { pool, service } = game.app
    const ids: string[] = []
    for (const nickname of ['Ann', 'Hannah', 'Bob', null])
      ids.push((await service.run(createPlayer(game.environmentId, nickname))).playerId)
    await pool.query(
      `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp, level, premium_owned)
       VALUES ($1, $2, 'season', 'pass', 9223372036854775807, 4, true)`,
      [game.environmentId, ids[1]],
    )
    await pool.query("INSERT INTO identities VALUES ($1, 'custom', 's-1', $2), ($1, 'custom:a', 's-2', $2)", [
      game.environmentId,
      ids[1],
    ])
    await pool.query("INSERT INTO last_logins VALUES ($1, $2, '2026-11-20T10:00:00.25Z')", [game.environmentId, ids[1]])
    const { status, type, text } = await get({ environment: 'production' })
    expect([status, type]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
    expect(linesOf(text).map(({ playerId }) => playerId)).toEqual([...ids].reverse())

    const asked = { environment: 'production', search: 'ANN', scenarioId: 'season', nodeId: 'pass', reason: 'mail' }
    const found = (await get(asked)).text
    expect(found).toContain('"xp":9223372036854775807')
    expect(linesOf(found)).toEqual([
      {
        playerId: ids[1],
        status: 'active',
        nickname: 'Hannah',
        ...{ avatarUrl: null, region: null, language: null },
        createdAt: expect.any(String),
        lastLoginAt: '2026-11-20T10:00:00.250Z',
        identities: [
          { provider: 'custom', subject: 's-1' },
          { provider: 'custom:a', subject: 's-2' },
        ],
        ...{ level: 4, xp: expect.any(Number), premiumOwned: true },
      },
      expect.objectContaining({ playerId: ids[0], level: null, xp: null, premiumOwned: null }),
    ])
    expect(linesOf((await get({ ...asked, premium: 'true' })).text)).toHaveLength(1)
    expect((await auditRows(pool, game.projectId, 'production')).slice(0, 2)).toEqual([
      expect.objectContaining({ action: 'players.export', actor: operator.actor, after: {}, reason: null }),
      expect.objectContaining({
        environmentId: game.environmentId,
        after: { search: 'ANN', scenarioId: 'season', nodeId: 'pass' },
        reason: 'mail',
      }),
    ])
  })

  it.each([
    ['stauts=banned', 'stauts', 'is unknown; did you mean status?'],
    ['status=banned&status=active', 'status', 'must be given once'],
  ])('is refused with a misspelt or repeated filter: %s', async (query, path, message) => {
    const url = `${game.baseUrl}/platform/v1/projects/${game.projectId}/players.ndjson?environment=production&${query}`
    const response = await fetch(url, { headers: { authorization: `Bearer ${operator.key}` } })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ details: [{ path, message }] })
  })

  it('is refused with every fault at once, to viewers and in other projects; denied exports are in the audit log', async () => {
    const { pool, projectId } = { pool: game.app.pool, projectId: game.projectId }
    const refused = await get({
      createdFrom: '2026',
      levelFrom: 'x',
      premium: 'yes',
      lastLoginTo: '2026-02-30T00:00:00Z',
    })
    const paths = JSON.parse(refused.text).details.map(({ path }: { path: string }) => path)
    expect([refused.status, paths.sort()]).toEqual([
      400,
      ['createdFrom', 'environment', 'lastLoginTo', 'levelFrom', 'nodeId', 'premium', 'scenarioId'],
    ])
    expect((await get({ environment: 'nowhere' })).status).toBe(404)
    const viewer = await newOperator(pool, projectId, 'viewer')
    expect((await get({ environment: 'production' }, viewer.key)).status).toBe(403)
    expect((await get({ environment: 'production' }, operator.key, game.environmentId)).status).toBe(403)
    const { rows } = await pool.query("SELECT actor FROM audit_log WHERE action = 'players.export.denied' ORDER BY id")
    expect(rows.map(({ actor }) => actor)).toEqual([viewer.actor, operator.actor])
  })

  it('is complete for twenty thousand players', async () => {
    const response = await begin(operator.key)
    const { lines, isWhole } = await rest(response)
    expect([lines, isWhole]).toEqual([CROWD, true])
  })

  it('is incomplete when its key is revoked, its operator token expires or a page cannot be read', async () => {
    const { pool } = game.app
    const { caller, key } = await newOperator(pool, game.projectId)
    const revoked = await begin(key)
    await pool.query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [caller.keyId])
    expect((await rest(revoked)).isWhole).toBe(false)

    const { token } = await game.app.tokens.issueOperatorToken({ ...operator.caller, actor: 'ann', seconds: 2 })
    const expired = await begin(token)
    await until('the token has expired', async () => (await get({ environment: 'production' }, token)).status === 401)
    expect((await rest(expired)).isWhole).toBe(false)

    const broken = await begin(operator.key)
    await pool.query('ALTER TABLE last_logins RENAME TO lost_logins')
    try {
      expect((await rest(broken)).isWhole).toBe(false)
    } finally {
      await pool.query('ALTER TABLE lost_logins RENAME TO last_logins')
    }
  })

  it('is incomplete when Postgres becomes unreachable, and a later export is complete', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, {})
    try {
      const broken = await begin(operator.key, instance.baseUrl)
      proxy.cut({ refuse: true })
      const { lines, isWhole } = await rest(broken)
      expect([lines > 0, lines < CROWD, isWhole]).toEqual([true, true, false])
      proxy.restore()
      expect(await rest(await begin(operator.key, instance.baseUrl))).toEqual({ lines: CROWD, isWhole: true })
    } finally {
      await instance.stop()
      await proxy.close()
    }
  })

  it('leaves the service available when its client disconnects', async () => {
    const response = await begin(operator.key)
    response.destroy()
    expect((await get({ environment: 'production' })).status).toBe(200)
  })
})
