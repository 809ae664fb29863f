import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, generateKeys, type Instance, startGame, startInstance, times } from '../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'
import { auditRows, newOperator, obey } from '../support/desk.ts'

// The import of players that a studio brings along, and their first logins.

let game: Game
let webhook: Webhook
/** A second instance on the same database. */
let other: Instance

beforeAll(async () => {
  const keys = await generateKeys()
  game = await startGame(keys)
  other = await startInstance(game.databaseUrl, keys)
  webhook = await startOperator(obey)
  const provider = { enabled: true, url: webhook.url, secret: webhook.secret }
  await game.setProviders({ default: provider, console: provider })
})
afterAll(async () => {
  await webhook?.close()
  await other?.stop()
  await game?.stop()
})

const path = (query = 'environment=production') => `/platform/v1/projects/${game.projectId}/players.ndjson?${query}`

const send = (body: string, { query, key = game.platformKey }: { query?: string; key?: string } = {}) =>
  game.request('POST', path(query), {
    body,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
  })

const linesOf = (players: readonly object[]) => players.map((player) => `${JSON.stringify(player)}\n`).join('')

const logIn = async (subject: string, provider?: string) => {
  const { status, body } = await game.login({ player: subject }, provider === undefined ? {} : { provider })
  expect(status).toBe(200)
  return String(decodeJwt(body.accessToken).sub)
}

/** The player of an identity, with its profile. */
const playersOf = async (provider: string, subject: string) =>
  (
    await game.app.pool.query(
      `SELECT p.id, p.nickname, p.avatar_url AS "avatarUrl", p.region, p.language FROM identities i
       JOIN players p ON (p.environment_id, p.id) = (i.environment_id, i.player_id)
       WHERE i.environment_id = $1 AND i.provider = $2 AND i.subject = $3`,
      [game.environmentId, provider, subject],
    )
  ).rows

const countPlayers = async () => Number((await game.app.pool.query('SELECT count(*) FROM players')).rows[0].count)

