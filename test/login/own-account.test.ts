import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deletePlanned } from '../../src/accounts/login/delete-own-player.ts'
import { SECTIONS } from '../../src/players/export-player.ts'
import { passNode, scenario } from '../harness/definitions.ts'
import { type Answer, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import {
  by,
  created,
  game,
  keys,
  newSubject,
  other,
  playerOf,
  postTo,
  query,
  startLogins,
  stopLogins,
} from './logins.ts'

// The player's own say about its account: its sessions, its data and its deletion.

beforeAll(async () => {
  await startLogins()
  await game.publish('season', scenario([passNode('pass')], []))
})
afterAll(stopLogins)

const REFRESH = '/sdk/v1/authorization/refresh'
const LIST = '/sdk/v1/sessions/list'
const END = '/sdk/v1/sessions/end'
const EXPORT = '/sdk/v1/player/export'
const DELETE = '/sdk/v1/player/delete'

interface Device {
  readonly accessToken: string
  readonly refreshToken: string
  readonly sessionId: string
  readonly playerId: string
}

function deviceOf(answer: Pick<Answer, 'status' | 'body' | 'text'>): Device {
  const playerId = playerOf(answer)
  const [sessionId = ''] = (decodeJwt(answer.body.accessToken).jti ?? '').split('.')
  return { ...answer.body, playerId, sessionId }
}

const logIn = async (subject: string, deviceName?: string): Promise<Device> =>
  deviceOf(await game.login(by(subject), deviceName === undefined ? {} : { deviceName }))

const post = ({ accessToken }: Device, path: string, body: object = {}, at: { baseUrl: string } = game) =>
  postTo(at.baseUrl, path, { authorization: `Bearer ${accessToken}` }, JSON.stringify(body))

const refresh = ({ refreshToken }: Pick<Device, 'refreshToken'>, at: { baseUrl: string } = game) =>
  postTo(at.baseUrl, REFRESH, { 'x-sdk-key': game.sdkKey }, JSON.stringify({ refreshToken }))

const sessionIds = async (device: Device): Promise<string[]> =>
  (await post(device, LIST)).body.sessions.map(({ sessionId }: { sessionId: string }) => sessionId)

const FIELDS = 'maxSessions whenFull deletionDays linkTickets identitiesAtDeletion clientProfile'
const GONE = { error: 'invalid token', code: 'invalid_token' }

describe('the sessions of a player', () => {
  it('are listed with their device, their beginning and their last use, the last used first', async () => {
    const subject = newSubject()
    const old = await logIn(subject, 'Pixel 9')
    const current = await logIn(subject)
    const stranger = await logIn(newSubject(), 'Steam Deck')
    const renewed = deviceOf(await refresh(old))
    const { body } = await post(current, LIST)
    expect(body).toEqual({
      sessions: [
        {
          sessionId: old.sessionId,
          device: 'Pixel 9',
          createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
          lastUsedAt: expect.stringMatching(/^\d{4}-.*Z$/),
          isCurrent: false,
        },
        expect.objectContaining({ sessionId: current.sessionId, device: null, isCurrent: true }),
      ],
    })
    const [first, second] = body.sessions
    expect(Date.parse(first.createdAt)).toBeLessThanOrEqual(Date.parse(second.createdAt))
    expect(Date.parse(first.lastUsedAt)).toBeGreaterThan(Date.parse(first.createdAt))
    expect(await sessionIds(stranger)).toEqual([stranger.sessionId])
    const { data } = await game.graphql(renewed.accessToken, '{ me { sessions { sessionId device isCurrent } } }')
    expect(data.me.sessions[0]).toEqual({ sessionId: old.sessionId, device: 'Pixel 9', isCurrent: true })
  })

  it.each(['REST', 'GraphQL'])('end one by one, all others, or all, over %s', async (surface) => {
    const end = async (device: Device, session: string): Promise<number> => {
      if (surface === 'REST') return (await post(device, END, { session })).body.ended
      const mutation = 'mutation ($input: EndOwnSessionsInput!) { endOwnSessions(input: $input) { ended } }'
      return (await game.graphql(device.accessToken, mutation, { input: { session } })).data.endOwnSessions.ended
    }
    const subject = newSubject()
    const [lost, home, here, tablet] = [
      await logIn(subject),
      await logIn(subject),
      await logIn(subject),
      await logIn(subject),
    ]
    expect(await end(here, lost.sessionId)).toBe(1)
    expect(await end(here, lost.sessionId.toUpperCase())).toBe(0)
    expect(await refresh(lost)).toMatchObject({ status: 401, body: GONE })
    expect((await refresh(home)).status).toBe(200)
    await until('its access token has ended', async () => (await post(lost, LIST)).status === 401)
    expect(await end(here, 'others')).toBe(2)
    expect(await sessionIds(here)).toEqual([here.sessionId])
    expect(await refresh(tablet)).toMatchObject({ status: 401, body: GONE })
    expect(await end(here, 'all')).toBe(1)
    expect(await refresh(here)).toMatchObject({ status: 401, body: GONE })
    expect((await logIn(subject)).playerId).toBe(here.playerId)
  })

  it('of other players are not found, and stay', async () => {
    const [one, two] = [await logIn(newSubject()), await logIn(newSubject())]
    for (const session of [two.sessionId, randomUUID()])
      expect(await post(one, END, { session })).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await post(one, END, { session: 'everything' })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'session', message: 'must be the id of a session, others or all' }] },
    })
    expect((await refresh(two)).status).toBe(200)
  })

  it('have ended, whether they are ended before or after they are refreshed at the same time', async () => {
    for (const round of times(8, (index) => index)) {
      const subject = newSubject()
      const [lost, here] = [await logIn(subject), await logIn(subject)]
      const [refreshed, ended] = await Promise.all([
        refresh(lost, round % 2 === 0 ? game : other),
        post(here, END, { session: lost.sessionId }),
      ])
      expect(ended).toMatchObject({ status: 200, body: { ended: 1 } })
      if (refreshed.status === 200) expect((await refresh(refreshed.body)).status).toBe(401)
      expect(await sessionIds(here)).toEqual([here.sessionId])
    }
  })
})

