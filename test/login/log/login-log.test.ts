import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { purgeFirstLogins } from '../../../src/accounts/login/log/login-log.ts'
import { type GraphqlAnswer, startGame, times } from '../../harness/game.ts'
import { until } from '../../harness/until.ts'
import {
  by,
  during,
  expectUntouched,
  game,
  newSubject,
  operator,
  playerOf,
  query,
  startLogins,
  stopLogins,
} from '../logins.ts'

beforeAll(startLogins)
afterAll(stopLogins)

describe('the log of logins', () => {
  const LOG = `query (
      $environment: String!, $provider: String, $subject: String, $playerId: ID, $first: Int, $after: String
    ) { loginLog(
      environment: $environment, provider: $provider, subject: $subject, playerId: $playerId, first: $first, after: $after
    ) {
      edges { cursor node {
        id occurredAt operation provider subject playerId outcome milliseconds attempts { status milliseconds error excerpt }
      } }
      pageInfo { hasNextPage endCursor }
    } }`
  const read = async (variables: Record<string, unknown>, key = game.platformKey) =>
    game.graphql(key, LOG, { environment: 'production', ...variables })
  const nodes = ({ data }: GraphqlAnswer) => data.loginLog.edges.map(({ node }: { node: unknown }) => node)
  const attempt = (status: number | null, more: object = {}) => ({
    ...{ status, milliseconds: expect.any(Number), error: null, cause: null, excerpt: null, replacedSecrets: 0 },
    ...more,
  })

  it('is joined by a service log warning with request id and cause when the webhook is unreachable', async () => {
    const told: Record<string, unknown>[] = []
    const alone = await startGame({}, pino({ level: 'warn' }, { write: (line) => told.push(JSON.parse(line)) }))
    try {
      await alone.setProviders({ default: { enabled: true, url: 'http://127.0.0.1:9/login', secret: 'secret' } })
      const { body } = await alone.login({})
      expect(told.find(({ requestId }) => requestId === body.requestId)).toMatchObject({
        level: 40,
        path: '/sdk/v1/authorization/custom',
        msg: 'custom auth unavailable',
        project: alone.projectId,
        environment: alone.environmentId,
        provider: 'default',
        cause: 'refused',
      })
    } finally {
      await alone.stop()
    }
  })

  it('has a row for each login and link that reached a provider, with outcome and attempts (contract 7.1)', async () => {
    const [subject, taken] = [newSubject(), newSubject()]
    const owner = playerOf(await game.login(by(taken)))
    const last = async () => {
      const [row] = await query('SELECT * FROM login_log ORDER BY id DESC LIMIT 1')
      return { ...row, attempts: JSON.parse(row.attempts) }
    }
    const row = (more: Record<string, unknown>) => ({
      environment_id: game.environmentId,
      id: expect.stringMatching(/^[\da-f-]{36}$/),
      created_at: expect.any(Date),
      operation: 'login',
      provider: 'default',
      subject: null,
      player_id: null,
      outcome: 'ok',
      milliseconds: expect.any(Number),
      attempts: [attempt(200)],
      notes: '[]',
      ...more,
    })

    const playerId = playerOf(await game.login(by(subject)))
    expect(await last()).toEqual(row({ subject, player_id: playerId }))
    await game.login(by(subject), { provider: 'steam' })
    expect(await last()).toMatchObject({ provider: 'steam', subject, outcome: 'ok' })

    await game.login({ status: 403 })
    expect(await last()).toEqual(
      row({ outcome: 'custom_auth_rejected', attempts: [attempt(403, { cause: expect.any(String), excerpt: '{}' })] }),
    )
    await game.login({ answer: { subject: '' } })
    const empty = { cause: 'subject: must be 1 to 255 characters', excerpt: '{"subject":"…"}' }
    expect(await last()).toEqual(row({ outcome: 'custom_auth_invalid_response', attempts: [attempt(200, empty)] }))
    await game.login(by(subject, { data: { '': 1 } }))
    expect(await last()).toMatchObject({
      outcome: 'custom_auth_invalid_data',
      attempts: [
        attempt(200, { cause: 'data.: the key must have 1 to 128 characters', excerpt: '{"subject":"…","data":{…' }),
      ],
    })
    const failed = { cause: 'status 500: the endpoint failed', excerpt: '{}' }
    await game.login({ status: 500 })
    expect(await last()).toEqual(
      row({ outcome: 'custom_auth_unavailable', attempts: times(3, () => attempt(500, failed)) }),
    )
    await game.login({}, { provider: 'gone' })
    expect(await last()).toEqual(
      row({
        provider: 'gone',
        outcome: 'custom_auth_unavailable',
        attempts: times(3, () => attempt(null, { error: 'refused' })),
      }),
    )

    const player = await game.player()
    const mine = { operation: 'link', player_id: player.playerId }
    await game.link(player.token, by(taken))
    expect(await last()).toEqual(row({ ...mine, subject: taken, outcome: 'identity_already_linked' }))
    const linked = newSubject()
    await game.link(player.token, by(linked))
    expect(await last()).toEqual(row({ ...mine, subject: linked }))

    await query(`UPDATE players SET status = 'banned' WHERE id = $1`, [owner])
    await game.login(by(taken))
    expect(await last()).toEqual(row({ subject: taken, player_id: owner, outcome: 'player_banned' }))

    await expectUntouched(async () => {
      await game.login({}, { provider: 'off' })
      await game.login({}, { provider: 'unknown' })
      await game.login('[]')
      await game.login({}, { sdkKey: null })
    })
  })

  it('records how long the webhook took', async () => {
    const subject = newSubject()
    let started = 0
    const gate = during(async () => {
      started = performance.now()
      await until('some time has passed', () => performance.now() - started > 50)
    })
    playerOf(await game.login(by(subject, {}, gate)))
    const [{ milliseconds, attempts }] = await query('SELECT * FROM login_log WHERE subject = $1', [subject])
    expect(milliseconds).toBeGreaterThanOrEqual(50)
    expect(JSON.parse(attempts)).toEqual([{ ...attempt(200), milliseconds }])
  })

  it("contains no secret, no customData and no profile or data of the webhook's answer", async () => {
    const secrets = times(8, () => randomUUID())
    const [ticket = '', key = '', nickname = '', avatar = '', name = '', value = '', refused = '', client = ''] =
      secrets
    const subject = newSubject()
    const said = { nickname, avatarUrl: `https://x.example/${avatar}`, data: { [name]: value } }
    playerOf(await game.login({ ...by(subject, said), [key]: ticket }, { nickname: client }))
    await game.login({ status: 401, [key]: refused })
    await game.login({ answer: { subject: '', nickname, data: { [name]: value } }, [key]: refused })
    await game.login({ ...by(subject, { ...said, data: { [name]: value, '': 1 } }), [key]: ticket })
    const rows = await query('SELECT l::text AS row FROM login_log l')
    const log = rows.map(({ row }) => row).join('\n')
    expect(log).toContain(subject)
    for (const secret of [...secrets, operator.secret, game.sdkKey, operator.url, 'twrt_'])
      expect(log).not.toContain(secret)
  })

  it('lists the latest first, filtered by provider, subject, player and environment, page by page', async () => {
    const [subject, second] = [newSubject(), newSubject()]
    const playerId = playerOf(await game.login(by(subject)))
    for (const _ of times(4, () => 0)) await game.login(by(subject))
    await game.login(by(subject), { provider: 'steam' })
    await game.login(by(second))

    const found = nodes(await read({ subject, provider: 'default' }))
    expect(found).toHaveLength(5)
    expect(found[0]).toEqual({
      id: expect.any(String),
      occurredAt: expect.stringMatching(/^\d{4}-.*Z$/),
      operation: 'LOGIN',
      provider: 'default',
      subject,
      playerId,
      outcome: 'OK',
      milliseconds: expect.any(Number),
      attempts: [{ status: 200, milliseconds: expect.any(Number), error: null, excerpt: null }],
    })
    const ids = found.map(({ id }: { id: string }) => id)
    expect(ids).toEqual([...ids].sort().reverse())
    expect(nodes(await read({ subject }))).toHaveLength(6)
    expect(nodes(await read({ playerId }))).toEqual(found)
    expect(nodes(await read({ subject, provider: 'steam' }))).toHaveLength(1)
    expect(nodes(await read({ subject, environment: 'staging' }))).toEqual([])
    expect(nodes(await read({ first: 1 }))).toMatchObject([{ subject: second }])

    const paged: unknown[] = []
    let after: string | null = null
    for (let more = true; more; ) {
      const page: GraphqlAnswer = await read({ subject, provider: 'default', first: 2, after })
      paged.push(...nodes(page))
      const { hasNextPage, endCursor } = page.data.loginLog.pageInfo
      after = endCursor
      more = hasNextPage
    }
    expect(paged).toEqual(found)
  })

  it('keeps its rows for thirty days', async () => {
    const subjects = [newSubject(), newSubject(), newSubject()]
    for (const subject of subjects) await game.login(by(subject))
    const age = (subject: string | undefined, days: string) =>
      query('UPDATE login_log SET created_at = now() - $2::interval WHERE subject = $1', [subject, days])
    await age(subjects[0], '30 days 1 minute')
    await age(subjects[1], '29 days 23 hours')
    const before = await query('SELECT id FROM login_log')
    expect(await purgeFirstLogins(game.app.pool)).toBe(1)
    expect(await purgeFirstLogins(game.app.pool)).toBe(0)
    expect(await query('SELECT id FROM login_log')).toHaveLength(before.length - 1)
    for (const [index, subject] of subjects.entries())
      expect(await query('SELECT id FROM login_log WHERE subject = $1', [subject])).toHaveLength(index === 0 ? 0 : 1)
  })
})
