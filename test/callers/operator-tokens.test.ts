import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { isEnumType } from 'graphql'
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Role } from '../../src/callers/roles.ts'
import { generateTokenKey, type TokenKey } from '../../src/callers/tokens.ts'
import { schema } from '../../src/schema.ts'
import { endWithTests } from '../harness/children.ts'
import { type Game, type GraphqlAnswer, type Instance, startGame, startInstance } from '../harness/game.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { newOperator, type Operator } from '../support/desk.ts'

/** The promise is two seconds. The rest allows for a busy machine. */
const WITHIN_MS = 3_000
const ORIGIN = 'https://dashboard.example.com'
const CREATE = `mutation ($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) {
  token role actor expiresAt auditEntry { actor action target operator operatorIsClaimed afterText reason } } }`
const PROJECT = '{ project { projectId } }'
const AUDIT = '{ auditLog(first: 1) { pageInfo { hasNextPage } } }'
const EVENTS = 'subscription { events(environment: "production") { cursor } }'

let game: Game
let key: TokenKey
/** A second instance on the same database. Only Postgres connects the two. */
let other: Instance

beforeAll(async () => {
  key = await generateTokenKey()
  const env = { TOKEN_KEYS: JSON.stringify([key]), ALLOWED_ORIGINS: ORIGIN }
  game = await startGame(env)
  other = await startInstance(game.databaseUrl, env)
})
afterAll(async () => {
  await other?.stop()
  await game?.stop()
})

function nameOf(role: Role): string {
  const type = schema.getType('Role')
  return (isEnumType(type) && type.getValues().find(({ value }) => value === role)?.name) || ''
}

const inputOf = (role: Role, more: object = {}) => ({
  input: { role: nameOf(role), actor: 'Zoë <zoe@studio.example>', reason: 'the dashboard', ...more },
})
const create = (by: string, role: Role, more?: object) => game.graphql(by, CREATE, inputOf(role, more))

async function tokenOf(by: string, role: Role, more?: object): Promise<string> {
  const { data, errors } = await create(by, role, more)
  expect(errors).toBeUndefined()
  return data.createOperatorToken.token
}

async function ask({ baseUrl }: { baseUrl: string }, token: string, query = PROJECT): Promise<GraphqlAnswer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${baseUrl}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  return (await response.json()) as GraphqlAnswer
}

const codeOf = ({ errors }: GraphqlAnswer): string => errors?.[0]?.extensions.code ?? 'ok'
const revoke = (operator: Operator) =>
  game.graphql(
    game.platformKey,
    'mutation ($input: RevokePlatformKeyInput!) { revokePlatformKey(input: $input) { platformKey { id } } }',
    { input: { id: operator.caller.keyId, reason: 'lost' } },
  )
const deniedOf = async ({ actor }: Operator) =>
  (
    await game.app.pool.query(
      'SELECT action, operator, operator_is_claimed AS claimed, attempts FROM audit_log WHERE actor = $1 AND minute IS NOT NULL ORDER BY id',
      [actor],
    )
  ).rows

interface Socket {
  readonly acknowledged: Promise<unknown>
  readonly closed: Promise<{ code: number; reason: string }>
}

/** A socket that subscribes to events as soon as it is acknowledged. */
function openSocket({ baseUrl }: { baseUrl: string }, params: object): Socket {
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: params })))
  const closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }))
  const acknowledged = once(socket, 'message')
  acknowledged.then(
    () => socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: EVENTS } })),
    () => undefined,
  )
  return { acknowledged, closed }
}