describe('an import', () => {
  it('adds players with their profile, who log in by their identity and are found, not created', async () => {
    const [subject, plain] = [randomUUID(), randomUUID()]
    const profile = { nickname: 'Ada 💎', avatarUrl: 'https://a.example/1.png', region: 'eu-west', language: 'en' }
    const { status, body } = await send(
      linesOf([
        { subject, ...profile },
        { provider: 'custom:console', subject: plain },
      ]),
      { query: 'environment=production&reason=we%20move' },
    )
    expect([status, body]).toEqual([200, { created: 2, existing: 0 }])
    const before = await countPlayers()
    const [found] = await playersOf('custom', subject)
    expect(found).toEqual({ id: await logIn(subject), ...profile })
    expect((await playersOf('custom:console', plain))[0].id).toBe(await logIn(plain, 'console'))
    expect(await countPlayers()).toBe(before)
    expect(await auditRows(game.app.pool, game.projectId, 'production')).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ action: 'players.import', reason: 'we move', after: { lines: 2 } }),
      ]),
    )
  })

  const createdOf = async (playerId: string) => {
    await settled(game.app.pool)
    const { rows } = await game.app.pool.query(
      `SELECT data::jsonb AS data FROM events WHERE player_id = $1 AND type = 'player.created'`,
      [playerId],
    )
    return rows.map(({ data }) => data)
  }

  it('publishes `player.created` at the first login of each player, once, also when logins race on two instances', async () => {
    const subjects = times(6, () => randomUUID())
    await send(linesOf(subjects.map((subject) => ({ subject, nickname: `Ada of ${subject}` }))))
    const logInAt = async ({ baseUrl }: { baseUrl: string }, subject: string) => {
      const { status } = await fetch(`${baseUrl}/sdk/v1/authorization/custom`, {
        method: 'POST',
        headers: { 'x-sdk-key': game.sdkKey },
        body: JSON.stringify({ customData: { player: subject } }),
      })
      expect(status).toBe(200)
    }
    for (const subject of subjects) {
      const [{ id }] = await playersOf('custom', subject)
      expect(await createdOf(id), 'an import is no login').toEqual([])
      await Promise.all([game, other, game, other].map((at) => logInAt(at, subject)))
      await logIn(subject)
      expect(await createdOf(id)).toEqual([{ nickname: `Ada of ${subject}`, provider: 'custom' }])
    }
  })

  it('publishes it with the name of the webhook and the provider of the login, and not for a refused login', async () => {
    const subject = randomUUID()
    await send(linesOf([{ provider: 'custom:console', subject, nickname: 'old' }]))
    const [{ id }] = await playersOf('custom:console', subject)
    const act = async (mutation: string) => {
      const input = `input: { playerId: "${id}", reason: "test" }`
      const { errors } = await game.graphql(
        game.platformKey,
        `mutation { ${mutation}(${input}) { auditEntry { id } } }`,
      )
      expect(errors).toBeUndefined()
    }
    await act('banPlayer')
    expect((await game.login({ player: subject }, { provider: 'console' })).status).toBe(403)
    expect(await createdOf(id)).toEqual([])
    await act('unbanPlayer')
    await game.login({ player: subject, answer: { nickname: 'new' } }, { provider: 'console' })
    expect(await createdOf(id)).toEqual([{ nickname: 'new', provider: 'custom:console' }])
  })

  it('changes nothing of a subject that has a player, also a deleted one', async () => {
    const subject = randomUUID()
    const id = await logIn(subject)
    const line = linesOf([{ subject, nickname: 'another' }])
    expect((await send(line)).body).toEqual({ created: 0, existing: 1 })
    expect(await playersOf('custom', subject)).toMatchObject([{ id, nickname: null }])
    await game.app.pool.query(`UPDATE players SET status = 'deleted' WHERE id = $1`, [id])
    expect((await send(line)).body).toEqual({ created: 0, existing: 1 })
  })

  it('creates one player for each subject: of two lines, of two imports at once, and of logins meanwhile', async () => {
    const subjects = times(300, () => randomUUID())
    const body = linesOf([...subjects, ...subjects].map((subject) => ({ subject })))
    const before = await countPlayers()
    const [one, two, ...ids] = await Promise.all([
      send(body),
      send(body),
      ...subjects.slice(0, 20).map((s) => logIn(s)),
    ])
    for (const { body } of [one, two]) expect(body.created + body.existing).toBe(600)
    expect(one.body.created + two.body.created).toBeLessThanOrEqual(300)
    expect(await countPlayers()).toBe(before + 300)
    for (const [index, id] of ids.entries())
      expect(await playersOf('custom', subjects[index] ?? '')).toMatchObject([{ id }])
    expect((await send(body)).body).toEqual({ created: 0, existing: 600 })
  })

  it('takes 10,000 lines, also with blank ones and with CRLF', async () => {
    const before = await countPlayers()
    const lines = times(10_000, (index) => `{"subject":"${index} of many"}\r\n${index === 5 ? '\r\n' : ''}`)
    expect((await send(lines.join('').trimEnd())).body).toEqual({ created: 10_000, existing: 0 })
    expect(await countPlayers()).toBe(before + 10_000)
  })

  const PROVIDERS: readonly (readonly [provider: string, isKnown: boolean])[] = [
    ['custom', true],
    ['custom:console', true],
    ['google', true],
    ['apple', true],
    ['oidc:studio', true],
    ['custom:default', false],
    ['custom:', false],
    ['custom:a:b', false],
    ['default', false],
    ['device', false],
    ['device:x', false],
    ['oidc', false],
    ['google:x', false],
  ]
  it.each(PROVIDERS)('of the provider %s is accepted: %s', async (provider, isKnown) => {
    const subject = randomUUID()
    const { status, body } = await send(linesOf([{ provider, subject }]))
    expect([status, body.details?.[0].path]).toEqual(isKnown ? [200, undefined] : [400, 'line 1.provider'])
    expect(await playersOf(provider, subject)).toHaveLength(isKnown ? 1 : 0)
  })

  const FAULTS: readonly (readonly [what: string, body: string, faults: readonly string[]])[] = [
    [
      'every fault of every line',
      '{"subject":"ok"}\n{"subject":""}\n\n[]\n{\n{"nickname":"\\u0000","subject":7}\n',
      [
        'line 2.subject: must be 1 to 255 characters',
        'line 4: the line must be a JSON object',
        expect.stringContaining('line 5: the line must be JSON: line 1, column 2'),
        'line 6.subject: must be a string',
        'line 6.nickname: must not contain NUL or a lone surrogate',
      ],
    ],
    ['an empty body', '\n', [': the body must have a line']],
    ['too many lines', '{"subject":"a"}\n'.repeat(10_001), [': the body must have at most 10000 lines']],
    [
      'the first hundred lines of many',
      'x\n'.repeat(150),
      [...times(100, (index) => expect.stringContaining(`line ${index + 1}: `)), ': 50 more lines have faults'],
    ],
  ]
  it.each(FAULTS)('is refused with %s, and nothing changes', async (_, body, faults) => {
    const before = await countPlayers()
    const answer = await send(body)
    expect(answer.status).toBe(400)
    expect(
      answer.body.details.map(({ path, message }: { path: string; message: string }) => `${path}: ${message}`),
    ).toEqual(faults)
    expect(await countPlayers()).toBe(before)
  })

  it('needs a known environment, a short reason and the role admin', async () => {
    const line = linesOf([{ subject: randomUUID() }])
    const before = await countPlayers()
    expect((await send(line, { query: 'environment=nowhere' })).body.error).toBe('environment not found')
    const { body } = await send(line, { query: `reason=${'x'.repeat(501)}` })
    expect(body.details.map((fault: { path: string }) => fault.path)).toEqual(['environment', 'reason'])
    const operator = await newOperator(game.app.pool, game.projectId)
    expect((await send(line, { key: operator.key })).status).toBe(403)
    expect(await auditRows(game.app.pool, game.projectId, 'players')).toMatchObject([
      { action: 'players.import.denied', actor: operator.actor },
    ])
    expect(await countPlayers()).toBe(before)
  })
})
