import { createHash, createHmac, createPublicKey } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { base64url, decodeJwt, type JWTPayload } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKeySets } from '../../src/accounts/id-tokens/key-sets.ts'
import { auditBooks } from '../harness/audit.ts'
import { type Answer, type Game, startGame, times } from '../harness/game.ts'
import { AUDIENCE, startIssuer, type TestIssuer } from '../harness/issuer.ts'
import { settled } from '../harness/settled.ts'
import { outcomeOfGraphql, outcomeOfRest } from '../harness/surfaces.ts'
import { inputTypeOf } from '../serve/graphql/documents.ts'

// Logins and links by ID tokens: of Google, Apple, and issuers that a studio has added.

const LOGIN = '/sdk/v1/authorization'

let game: Game
let studio: TestIssuer
let google: TestIssuer
let apple: TestIssuer

beforeAll(async () => {
  studio = await startIssuer('ES256')
  google = await startIssuer('RS256', 'https://accounts.google.com')
  apple = await startIssuer('RS256', 'https://appleid.apple.com')
  game = await startGame({ GOOGLE_KEYS_URL: google.keysUrl, APPLE_KEYS_URL: apple.keysUrl })
  await provide()
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
  await Promise.all([studio, google, apple].map((issuer) => issuer.close()))
})

const oidc = (more: object = {}) => ({ enabled: true, issuer: studio.url, audiences: [AUDIENCE, 'web'], ...more })

async function provide(more: object = {}): Promise<Answer> {
  const platform = { enabled: true, clientIds: [AUDIENCE] }
  const authProviders = {
    google: platform,
    apple: platform,
    oidc: {
      studio: oidc(),
      off: oidc({ enabled: false }),
      named: oidc({ subjectClaim: 'player', nicknameClaim: 'name' }),
      young: oidc({ maxAgeSeconds: 60 }),
      keyed: oidc({ jwksUrl: studio.keysUrl }),
    },
    ...more,
  }
  const answer = await put({ environment: 'production', authProviders })
  expect(answer.status).toBe(200)
  return answer
}

