import { createPublicKey, randomUUID } from 'node:crypto'
import { type CryptoKey, decodeJwt, decodeProtectedHeader, importJWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createProject } from '../../src/callers/projects.ts'
import { generateTokenKey, type TokenKey } from '../../src/callers/tokens.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { season } from '../harness/definitions.ts'
import { type Answer, type Game, startGame, startInstance, type TestPlayer } from '../harness/game.ts'

const PROGRESS = '/sdk/v1/battlepass/progress'
const PLACE = print({ scenarioId: 'season', nodeId: 'pass' })
const DAY = 86_400

let game: Game
let player: TestPlayer
let newKey: TokenKey
let oldKey: TokenKey

beforeAll(async () => {
  ;[newKey, oldKey] = [await generateTokenKey(), await generateTokenKey()]
  game = await startGame({ TOKEN_KEYS: JSON.stringify([newKey, oldKey]) })
  await game.publish('season', season())
  player = await game.player()
})
afterAll(async () => {
  await game.stop()
})

const now = () => Math.floor(Date.now() / 1000)
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function claims(): Record<string, unknown> {
  return {
    iss: 'tierway',
    aud: 'tierway',
    sub: player.playerId,
    prj: game.projectId,
    env: game.environmentId,
    iat: now(),
    exp: now() + DAY,
    jti: randomUUID(),
  }
}

const header = (key = newKey) => ({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid })

/** Signs any payload with a key of the service, so that only the contents make a token invalid. */
async function sign(payload: Record<string, unknown>, head: Record<string, unknown> = {}, key = newKey) {
  const privateKey = (await importJWK(key, 'EdDSA')) as CryptoKey
  const protectedHeader = Object.fromEntries(
    Object.entries({ ...header(key), ...head }).filter(([, value]) => value !== undefined),
  ) as unknown as JWTHeaderParameters
  return new SignJWT(payload).setProtectedHeader(protectedHeader).sign(privateKey)
}

const call = (authorization: string, path = PROGRESS, body = PLACE): Promise<Answer> =>
  game.request('POST', path, { body, headers: { authorization } })

async function expectRefused(authorization: string): Promise<void> {
  // Twice, since verified tokens are cached.
  for (const answer of [await call(authorization), await call(authorization)])
    expect([answer.status, answer.body.error, answer.body.code]).toEqual([401, 'invalid token', 'invalid_token'])
}

describe('an access token (contract 5, contract 8)', () => {
  it('is accepted, as is one that the test signs with the same claims', async () => {
    expect((await call(`Bearer ${player.token}`)).status).toBe(200)
    expect((await call(`Bearer ${await sign(claims())}`)).status).toBe(200)
    expect((await call(`bearer  ${player.token}`)).status).toBe(200)
  })
})