describe('a limit of sessions', () => {
  it('ends the session that began first, and never leaves more than it allows, on two instances at once', async () => {
    await game.setAccountPolicy({ maxSessions: 2 })
    const subject = newSubject()
    const [first, second] = [await logIn(subject), await logIn(subject)]
    expect((await refresh(first)).status).toBe(200)
    const third = await logIn(subject)
    expect((await sessionIds(third)).toSorted()).toEqual([second.sessionId, third.sessionId].toSorted())
    expect(await refresh(second)).toMatchObject({ status: 200 })
    const answers = await Promise.all(
      times(12, (index) =>
        postTo(
          (index % 2 === 0 ? game : other).baseUrl,
          '/sdk/v1/authorization/custom',
          { 'x-sdk-key': game.sdkKey },
          JSON.stringify({ customData: by(subject) }),
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(12, () => 200))
    const live = await query(
      `SELECT family_id FROM refresh_tokens WHERE player_id = $1 AND revoked_at IS NULL AND rotated_at IS NULL`,
      [third.playerId],
    )
    expect(live).toHaveLength(2)
  })

  it('refuses a login that would be one too many where the environment says so, and logs it', async () => {
    await game.setAccountPolicy({ maxSessions: 1, whenFull: 'REFUSE' })
    const subject = newSubject()
    const device = await logIn(subject)
    const refused = await game.login(by(subject))
    expect([refused.status, refused.body]).toEqual([
      409,
      expect.objectContaining({ error: 'too many sessions', code: 'too_many_sessions' }),
    ])
    const [entry] = await query('SELECT outcome FROM login_log WHERE player_id = $1 ORDER BY id DESC LIMIT 1', [
      device.playerId,
    ])
    expect(entry).toEqual({ outcome: 'too_many_sessions' })
    expect(await post(device, END, { session: 'all' })).toMatchObject({ body: { ended: 1 } })
    await logIn(subject)
    await game.setAccountPolicy({})
    await logIn(subject)
  })

  it("is an admin's to set, and every change is in the audit log", async () => {
    const mutation = `mutation ($input: SetAccountPolicyInput!) {
      setAccountPolicy(input: $input) { policy { ${FIELDS} } auditEntry { action target } } }`
    const own = { linkTickets: true, identitiesAtDeletion: 'FREE', clientProfile: 'REFUSE' }
    const set = { maxSessions: 3, whenFull: 'END_OLDEST', deletionDays: 30, ...own }
    const input = { environment: 'production', reason: 'sharing of accounts', maxSessions: 3, deletionDays: 30, ...own }
    const { errors } = await game.graphql(await game.key('operator'), mutation, { input })
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    const { data } = await game.graphql(game.platformKey, mutation, { input })
    expect(data.setAccountPolicy).toEqual({
      policy: set,
      auditEntry: { action: 'account_policy.set', target: 'production' },
    })
    expect((await game.graphql(game.platformKey, mutation, { input })).data.setAccountPolicy.auditEntry).toBeNull()
    const faulty = await game.graphql(game.platformKey, mutation, {
      input: { ...input, maxSessions: 0, deletionDays: 91 },
    })
    expect(faulty.errors?.[0]?.extensions.details).toEqual([
      { path: 'maxSessions', message: 'must be 1 to 100' },
      { path: 'deletionDays', message: 'must be 0 to 90' },
    ])
    const { data: read } = await game.graphql(game.platformKey, `{ environments { name accountPolicy { ${FIELDS} } } }`)
    expect(read.environments).toContainEqual({ name: 'production', accountPolicy: set })
    expect(read.environments).toContainEqual({
      name: 'staging',
      accountPolicy: {
        ...{ maxSessions: null, whenFull: 'END_OLDEST', deletionDays: 14 },
        ...{ linkTickets: false, identitiesAtDeletion: 'KEEP', clientProfile: 'AUTO' },
      },
    })
    await game.setAccountPolicy({})
  })
})

describe('the data that a player takes along', () => {
  it('is all that is stored of it, one JSON object a line', async () => {
    const subject = newSubject()
    const values = { ...keys(0, 40), deep: { exact: 9007199254740993n, text: 'é "quoted"' } }
    const device = deviceOf(await game.login(by(subject, { data: values, nickname: 'Ada' })))
    const { body: run } = await post(device, '/sdk/v1/scenarios/start', { scenarioId: 'season' })
    const place = { scenarioId: 'season', nodeId: 'pass', runId: run.runId }
    for (const amount of [1, 2, 3]) await post(device, '/sdk/v1/battlepass/xp', { ...place, amount, source: 'match' })
    await created(device.playerId)
    const response = await fetch(`${game.baseUrl}${EXPORT}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${device.accessToken}` },
      body: '{}',
    })
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/x-ndjson; charset=utf-8',
    ])
    const text = await response.text()
    expect(text).toContain('"value":{"exact":9007199254740993,"text":"é \\"quoted\\""}')
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const of = (kind: string) => lines.filter((line) => line.kind === kind)
    expect(of('profile')).toEqual([expect.objectContaining({ id: device.playerId, nickname: 'Ada', status: 'active' })])
    expect(of('identity')).toEqual([expect.objectContaining({ provider: 'custom', subject })])
    expect(of('session')).toHaveLength(1)
    expect(of('login')).toEqual([expect.objectContaining({ outcome: 'ok', subject })])
    expect(
      of('storage')
        .map(({ key }) => key)
        .toSorted(),
    ).toEqual(Object.keys(values).toSorted())
    expect(of('xp').map(({ amount }) => amount)).toEqual([1, 2, 3])
    expect(of('pass')).toEqual([expect.objectContaining({ scenarioId: 'season', nodeId: 'pass', xp: 6 })])
    expect(of('event').map(({ type }) => type)).toContain('player.created')
    expect(text).not.toContain(device.refreshToken)
  })

  it('has a kind for each table of players', async () => {
    const rows = await query(
      `SELECT DISTINCT table_name FROM information_schema.columns
       WHERE table_schema = current_schema() AND column_name = 'player_id' AND table_name NOT SIMILAR TO '%\\_p[0-9_]+|%\\_first'`,
    )
    const partitions = await query(`SELECT inhrelid::regclass::text AS name FROM pg_inherits`)
    const exported = new Set(SECTIONS.map(({ table }) => table))
    // Rows that only help: versions of rows, logins that ended within a day, events that wait for their position, and
    // lists of operators and hashes of freed identities, which are kept for about a week. Notes of operators are for
    // operators: no call of a game reads them. What gave premium is in the audit log, too.
    const left = [
      ...['player_versions', 'ended_access', 'unnumbered_events', 'player_list_rows', 'player_notes'],
      ...['former_identities', 'premium_gifts'],
    ]
    const tables = rows
      .map(({ table_name: name }) => name)
      .filter((name) => !partitions.some((partition) => partition.name === name))
    expect(tables.filter((name) => !exported.has(name) && !left.includes(name))).toEqual([])
  })

  it('is refused to an ended login before the first line', async () => {
    const device = await logIn(newSubject())
    await post(device, END, { session: 'all' })
    await until('its access token has ended', async () => (await post(device, LIST)).status === 401)
    expect(await post(device, EXPORT)).toMatchObject({ status: 401, body: GONE })
  })
})