/** An open stream of server-sent events. */
async function openStream({ baseUrl }: { baseUrl: string }, token: string): Promise<{ ended: Promise<unknown> }> {
  const response = await fetch(`${baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: EVENTS }),
  })
  expect(response.status).toBe(200)
  return { ended: response.text() }
}

describe('an operator token', () => {
  it('grants exactly its role on every instance, over GraphQL and REST', async () => {
    const admin = await newOperator(game.app.pool, game.projectId, 'admin')
    const viewer = await tokenOf(admin.key, 'viewer')
    for (const instance of [game, other]) {
      expect((await ask(instance, viewer)).data).toEqual({ project: { projectId: game.projectId } })
      expect(codeOf(await ask(instance, viewer, AUDIT))).toBe('FORBIDDEN')
    }
    const headers = { authorization: `Bearer ${viewer}` }
    const path = `/platform/v1/projects/${game.projectId}/auth-providers`
    expect((await game.request('GET', path, { headers })).status).toBe(200)
    expect((await game.request('PUT', path, { headers, body: '{}' })).status).toBe(403)
    expect((await game.request('POST', '/sdk/v1/player/get', { headers, body: '{}' })).status).toBe(401)
    expect(codeOf(await ask(other, await tokenOf(admin.key, 'admin'), AUDIT))).toBe('ok')
  })

  it('is audited with its creator, operator and expiry, and calls with it are audited with the operator', async () => {
    const operator = await newOperator(game.app.pool, game.projectId, 'operator')
    const before = Math.floor(Date.now() / 1000) * 1000
    const { data } = await create(operator.key, 'operator', { expiresInSeconds: 43_200 })
    const { token, role, actor, expiresAt, auditEntry } = data.createOperatorToken
    const after = Date.now()
    expect([role, actor]).toEqual([nameOf('operator'), 'Zoë <zoe@studio.example>'])
    const lifeMs = 43_200_000
    expect(Date.parse(expiresAt)).toBeGreaterThanOrEqual(before + lifeMs)
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(after + lifeMs)
    const entry = { actor: operator.actor, action: 'operator_token.create', target: operator.caller.keyId }
    expect(auditEntry).toMatchObject({ ...entry, operator: null, operatorIsClaimed: false, reason: 'the dashboard' })
    expect(JSON.parse(auditEntry.afterText)).toEqual({
      tokenId: decodeJwt(token).jti,
      role: 'operator',
      actor,
      expiresAt,
    })
    expect(JSON.stringify(auditEntry)).not.toContain(token)

    const player = await game.player()
    const banned = await game.graphql(
      token,
      `mutation ($playerId: ID!) { banPlayer(input: { playerId: $playerId, reason: "test" }) {
        auditEntry { actor operator operatorIsClaimed } } }`,
      { playerId: player.playerId },
    )
    expect(banned.data.banPlayer.auditEntry).toEqual({
      actor: operator.actor,
      operator: 'Zoë <zoe@studio.example>',
      operatorIsClaimed: false,
    })
  })

  it('lasts one hour by default and twelve at most, and every fault of a request is reported', async () => {
    const { key: by } = await newOperator(game.app.pool, game.projectId, 'viewer')
    const { iat = 0, exp = 0 } = decodeJwt(await tokenOf(by, 'viewer'))
    expect(exp - iat).toBe(3_600)
    const { errors } = await create(by, 'viewer', { expiresInSeconds: 43_201, actor: ' \u202e', reason: '' })
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [
        { path: 'expiresInSeconds', message: 'must be 1 to 43200' },
        { path: 'actor', message: 'must not contain control characters' },
        { path: 'reason', message: 'must be 1 to 500 characters' },
      ],
    })
    const faultsOf = async (more: object) => (await create(by, 'viewer', more)).errors?.[0]?.extensions.details
    expect(await faultsOf({ expiresInSeconds: 0 })).toHaveLength(1)
    for (const actor of ['', 'a\nb', 'ends with a space ', 'x'.repeat(129), 'nul\0']) {
      expect([actor, await faultsOf({ actor })]).toMatchObject([actor, [{ path: 'actor' }]])
    }
    expect(await faultsOf({ actor: '語'.repeat(128) })).toBeUndefined()
  })

  it('has at most the role of its key and creates no tokens; both attempts are refused and audited', async () => {
    const operator = await newOperator(game.app.pool, game.projectId, 'operator')
    const { errors } = await create(operator.key, 'admin')
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'FORBIDDEN',
      details: [{ path: 'role', message: "must be at most the key's own, operator" }],
    })
    const token = await tokenOf(operator.key, 'operator')
    const again = await create(token, 'viewer')
    expect(again.errors?.[0]?.extensions).toMatchObject({
      code: 'FORBIDDEN',
      details: [
        {
          path: 'authorization',
          message:
            'must be a platform key: an operator token makes neither tokens, platform keys, server keys nor single sign-on',
        },
      ],
    })
    expect(Object.values(again.data)).toEqual([null])
    // Within a minute, the attempts with and without an operator share a row, which then has no operator.
    const denied = await deniedOf(operator)
    const row = { action: 'operator_token.create.denied', operator: null, claimed: false }
    const byToken = { ...row, operator: 'Zoë <zoe@studio.example>' }
    if (denied.length === 1) expect(denied).toEqual([{ ...row, attempts: 2 }])
    else
      expect(denied).toEqual([
        { ...row, attempts: 1 },
        { ...byToken, attempts: 1 },
      ])
  })

  it.each([
    ['Platform', 'CreatePlatformKeyInput', { role: nameOf('admin') }],
    ['Server', 'CreateEnvironmentKeyInput', { environment: 'production' }],
  ])('creates no %s key, which would outlive it', async (kind, type, of) => {
    const { key: by } = await newOperator(game.app.pool, game.projectId, 'admin')
    const document = `mutation ($input: ${type}!) { create${kind}Key(input: $input) { key } }`
    const input = { ...of, reason: 'test' }
    for (const role of ['operator', 'admin'] as const)
      expect(codeOf(await game.graphql(await tokenOf(by, role), document, { input }))).toBe('FORBIDDEN')
    expect(codeOf(await game.graphql(by, document, { input }))).toBe('ok')
  })

  it('expires for calls, sockets and streams on every instance', async () => {
    const { key: by } = await newOperator(game.app.pool, game.projectId, 'viewer')
    const token = await tokenOf(by, 'viewer', { expiresInSeconds: 5 })
    const elapsed = startStopwatch()
    const sockets = [game, other].map((instance) => openSocket(instance, { authorization: `Bearer ${token}` }))
    await Promise.all(sockets.map(({ acknowledged }) => acknowledged))
    const streams = [await openStream(game, token), await openStream(other, token)]
    const closed = await Promise.all(sockets.map((socket) => socket.closed))
    expect(closed).toEqual([game, other].map(() => ({ code: 4403, reason: 'token expired' })))
    await Promise.all(streams.map(({ ended }) => ended))
    expect(elapsed()).toBeLessThan(5_000 + WITHIN_MS)
    for (const instance of [game, other]) expect(codeOf(await ask(instance, token))).toBe('INVALID_TOKEN')
  })

  it('ends for calls, sockets and streams on every instance within two seconds after its key is revoked', async () => {
    const operator = await newOperator(game.app.pool, game.projectId, 'admin')
    const token = await tokenOf(operator.key, 'viewer')
    const sockets = [game, other].map((instance) => openSocket(instance, { authorization: `Bearer ${token}` }))
    await Promise.all(sockets.map(({ acknowledged }) => acknowledged))
    const streams = [await openStream(game, token), await openStream(other, token)]
    const kept = await tokenOf(game.platformKey, 'viewer')
    expect(codeOf(await revoke(operator))).toBe('ok')
    const elapsed = startStopwatch()
    for (const instance of [game, other]) {
      expect(codeOf(await ask(instance, token))).toBe('INVALID_TOKEN')
      expect(codeOf(await ask(instance, kept))).toBe('ok')
    }
    const closed = await Promise.all(sockets.map((socket) => socket.closed))
    expect(closed).toEqual([game, other].map(() => ({ code: 4403, reason: 'key revoked' })))
    await Promise.all(streams.map(({ ended }) => ended))
    expect(elapsed()).toBeLessThan(WITHIN_MS)
    const socket = openSocket(other, { authorization: `Bearer ${token}` })
    expect((await socket.closed).code).toBe(4403)
    expect(
      (
        await game.request('GET', `/platform/v1/projects/${game.projectId}/auth-providers`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).status,
    ).toBe(401)
  })

  it('is invalid for another database, even with the same token keys', async () => {
    const elsewhere = await startGame({ TOKEN_KEYS: JSON.stringify([key]) })
    try {
      // The same keys sign for both, but the other database has no such key.
      expect(codeOf(await ask(elsewhere, await tokenOf(game.platformKey, 'viewer')))).toBe('INVALID_TOKEN')
    } finally {
      await elsewhere.stop()
    }
  })
})

const base64url = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

describe('a forged operator token', () => {
  /** Signs a copy of a real token with some parts changed. */
  async function forge(
    { header = {}, claims = {} }: { header?: object; claims?: object },
    by: TokenKey = key,
  ): Promise<string> {
    const real = await tokenOf(game.platformKey, 'viewer')
    return new SignJWT({ ...decodeJwt(real), ...claims })
      .setProtectedHeader({ ...decodeProtectedHeader(real), alg: 'EdDSA', ...header })
      .sign(await importJWK({ ...by }, 'EdDSA'))
  }

  it('is accepted when nothing is changed', async () => {
    expect(codeOf(await ask(game, await forge({})))).toBe('ok')
  })

  it.each([
    ['the audience of player tokens', { claims: { aud: 'tierway' } }],
    ['another issuer', { claims: { iss: 'other' } }],
    ['another project', { claims: { prj: randomUUID() } }],
    ['an unknown platform key', { claims: { sub: randomUUID() } }],
    ['an unknown role', { claims: { role: 'owner' } }],
    ['no operator', { claims: { act: undefined } }],
    ['an expiry in the past', { claims: { exp: Math.floor(Date.now() / 1000) - 1 } }],
    ['no expiry', { claims: { exp: undefined } }],
    ['the type of player tokens', { header: { typ: 'at+jwt' } }],
    ['no type', { header: { typ: undefined } }],
    ['an unknown kid', { header: { kid: 'other' } }],
  ])('is refused with %s', async (_, change) => {
    expect(codeOf(await ask(game, await forge(change)))).toBe('INVALID_TOKEN')
  })

  it('is refused with another signing key, without a signature, changed or truncated', async () => {
    const real = await tokenOf(game.platformKey, 'viewer')
    const [head = '', claims = '', signature = ''] = real.split('.')
    const admin = base64url({ ...decodeJwt(real), role: 'admin' })
    const none = base64url({ ...decodeProtectedHeader(real), alg: 'none' })
    const forged = [
      await forge({}, { ...(await generateTokenKey()), kid: key.kid }),
      ...[`${none}.${claims}.`, `${none}.${claims}.${signature}`, `${none}.${admin}.`],
      ...[`${head}.${admin}.${signature}`, `${head}.${claims}.`, `${head}.${claims}`, head, `${real}x`, `${real}.x`],
      `${head}.${claims}${'A'.repeat(8_000)}.${signature}`,
    ]
    // Also after the real token was used.
    expect(codeOf(await ask(game, real))).toBe('ok')
    for (const token of forged) expect([token, codeOf(await ask(game, token))]).toEqual([token, 'INVALID_TOKEN'])
  })

  it('is refused with the claims of a player token, and neither kind works in place of the other', async () => {
    const player = await game.player()
    const forged = await forge({ header: { typ: 'op+jwt' }, claims: decodeJwt(player.token) })
    expect(codeOf(await ask(game, forged))).toBe('INVALID_TOKEN')
    expect(codeOf(await ask(game, player.token))).toBe('FORBIDDEN')
    expect(codeOf(await ask(game, await tokenOf(game.platformKey, 'viewer'), '{ me { id } }'))).toBe('FORBIDDEN')
  })
})

describe('the example back end examples/operator-tokens.mjs', () => {
  let child: ChildProcess
  let url = ''

  beforeAll(async () => {
    const { key: by } = await newOperator(game.app.pool, game.projectId, 'operator')
    const env = { PATH: process.env.PATH, PORT: '0', TIERWAY_URL: game.baseUrl, TIERWAY_KEY: by }
    child = spawn(process.execPath, ['examples/operator-tokens.mjs'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    endWithTests(child)
    let output = ''
    child.stdout?.on('data', (chunk) => {
      output += chunk
    })
    await until('the back end listens', () => {
      url = /^listening on (\S+)$/m.exec(output)?.[1] ?? ''
      return url !== ''
    })
  })
  afterAll(() => child?.kill())

  const exchange = (cookie: string) => fetch(url, { method: 'POST', headers: { cookie } })

  it('exchanges a session for a token that a page can use from its own origin', async () => {
    const answer = await exchange('theme=dark; session=session-of-grace')
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const { token, actor } = (await answer.json()) as { token: string; actor: string }
    expect(actor).toBe('grace@studio.example')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', origin: ORIGIN }
    const page = await fetch(`${game.baseUrl}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query: PROJECT }),
    })
    expect(page.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(await page.json()).toEqual({ data: { project: { projectId: game.projectId } } })
  })

  it('answers 401 without a valid session and 404 to other requests', async () => {
    for (const cookie of ['', 'session=of-nobody', 'xsession=session-of-ada']) {
      expect((await exchange(cookie)).status).toBe(401)
    }
    expect((await fetch(url)).status).toBe(404)
  })
})