describe('a request without a valid token (contract 5)', () => {
  const publicKeys = async () => (await game.request('GET', '/.well-known/jwks.json')).body.keys

  it.each(['none', 'None', 'NONE', ''])('is refused with an unsigned token: alg "%s"', async (alg) => {
    for (const signature of ['', 'AAAA']) {
      await expectRefused(`Bearer ${base64url({ ...header(), alg })}.${base64url(claims())}.${signature}`)
    }
  })

  it('is refused with the id of another player and the signature of a valid token', async () => {
    const other = await game.player()
    const [head, , signature] = player.token.split('.')
    expect((await call(`Bearer ${player.token}`)).status).toBe(200)
    const payload = base64url({ ...decodeJwt(player.token), sub: other.playerId })
    await expectRefused(`Bearer ${head}.${payload}.${signature}`)
    await expectRefused(`Basic ${player.token}`)
    await expectRefused(player.token)
    expect((await call(`Bearer ${player.token}`)).status).toBe(200)
  })

  it('is refused with a token signed with HS256 and the public key, in every encoding', async () => {
    const [jwk] = await publicKeys()
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    const secrets = [
      Buffer.from(jwk.x, 'base64url'),
      Buffer.from(jwk.x),
      Buffer.from(JSON.stringify(jwk)),
      publicKey.export({ type: 'spki', format: 'pem' }) as string,
      publicKey.export({ type: 'spki', format: 'der' }) as Buffer,
    ]
    for (const secret of secrets) {
      const forged = new SignJWT(claims()).setProtectedHeader({ ...header(), alg: 'HS256' })
      await expectRefused(`Bearer ${await forged.sign(Buffer.from(secret))}`)
    }
  })

  it.each([
    ['an unknown kid', { kid: 'unknown' }],
    ['the kid of another valid key', { kid: () => oldKey.kid }],
    ['no kid', { kid: undefined }],
    ['a property of every object as kid', { kid: 'constructor' }],
    ['another typ', { typ: 'JWT' }],
    ['a refresh typ', { typ: 'rt+jwt' }],
    ['no typ', { typ: undefined }],
  ])('is refused with %s', async (_, head) => {
    const { kid, ...others } = head as { kid?: string | (() => string) }
    const changed = 'kid' in head ? { ...others, kid: typeof kid === 'function' ? kid() : kid } : others
    await expectRefused(`Bearer ${await sign(claims(), changed)}`)
  })

  it('is refused with a foreign signing key, under any kid or embedded in the token header', async () => {
    const foreign = await generateTokenKey()
    const { d: _, ...jwk } = foreign
    for (const head of [{ kid: newKey.kid }, {}, { kid: newKey.kid, jwk }, { jwk }]) {
      await expectRefused(`Bearer ${await sign(claims(), head, foreign)}`)
    }
  })

  it.each(['iss', 'aud', 'sub', 'prj', 'env', 'iat', 'exp', 'jti'])('is refused without the claim %s', async (name) => {
    const { [name]: _, ...others } = claims()
    await expectRefused(`Bearer ${await sign(others)}`)
  })

  it.each([
    ['that is expired', () => ({ iat: now() - DAY - 1, exp: now() - 1 })],
    ['that is not valid yet', () => ({ nbf: now() + 1000 })],
    ['of another issuer', () => ({ iss: 'other' })],
    ['for another audience', () => ({ aud: 'other' })],
    ['whose exp is a string', () => ({ exp: String(now() + DAY) })],
    ['whose sub is a number', () => ({ sub: 7 })],
    ['whose prj is a list', () => ({ prj: [game.projectId] })],
    ['whose env is null', () => ({ env: null })],
    ['of an unknown player', () => ({ sub: '00000000-0000-7000-8000-000000000000' })],
    ['of a player with an invalid id', () => ({ sub: 'admin' })],
    ['of a player with its id in another case', () => ({ sub: player.playerId.toUpperCase() })],
    ['of a project with an invalid id', () => ({ prj: '*' })],
    ['of an environment with an invalid id', () => ({ env: "' OR 1=1 --" })],
  ])('is refused with a token %s', async (_, change) => {
    await expectRefused(`Bearer ${await sign({ ...claims(), ...change() })}`)
  })

  it('is refused with a token whose player and environment do not match', async () => {
    const { environments } = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    const environmentId = environments.get('production') ?? ''
    const other = await game.app.service.run(createPlayer(environmentId, null))
    await expectRefused(`Bearer ${await sign({ ...claims(), sub: other.playerId })}`)
    await expectRefused(`Bearer ${await sign({ ...claims(), env: environmentId })}`)
  })

  it('is refused with a token that is changed or truncated anywhere', async () => {
    const [head = '', payload = '', signature = ''] = player.token.split('.')
    const promoted = base64url({ ...decodeJwt(player.token), sub: '00000000-0000-7000-8000-000000000000' })
    const changed = [
      `${head}.${promoted}.${signature}`,
      `${head}.${payload}.${signature.slice(0, -4)}`,
      `${head}.${payload}.`,
      `${head}.${payload}`,
      `${head}.${payload}.${signature}.`,
      `${head}..${signature}`,
      `.${payload}.${signature}`,
      '..',
      '...',
      `${player.token}A`,
      player.token.slice(1),
      player.token.slice(0, player.token.length / 2),
      `${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
    ]
    for (const token of changed) await expectRefused(`Bearer ${token}`)
  })

  it('is refused with a token of 8 KB, even with a valid signature', async () => {
    await expectRefused(`Bearer ${'A'.repeat(8192)}`)
    await expectRefused(`Bearer ${await sign({ ...claims(), padding: 'x'.repeat(6000) })}`)
  })

  it.each([
    ['nothing', ''],
    ['only the scheme', 'Bearer'],
    ['the scheme and a space', 'Bearer '],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['two tokens', 'Bearer a b'],
    ['the word undefined', 'Bearer undefined'],
    ['a refresh token', `Bearer twrt_${'A'.repeat(43)}`],
    ['an SDK key', `Bearer twsdk_${'A'.repeat(43)}`],
  ])('is refused with %s in the header', async (_, authorization) => {
    await expectRefused(authorization)
  })

  it('is refused without the header, whatever the body is', async () => {
    for (const body of [PLACE, '', '[']) {
      const { status, body: answer } = await game.request('POST', PROGRESS, { body })
      expect([status, answer.error]).toEqual([401, 'invalid token'])
    }
  })

  it('is refused with the token only in the query string or in the body', async () => {
    const path = `${PROGRESS}?authorization=Bearer%20${player.token}&access_token=${player.token}`
    const named = { authorization: `Bearer ${player.token}`, access_token: player.token, accessToken: player.token }
    const body = JSON.stringify({ ...named, ...JSON.parse(PLACE) })
    const form = new URLSearchParams(named)
    const FORM = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }
    for (const answer of [
      await game.request('POST', path, { body: PLACE }),
      await game.request('POST', PROGRESS, { body }),
      await game.request('POST', PROGRESS, { body: String(form), headers: FORM }),
    ])
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid token'])
    // With the token in the header, the same body is accepted.
    expect((await call(`Bearer ${player.token}`, PROGRESS, body)).status).toBe(200)
  })
})

describe('token keys', () => {
  it('are served as a JWKS without their private parts', async () => {
    const { status, body, text } = await game.request('GET', '/.well-known/jwks.json')
    expect(status).toBe(200)
    const shown = ({ kty, crv, kid, x }: TokenKey) => ({ kty, crv, kid, x, alg: 'EdDSA', use: 'sig' })
    expect(body).toEqual({ keys: [shown(newKey), shown(oldKey)] })
    for (const { d } of [newKey, oldKey]) expect(text).not.toContain(d)
  })

  it('all verify tokens, and the first one signs', async () => {
    expect(decodeProtectedHeader(player.token).kid).toBe(newKey.kid)
    for (const key of [newKey, oldKey]) expect((await call(`Bearer ${await sign(claims(), {}, key)}`)).status).toBe(200)
  })

  it('stop verifying tokens once they are removed', async () => {
    const instance = await startInstance(game.databaseUrl, { TOKEN_KEYS: JSON.stringify([newKey]) })
    const url = `${instance.baseUrl}${PROGRESS}`
    const statuses = []
    for (const key of [newKey, oldKey]) {
      const headers = { authorization: `Bearer ${await sign(claims(), {}, key)}` }
      statuses.push((await fetch(url, { method: 'POST', headers, body: PLACE })).status)
    }
    await instance.stop()
    expect(statuses).toEqual([200, 401])
  })
})

describe('platform keys', () => {
  const path = () => `/platform/v1/projects/${game.projectId}/scenarios/season?environment=production`
  const read = (authorization: string) => game.request('GET', path(), { headers: { authorization } })

  it('are refused on player endpoints, and player tokens on platform endpoints', async () => {
    await expectRefused(`Bearer ${game.platformKey}`)
    const { status, body } = await read(`Bearer ${player.token}`)
    expect([status, body.error]).toEqual([401, 'invalid token'])
  })

  it.each([
    ['unknown', () => `Bearer twplat_${'A'.repeat(43)}`],
    ['truncated', () => `Bearer ${game.platformKey.slice(0, -1)}`],
    ['too long', () => `Bearer ${game.platformKey}A`],
    ['only the prefix', () => 'Bearer twplat_'],
    ['in another case', () => `Bearer ${game.platformKey.toUpperCase()}`],
    ['without its scheme', () => game.platformKey],
    ['of 8 KB', () => `Bearer twplat_${'A'.repeat(8192)}`],
    ['missing', () => ''],
  ])('are refused when they are %s', async (_, authorization) => {
    const { status, body } = await read(authorization())
    expect([status, body.error]).toEqual([401, 'invalid token'])
  })

  it('are stored only as a prefix and a hash', async () => {
    const { rows } = await game.app.pool.query('SELECT prefix, hash FROM platform_keys')
    expect(rows.length).toBeGreaterThan(0)
    for (const { prefix, hash } of rows) expect([prefix.length, hash.length]).toEqual([12, 32])
  })
})