describe('the deletion that a player asks for', () => {
  const deleteDue = async ({ app } = game as Pick<typeof game, 'app'>): Promise<void> => {
    await deletePlanned(app.pool, app.service.run, new AbortController().signal)
  }
  const bringForward = (playerId: string) =>
    query(`UPDATE planned_deletions SET delete_at = now() WHERE player_id = $1`, [playerId])
  const statusOf = async (playerId: string) =>
    (await query('SELECT status, nickname FROM players WHERE id = $1', [playerId]))[0]

  async function expectDeleted(subject: string): Promise<void> {
    const { status, body } = await game.login(by(subject))
    expect([status, body.error, body.code]).toEqual([403, 'player deleted', 'player_deleted'])
  }

  it('ends its sessions at once, and erases it after the delay; its login is then refused with `player deleted`', async () => {
    const subject = newSubject()
    const device = deviceOf(await game.login(by(subject, { nickname: 'Ada', data: { a: 1 } })))
    expect(await post(device, DELETE, { playerId: randomUUID() })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'playerId', message: 'must be the id of the calling player' }] },
    })
    const { status, body } = await post(device, DELETE)
    expect(status).toBe(200)
    const days = (Date.parse(body.deleteAt) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(13.9)
    expect(days).toBeLessThan(14.1)
    expect(await refresh(device)).toMatchObject({ status: 401, body: GONE })
    await deleteDue()
    expect(await statusOf(device.playerId)).toEqual({ status: 'active', nickname: 'Ada' })
    const { data } = await game.graphql(game.platformKey, 'query ($id: ID!) { player(id: $id) { deleteAt } }', {
      id: device.playerId,
    })
    expect(data.player.deleteAt).toBe(body.deleteAt)

    await bringForward(device.playerId)
    await Promise.all([deleteDue(), deleteDue(other)])
    expect(await statusOf(device.playerId)).toEqual({ status: 'deleted', nickname: null })
    expect(await query('SELECT FROM player_storage WHERE player_id = $1', [device.playerId])).toEqual([])
    expect(await query('SELECT FROM login_log WHERE subject = $1', [subject])).toEqual([])
    const audit = await query('SELECT actor, action FROM audit_log WHERE target = $1', [device.playerId])
    expect(audit).toEqual([{ actor: `player:${device.playerId}`, action: 'player.delete' }])
    await expectDeleted(subject)
    expect(await query('SELECT subject FROM login_log WHERE player_id = $1', [device.playerId])).toEqual([
      { subject: null },
    ])
  })

  const OUTCOMES: readonly (readonly [
    policy: Readonly<Record<string, unknown>>,
    at: 'once' | 'its time',
    isFree: boolean,
  ])[] = [
    [{ deletionDays: 0 }, 'once', false],
    [{ deletionDays: 0, identitiesAtDeletion: 'FREE' }, 'once', true],
    [{ identitiesAtDeletion: 'FREE' }, 'its time', true],
    [{ identitiesAtDeletion: 'KEEP' }, 'its time', false],
  ]
  it.each(OUTCOMES)('by the policy %j, at %s, frees all of its identities: %s', async (policy, at, isFree) => {
    const subjects = [newSubject(), newSubject()]
    const device = await logIn(subjects[0] ?? '')
    expect((await game.link(device.accessToken, by(subjects[1] ?? ''))).status).toBe(204)
    // The policy that counts is that of the moment of the deletion.
    if (at === 'its time') await post(device, DELETE)
    await game.setAccountPolicy(policy)
    if (at === 'once') await post(device, DELETE)
    else {
      await bringForward(device.playerId)
      await Promise.all([deleteDue(), deleteDue(other)])
    }
    expect(await statusOf(device.playerId)).toEqual({ status: 'deleted', nickname: null })
    if (!isFree) for (const subject of subjects) await expectDeleted(subject)
    else {
      const [one, two] = await Promise.all(subjects.map((subject) => logIn(subject)))
      expect(new Set([device.playerId, one?.playerId, two?.playerId]).size).toBe(3)
    }
    await game.setAccountPolicy({})
  })

  it('is cancelled by a login before its time, and not moved by a second call', async () => {
    const subject = newSubject()
    const [one, two] = [await logIn(subject), await logIn(subject)]
    const answers = await Promise.all([post(one, DELETE), post(two, DELETE, {}, other)])
    const granted = answers.filter(({ status }) => status === 200)
    expect(granted.length).toBeGreaterThan(0)
    expect(new Set(granted.map(({ body }) => body.deleteAt)).size).toBe(1)
    const back = await logIn(subject)
    expect(await query('SELECT FROM planned_deletions WHERE player_id = $1', [one.playerId])).toEqual([])
    await deleteDue()
    expect((await post(back, LIST)).status).toBe(200)
  })

  it('either is cancelled by a login at the moment of its time, or has happened', async () => {
    const outcomes = new Set<string>()
    await game.setAccountPolicy({ identitiesAtDeletion: 'FREE' })
    for (const round of times(12, (index) => index)) {
      const subject = newSubject()
      const device = await logIn(subject)
      await post(device, DELETE)
      await bringForward(device.playerId)
      const [answer] = await Promise.all([game.login(by(subject)), deleteDue(round % 2 === 0 ? game : other)])
      const { status } = await statusOf(device.playerId)
      outcomes.add(status)
      if (status === 'active') expect(playerOf(answer)).toBe(device.playerId)
      else if (answer.status === 200) expect(playerOf(answer)).not.toBe(device.playerId)
      else expect([answer.status, answer.body.code]).toEqual([403, 'player_deleted'])
      expect((await logIn(subject)).playerId === device.playerId).toBe(status === 'active')
    }
    expect([...outcomes].every((status) => ['active', 'deleted'].includes(status))).toBe(true)
    await game.setAccountPolicy({})
  })

  it('happens at once where the environment sets no delay, over GraphQL', async () => {
    await game.setAccountPolicy({ deletionDays: 0 })
    const device = await logIn(newSubject())
    const { data } = await game.graphql(
      device.accessToken,
      'mutation ($input: DeleteOwnPlayerInput!) { deleteOwnPlayer(input: $input) { deleteAt } }',
      { input: { playerId: device.playerId } },
    )
    expect(Date.parse(data.deleteOwnPlayer.deleteAt)).toBeLessThanOrEqual(Date.now() + 1_000)
    expect(await statusOf(device.playerId)).toMatchObject({ status: 'deleted' })
    await game.setAccountPolicy({})
  })
})