const put = (body: unknown) =>
  game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${game.platformKey}` },
  })

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  game.request('POST', path, {
    body: JSON.stringify(body),
    headers: { 'x-sdk-key': game.sdkKey, ...headers },
  })

const login = (body: object, kind = 'oidc') =>
  post(`${LOGIN}/${kind}`, kind === 'oidc' ? { provider: 'studio', ...body } : body)
const link = (token: string, body: object, kind = 'oidc') =>
  post(`${LOGIN}/${kind}/link`, kind === 'oidc' ? { provider: 'studio', ...body } : body, {
    authorization: `Bearer ${token}`,
  })

let count = 0
const newSubject = (): string => {
  count += 1
  return `subject ${count}`
}
const now = () => Math.floor(Date.now() / 1000)
const query = async (sql: string, values: unknown[] = []) => (await game.app.pool.query(sql, values)).rows

function playerOf({ status, body, text }: Answer): string {
  expect([status, text]).toEqual([200, expect.stringContaining('accessToken')])
  return decodeJwt(body.accessToken).sub ?? expect.fail('no player')
}

const rejected = (...details: [path: string, message: string | RegExp][]) => ({
  code: 'ID_TOKEN_REJECTED',
  message: 'id token rejected',
  details: details.map(([path, message]) => ({
    path,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
  })),
})
const DISABLED = { code: 'SIGN_IN_DISABLED', message: 'sign-in disabled' }
const UNAVAILABLE = { code: 'SIGN_IN_UNAVAILABLE', message: 'sign-in unavailable' }

const SURFACES: readonly [string, (kind: string, body: object) => Promise<unknown>][] = [
  ['REST', async (kind, body) => outcomeOfRest(await login(body, kind))],
  [
    'GraphQL',
    async (kind, body) => {
      const name = `login${kind[0]?.toUpperCase()}${kind.slice(1)}`
      const input = kind === 'oidc' ? { provider: 'studio', ...body } : body
      return outcomeOfGraphql(
        await game.graphql(
          { 'x-sdk-key': game.sdkKey },
          `mutation ($input: ${inputTypeOf(name)}!) { ${name}(input: $input) { accessToken refreshToken } }`,
          { input },
        ),
      )
    },
  ],
]

describe.each(SURFACES)('a login by an ID token over %s', (_surface, loginBy) => {
  it.each([
    ['google', () => google],
    ['apple', () => apple],
    ['oidc', () => studio],
  ])('of %s creates the player of its subject, and finds it again', async (kind, issuer) => {
    const sub = newSubject()
    const first = await login({ idToken: await issuer().token({ sub }), nickname: 'Ada', region: 'eu' }, kind)
    const playerId = playerOf(first)
    const again = await loginBy(kind, { idToken: await issuer().token({ sub }) })
    expect(again).toEqual({ ok: { accessToken: expect.any(String), refreshToken: expect.any(String) } })
    const provider = kind === 'oidc' ? 'oidc:studio' : kind
    expect(await query('SELECT provider, player_id FROM identities WHERE subject = $1', [sub])).toEqual([
      { provider, player_id: playerId },
    ])
    await settled(game.app.pool)
    const created = await query(`SELECT data FROM events WHERE player_id = $1 AND type = 'player.created'`, [playerId])
    expect(created).toEqual([{ data: JSON.stringify({ nickname: 'Ada', provider }) }])
  })

  const claims: [string, () => JWTPayload, string | RegExp][] = [
    ['a foreign audience', () => ({ aud: 'other' }), /another client.*aud/],
    ['no audience', () => ({ aud: undefined }), /aud is missing/],
    ['a foreign authorized party', () => ({ azp: 'other' }), /another client.*azp/],
    ['several audiences and no party', () => ({ aud: [AUDIENCE, 'web'] }), /several audiences/],
    ['a foreign issuer', () => ({ iss: 'https://other.example.com' }), 'it is of another issuer'],
    ['no issuer', () => ({ iss: undefined }), /iss is missing/],
    ['an end in the past', () => ({ exp: now() - 60 }), 'it has expired'],
    ['no end', () => ({ exp: undefined }), /exp is missing/],
    ['no time of issue', () => ({ iat: undefined }), /iat is missing/],
    ['a beginning in the future', () => ({ nbf: now() + 600 }), 'it is not valid yet'],
    ['a number as its subject', () => ({ sub: 5 as never }), /claim sub must be a string/],
    ['an empty subject', () => ({ sub: '' }), /claim sub must be a string/],
    ['no subject', () => ({ sub: undefined }), /claim sub must be a string/],
    ['a subject of 256 characters', () => ({ sub: 'x'.repeat(256) }), /claim sub must be a string/],
    ['a subject with NUL', () => ({ sub: 'a\0' }), /claim sub must be a string/],
  ]
  it.each(claims)('refuses a token with %s, and writes nothing but the login log', async (_what, made, message) => {
    const counts = `SELECT (SELECT count(*) FROM players) AS players, (SELECT count(*) FROM login_log) AS logged`
    const [before] = await query(counts)
    const outcome = await loginBy('oidc', { idToken: await studio.token(made()) })
    expect(outcome).toEqual(rejected(['idToken', message]))
    expect(await query(counts)).toEqual([{ players: before.players, logged: String(Number(before.logged) + 1) }])
  })

  it('accepts several audiences with an authorized party, and a nonce in each form', async () => {
    const nonce = 'a nonce'
    const hashed = (form: 'hex' | 'base64url') => createHash('sha256').update(nonce).digest(form)
    const made: JWTPayload[] = [
      { aud: ['web', AUDIENCE], azp: 'web' },
      ...[nonce, hashed('hex'), hashed('base64url')].map((claim) => ({ nonce: claim })),
    ]
    for (const claims of made) {
      const sub = newSubject()
      // A nonce works once, so each is another one on each surface.
      const own = claims.nonce === undefined ? {} : { iss: studio.url }
      const idToken = await studio.token({ sub, ...claims, ...own })
      await query('TRUNCATE used_nonces')
      const sent = claims.nonce === undefined ? { idToken } : { idToken, nonce }
      expect(await loginBy('oidc', sent)).toEqual({ ok: expect.anything() })
    }
  })

  it.each([
    ['without the nonce of the token', { nonce: 'a' }, {}, 'is required, as the token has one'],
    ['with a nonce that the token lacks', {}, { nonce: 'a' }, 'is not in the token'],
    ['with another nonce', { nonce: 'a' }, { nonce: 'b' }, 'is not the one in the token'],
  ])('refuses a token %s', async (_what, claims, sent, message) => {
    const outcome = await loginBy('oidc', { idToken: await studio.token(claims), ...sent })
    expect(outcome).toEqual(rejected(['nonce', message]))
  })

  it.each([
    ['a disabled provider', 'oidc', { provider: 'off' }],
    ['an unknown provider', 'oidc', { provider: 'unknown' }],
    ['a name that no provider can have', 'oidc', { provider: 'Steam!' }],
  ])('answers sign-in disabled for %s', async (_what, kind, sent) => {
    expect(await loginBy(kind, { idToken: await studio.token(), ...sent })).toEqual(DISABLED)
  })
})

/** Signs by a shared secret, as `alg: HS256` does. */
function signedByHmac(payload: object, header: object, secret: Buffer): string {
  const text = [header, payload].map((part) => base64url.encode(JSON.stringify(part))).join('.')
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

describe('a forged token', () => {
  const usual = () => ({ iss: studio.url, aud: AUDIENCE, sub: 'victim', iat: now(), exp: now() + 600 })
  const part = (value: unknown) => base64url.encode(JSON.stringify(value))
  const pem = () =>
    Buffer.from(
      createPublicKey({ key: studio.publicKey() as never, format: 'jwk' })
        .export({ type: 'spki', format: 'pem' })
        .toString(),
    )

  it.each<[string, () => string | Promise<string>, RegExp]>([
    ['without a signature', () => `${part({ alg: 'none' })}.${part(usual())}.`, /algorithm is not accepted/],
    [
      'signed with the public key as a shared secret',
      () => signedByHmac(usual(), { alg: 'HS256', kid: 'key 1' }, pem()),
      /algorithm is not accepted/,
    ],
    [
      'signed by a key of its own, which it carries and points to',
      async () => {
        const other = await startIssuer('ES256', studio.url)
        const header = { kid: 'key 1', jku: other.keysUrl, jwk: other.publicKey() }
        const token = await other.token({}, header)
        await other.close()
        return token
      },
      /signature does not match/,
    ],
    [
      'by a key whose id leads elsewhere',
      () => studio.token({}, { kid: '../../google/keys' }),
      /key that is none of the issuer/,
    ],
    [
      'with other claims under a true signature',
      async () => {
        const [header, , signature] = (await studio.token()).split('.')
        return `${header}.${part(usual())}.${signature}`
      },
      /signature does not match/,
    ],
    [
      'from a year ahead',
      () =>
        studio.token({
          iat: Math.floor(Date.now() / 1000) + 31_536_000,
          exp: Math.floor(Date.now() / 1000) + 31_539_600,
        }),
      /issued in the future/,
    ],
    ['that is no token', () => 'not a token', /no signed token/],
    ['that is encrypted', () => `${part({ alg: 'dir', enc: 'A256GCM' })}..a.b.c`, /no signed token/],
  ])('%s is refused', async (_what, forge, message) => {
    expect(outcomeOfRest(await login({ idToken: await forge() }))).toEqual(rejected(['idToken', message]))
  })

  it('of Google is no token of Apple, nor of the studio', async () => {
    const idToken = await google.token()
    for (const kind of ['apple', 'oidc']) expect((await login({ idToken }, kind)).status).toBe(401)
  })

  it.each([
    [{}, ['idToken', 'is required']],
    [{ idToken: 'x'.repeat(16_385) }, ['idToken', 'must be 1 to 16384 characters']],
    [{ idToken: 'x', nonce: 'n'.repeat(256) }, ['nonce', 'must be 1 to 255 characters']],
    [{ idToken: 5 }, ['idToken', 'must be a string']],
  ])('request %j is a 400 that names the fault', async (body, [path, message]) => {
    expect(outcomeOfRest(await login(body, 'google'))).toEqual({
      code: 'INVALID_REQUEST',
      message: 'invalid request',
      details: [{ path, message }],
    })
  })
})

describe('the nonce of a token', () => {
  it('works once, also for two logins at once', async () => {
    const token = async () => ({
      idToken: await studio.token({ sub: newSubject(), nonce: `n${count}` }),
      nonce: `n${count}`,
    })
    const used = rejected(['nonce', 'was used before'])
    const once = await token()
    playerOf(await login(once))
    expect(outcomeOfRest(await login(once))).toEqual(used)

    const twice = await token()
    const answers = await Promise.all(times(6, () => login(twice)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401, 401])
    // Each login of a token without a nonce succeeds until it expires.
    const plain = { idToken: await studio.token({ sub: newSubject() }) }
    expect(new Set((await Promise.all([login(plain), login(plain)])).map(playerOf)).size).toBe(1)
  })

  it('is not used up by a refused login, and not by a rehearsal', async () => {
    const sub = newSubject()
    const sent = { idToken: await studio.token({ sub, nonce: 'kept' }), nonce: 'kept' }
    const input = { environment: 'production', provider: 'oidc:studio', ...sent }
    const { data } = await game.graphql(
      game.platformKey,
      `mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) {
        status outcome subject attempts { cause } oddBody { result } } }`,
      { input },
    )
    expect(data.testAuthProvider).toEqual({
      status: 200,
      outcome: 'OK',
      subject: sub,
      attempts: [{ cause: null }],
      oddBody: null,
    })
    expect((await login({ ...sent, provider: 'off' })).status).toBe(401)
    playerOf(await login(sent))
  })
})

describe('what an issuer of the studio says', () => {
  it('names the player by another claim, and gives the nickname on each login', async () => {
    const player = newSubject()
    const named = async (name: unknown) =>
      login({ provider: 'named', idToken: await studio.token({ sub: undefined, player, name }), nickname: 'client' })
    const nickname = async (id: string) => (await query('SELECT nickname FROM players WHERE id = $1', [id]))[0].nickname
    const playerId = playerOf(await named('Ada'))
    expect(await nickname(playerId)).toBe('Ada')
    await named('Grace')
    expect(await nickname(playerId)).toBe('Grace')
    for (const ignored of ['', undefined, 5, 'x'.repeat(1025)]) await named(ignored)
    expect(await nickname(playerId)).toBe('Grace')
    const log = await query(`SELECT notes FROM login_log WHERE provider = 'oidc:named' ORDER BY id`)
    expect(log.map(({ notes }) => notes)).toEqual([
      '[]',
      '[]',
      '[]',
      '[]',
      '["nickname ignored"]',
      '["nickname ignored"]',
    ])
  })

  it('is only accepted for a time, when the provider says so', async () => {
    const sent = async (age: number) => ({ provider: 'young', idToken: await studio.token({ iat: now() - age }) })
    playerOf(await login(await sent(30)))
    expect(outcomeOfRest(await login(await sent(120)))).toEqual(rejected(['idToken', 'it is too old']))
  })

  it('counts per provider: the same subject of two issuers is two players', async () => {
    const idToken = await studio.token({ sub: newSubject() })
    const [one, two] = [await login({ idToken }), await login({ idToken, provider: 'keyed' })].map(playerOf)
    expect(one).not.toBe(two)
  })
})

describe('a link by an ID token', () => {
  it('attaches the subject, so that it logs the player in, and answers 204 again', async () => {
    const player = await game.player()
    const sub = newSubject()
    for (const _ of times(2, () => 0)) {
      const answer = await link(player.token, { idToken: await google.token({ sub }) }, 'google')
      expect([answer.status, answer.text]).toEqual([204, ''])
    }
    expect(playerOf(await login({ idToken: await google.token({ sub }) }, 'google'))).toBe(player.playerId)
    const { body } = await player.post('/sdk/v1/player/get', {})
    expect(body.identities).toEqual([{ provider: 'google', subject: sub }])
  })

  it('of a subject of another player is 409, whoever comes first of many at once', async () => {
    const sub = newSubject()
    const players = await Promise.all(times(4, () => game.player()))
    const answers = await Promise.all(
      players.map(async ({ token }) => link(token, { idToken: await studio.token({ sub }) })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409, 409, 409])
    const { data, errors } = await game.graphql(
      { authorization: `Bearer ${players[0]?.token}`, 'x-sdk-key': game.sdkKey },
      'mutation ($input: LinkOidcInput!) { linkOidc(input: $input) { identity { provider subject } } }',
      { input: { provider: 'studio', idToken: await studio.token({ sub: newSubject() }) } },
    )
    expect(errors).toBeUndefined()
    expect(data.linkOidc.identity).toEqual({ provider: 'oidc:studio', subject: `subject ${count}` })
  })
})

describe('the keys of an issuer', () => {
  it('are read once for many logins, and again for a new key, but not for each unknown one', async () => {
    const issuer = await startIssuer('EdDSA')
    await provide({ oidc: { studio: oidc(), fresh: oidc({ issuer: issuer.url }) } })
    const sent = async (header = {}) =>
      login({ provider: 'fresh', idToken: await issuer.token({ sub: newSubject() }, header) })
    for (const answer of await Promise.all(times(5, () => sent()))) playerOf(answer)
    expect(issuer.reads()).toBe(1)
    await issuer.rotate()
    playerOf(await sent())
    expect(issuer.reads()).toBe(2)
    for (const { status, headers } of await Promise.all(times(5, (index) => sent({ kid: `unknown ${index}` }))))
      expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    expect(issuer.reads()).toBe(2)
    await issuer.close()
    await provide()
  })

  it('are read once a minute for keys that they lack, and a forged key never refuses a good one for good', async () => {
    const issuer = await startIssuer('RS256')
    let now = 0
    const read = async (url: string) => (await fetch(url)).json()
    const find = createKeySets({ read }, () => now).keysOf({ jwksUrl: issuer.keysUrl, issuer: issuer.url })
    const outcome = async (kid: string) => {
      const token = { payload: '', signature: '' }
      const found = await Promise.resolve(find({ alg: 'RS256', kid }, token)).catch((error) => error)
      return [found instanceof Error ? found.constructor.name : 'found', issuer.reads()]
    }
    expect(await outcome('key 1')).toEqual(['found', 1])
    expect(await outcome('forged')).toEqual(['JWKSNoMatchingKey', 2])
    expect(await outcome('forged')).toEqual(['JWKSNoMatchingKey', 2])
    await issuer.rotate()
    expect(await outcome('key 2')).toEqual(['DocumentFault', 2])
    now += 60_000
    expect(await outcome('key 2')).toEqual(['found', 3])
    await issuer.close()
  })

  it('may be compressed, and may begin with a byte order mark', async () => {
    const issuer = await startIssuer('RS256')
    const keys = `\ufeff${JSON.stringify({ keys: [issuer.publicKey()] })}`
    issuer.answerKeys(
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(keys)),
    )
    await provide({ oidc: { fresh: oidc({ issuer: issuer.url }) } })
    playerOf(await login({ provider: 'fresh', idToken: await issuer.token({ sub: newSubject() }) }))
    await issuer.close()
    await provide()
  })

  it.each<[string, Parameters<TestIssuer['answerKeys']>[0]]>([
    [
      'that are short only while they are compressed',
      (_request, response) =>
        void response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync(`{"keys":["${'x'.repeat(10_000_000)}"]}`)),
    ],
    ['that fail', (_request, response) => void response.writeHead(500).end()],
    ['that redirect', (_request, response) => void response.writeHead(302, { location: studio.keysUrl }).end()],
    ['that are HTML', (_request, response) => void response.end('<html>')],
    ['that are no key set', (_request, response) => void response.end('{"keys":5}')],
    ['of ten megabytes', (_request, response) => void response.end(`{"keys":["${'x'.repeat(10_000_000)}"]}`)],
    ['that break off', (_request, response) => void response.write('{"keys":[', () => response.destroy())],
    [
      'that drip',
      (_request, response) => {
        const drip = setInterval(() => response.write(' '), 100)
        response.once('close', () => clearInterval(drip))
      },
    ],
  ])('%s make the sign-in unavailable, and the next attempt can succeed', async (_what, answer) => {
    const issuer = await startIssuer('RS256')
    issuer.answerKeys(answer)
    await provide({ oidc: { studio: oidc(), fresh: oidc({ issuer: issuer.url }) } })
    const sent = async () => login({ provider: 'fresh', idToken: await issuer.token({ sub: newSubject() }) })
    const refused = await sent()
    expect(outcomeOfRest(refused)).toEqual(UNAVAILABLE)
    expect(refused.headers.get('retry-after')).toBe('1')
    issuer.answerKeys(undefined)
    await expect.poll(async () => (await sent()).status, { timeout: 10_000, interval: 300 }).toBe(200)
    await issuer.close()
    await provide()
  })

  it('of an issuer whose configuration names another one are not used', async () => {
    await provide({ oidc: { studio: oidc(), wrong: oidc({ issuer: `${studio.url}/` }) } })
    const sent = { provider: 'wrong', idToken: await studio.token({ iss: `${studio.url}/` }) }
    expect(outcomeOfRest(await login(sent))).toEqual(UNAVAILABLE)
    await provide()
  })

  it('stay while the issuer is away', async () => {
    const issuer = await startIssuer('RS256')
    await provide({ oidc: { fresh: oidc({ issuer: issuer.url }) } })
    const sent = async () => login({ provider: 'fresh', idToken: await issuer.token({ sub: newSubject() }) })
    playerOf(await sent())
    await issuer.close()
    playerOf(await sent())
    await provide()
  })
})

describe('the settings of issuers (contract 4.3)', () => {
  it('are answered as they are stored, and change for the next login', async () => {
    const { body } = await provide()
    expect(body.notices).toBeUndefined()
    expect(body.authProviders.google).toEqual({ enabled: true, clientIds: [AUDIENCE] })
    expect(body.authProviders.oidc.young).toEqual({
      enabled: true,
      issuer: studio.url,
      audiences: [AUDIENCE, 'web'],
      jwksUrl: null,
      subjectClaim: 'sub',
      nicknameClaim: null,
      maxAgeSeconds: 60,
      updatedAt: expect.any(String),
    })
    const idToken = await google.token({ sub: newSubject() })
    playerOf(await login({ idToken }, 'google'))
    await put({ environment: 'production', authProviders: { google: { enabled: false, clientIds: [AUDIENCE] } } })
    expect(outcomeOfRest(await login({ idToken }, 'google'))).toEqual(DISABLED)
    await put({ environment: 'production', authProviders: { google: { enabled: true, clientIds: ['other'] } } })
    expect(outcomeOfRest(await login({ idToken }, 'google'))).toEqual(rejected(['idToken', /another client/]))
    // Sent back as it was read, it changes nothing.
    const read = (await provide()).body.authProviders
    expect((await put({ environment: 'production', authProviders: { oidc: read.oidc } })).body.authProviders).toEqual(
      read,
    )
    const { oidc: _, ...without } = (await provide({ oidc: {} })).body.authProviders
    expect(_).toBeUndefined()
    expect(without.google).toEqual(read.google)
    await provide()
  })

  it('refuse faulty issuers with every fault at once', async () => {
    const { status, body } = await put({
      environment: 'production',
      authProviders: {
        oidc: {
          Bad: oidc(),
          faulty: {
            enabled: 'yes',
            issuer: 'http://a.example.com?x',
            audiences: [],
            jwksUrl: 'ftp://a',
            maxAgeSeconds: 0,
          },
          google: oidc(),
          text: 'x',
        },
        device: { enabled: 1 },
      },
    })
    expect(status).toBe(400)
    expect(body.details.map(({ path }: { path: string }) => path).sort()).toEqual(
      [
        'Bad',
        'faulty.audiences',
        'faulty.enabled',
        'faulty.issuer',
        'faulty.jwksUrl',
        'faulty.maxAgeSeconds',
        'google',
        'text',
      ]
        .map((name) => `authProviders.oidc.${name}`)
        .concat('authProviders.device.enabled')
        .sort(),
    )
  })

  it('tell what a block of Google lacks, and keep one that is meant for something else', async () => {
    const { body } = await provide({ google: { enabled: true, clientSecret: 's' }, apple: { teamId: 't' } })
    expect(body.notices).toEqual([
      {
        path: 'authProviders.google.clientIds',
        message: 'is required: no login uses the block until then',
      },
    ])
    expect(outcomeOfRest(await login({ idToken: await google.token() }, 'google'))).toEqual(DISABLED)
    const { data } = await game.graphql(
      game.platformKey,
      'query { authProviders(environment: "production") { google apple missing { path message } oidc { name issuer } } }',
    )
    expect(data.authProviders[0]).toMatchObject({
      google: { enabled: true },
      apple: { teamId: 't' },
      missing: [
        { path: 'authProviders.google.clientIds', message: 'is required' },
        { path: 'authProviders.apple.enabled', message: 'is required' },
        { path: 'authProviders.apple.clientIds', message: 'is required' },
      ],
    })
    await provide()
  })
})

describe('the login log', () => {
  it.each([
    ['google', () => google],
    ['oidc', () => studio],
  ])(
    'has nothing of a deleted player of %s, not even of attempts that do not name the player',
    async (kind, issuer) => {
      const sub = newSubject()
      const playerId = playerOf(await login({ idToken: await issuer().token({ sub }) }, kind))
      const other = await game.player()
      expect((await link(other.token, { idToken: await issuer().token({ sub }) }, kind)).status).toBe(409)
      const logged = () => query('SELECT outcome FROM login_log WHERE subject = $1 ORDER BY id', [sub])
      expect(await logged()).toEqual([{ outcome: 'ok' }, { outcome: 'identity_already_linked' }])
      const deleted = await game.graphql(
        game.platformKey,
        'mutation ($input: DeletePlayerInput!) { deletePlayer(input: $input) { player { status } } }',
        { input: { playerId, reason: 'test' } },
      )
      expect(deleted.errors).toBeUndefined()
      expect(await logged()).toEqual([])
      expect((await login({ idToken: await issuer().token({ sub }) }, kind)).body.error).toBe('player deleted')
    },
  )

  it('has each login by a token that was checked, with the reason of a refusal, and the statistics count it', async () => {
    await query('TRUNCATE login_log')
    const sub = newSubject()
    playerOf(await login({ idToken: await apple.token({ sub }) }, 'apple'))
    await login({ idToken: await apple.token({ aud: 'other' }) }, 'apple')
    const { data } = await game.graphql(
      game.platformKey,
      `query { loginLog(environment: "production", first: 5) { nodes {
        provider subject outcome operation attempts { cause status } } } }`,
    )
    expect(data.loginLog.nodes).toEqual([
      {
        provider: 'apple',
        subject: null,
        outcome: 'ID_TOKEN_REJECTED',
        operation: 'LOGIN',
        attempts: [{ cause: expect.stringContaining('another client'), status: null }],
      },
      { provider: 'apple', subject: sub, outcome: 'OK', operation: 'LOGIN', attempts: [{ cause: null, status: null }] },
    ])
  })
})
