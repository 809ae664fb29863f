import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, importJWK, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createServerKey } from '../../src/callers/keys.ts'
import { generateTokenKey, type TokenKey } from '../../src/callers/tokens.ts'
import {
  createServerClient,
  createTokenVerifier,
  type ServerClientOptions,
  type TokenVerifierOptions,
} from '../../src/sdk/server.ts'
import { season } from '../harness/definitions.ts'
import { type Game, type Instance, startGame, startInstance, type TestPlayer } from '../harness/game.ts'
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts'
import { newOperator } from '../support/desk.ts'

let game: Game
let player: TestPlayer
let signingKey: TokenKey

beforeAll(async () => {
  signingKey = await generateTokenKey()
  game = await startGame({ TOKEN_KEYS: JSON.stringify([signingKey]) })
  await game.publish('season', season())
  player = await game.player()
})
afterAll(() => game?.stop())

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

const verifierFor = (options: Partial<TokenVerifierOptions> = {}) =>
  createTokenVerifier({ url: game.baseUrl, environmentId: game.environmentId, ...options })

const seconds = () => Math.floor(Date.now() / 1000)

/** Signs a token like the service, with changes. */
async function sign(change: Record<string, unknown> = {}, header: Record<string, unknown> = {}, key = signingKey) {
  const registered = { iss: 'tierway', aud: 'tierway', sub: player.playerId, iat: seconds(), jti: randomUUID() }
  const claims = { ...registered, exp: seconds() + 600, prj: game.projectId, env: game.environmentId, ...change }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid, ...header })
    .sign((await importJWK(key, 'EdDSA')) as CryptoKey)
}

/** An HTTP server of the test: what is between the service and a game server. */
async function listen(respond: (attempt: number) => Response | Promise<Response> | undefined) {
  let attempts = 0
  const server = createServer(async (_request, response) => {
    attempts += 1
    const answer = await respond(attempts)
    if (answer) response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, attempts: () => attempts }
}

const refused = (code: string) => expect.objectContaining({ name: 'TokenError', code })

describe('a verifier of access tokens', () => {
  it('answers the player, its environment and login, and the claims with exact integers', async () => {
    const loginId = randomUUID()
    const token = await game.app.tokens.issueAccessToken({
      ...{ environmentId: game.environmentId, playerId: player.playerId, projectId: game.projectId },
      tokenId: `${loginId}.${randomUUID()}`,
      claims: '{"rank":9007199254740993,"region":"eu"}',
    })
    const verifier = verifierFor({ url: `${game.baseUrl}/` })
    const { expiresAt, ...said } = await verifier.verify(token)
    expect(said).toEqual({
      playerId: player.playerId,
      projectId: game.projectId,
      environmentId: game.environmentId,
      loginId,
      claims: { rank: 9_007_199_254_740_993n, region: 'eu' },
    })
    expect(expiresAt.getTime()).toBeGreaterThan(Date.now())
    expect(await verifier.verify(player.token)).toMatchObject({ loginId: null, claims: null })
  })

  it('refuses an operator token as one of no player', async () => {
    const { caller } = await newOperator(game.app.pool, game.projectId, 'admin')
    const { token } = await game.app.tokens.issueOperatorToken({
      ...{ projectId: game.projectId, keyId: caller.keyId, role: 'admin', actor: 'Ada', seconds: 600 },
    })
    await expect(verifierFor().verify(token)).rejects.toEqual(refused('not_player_token'))
  })

  it('refuses a token of another environment', async () => {
    const verifier = verifierFor({ environmentId: game.stagingId })
    await expect(verifier.verify(player.token)).rejects.toEqual(refused('other_environment'))
  })

  it('refuses an expired token, but for the difference of the clocks', async () => {
    const token = await sign({ exp: seconds() - 60 })
    await expect(verifierFor().verify(token)).rejects.toEqual(refused('token_expired'))
    await expect(verifierFor({ toleranceSeconds: 0 }).verify(token)).rejects.toEqual(refused('token_expired'))
    expect(await verifierFor({ toleranceSeconds: 300 }).verify(token)).toMatchObject({ playerId: player.playerId })
  })

  it.each<[string, () => unknown]>([
    ['no text', () => undefined],
    ['no token', () => 'Bearer'],
    ['a platform key', () => game.platformKey],
    ['a token with its scheme', () => `Bearer ${player.token}`],
    ['a token that is changed', () => `${player.token.slice(0, -8)}AAAAAAAA`],
    ['a token of 8 KB', () => sign({ padding: 'x'.repeat(6_000) })],
    ['a token that names no key', () => sign({}, { kid: undefined })],
    ['a token that names an unknown key', () => sign({}, { kid: 'unknown' })],
    [
      'a token of another key under a known name',
      async () => sign({}, { kid: signingKey.kid }, await generateTokenKey()),
    ],
    ['a token of another issuer', () => sign({ iss: 'other' })],
    ['a token for another audience', () => sign({ aud: 'other' })],
    ['a token that is not valid yet', () => sign({ nbf: seconds() + 600 })],
    ['a token without an id', () => sign({ jti: undefined })],
    ['a token of a player with an invalid id', () => sign({ sub: 'admin' })],
    ['a token of an environment with an invalid id', () => sign({ env: ['production'] })],
    ['an unsigned token', () => `${btoa('{"alg":"none","typ":"at+jwt"}')}.${player.token.split('.')[1]}.`],
  ])('refuses %s', async (_what, make) => {
    await expect(verifierFor().verify((await make()) as string)).rejects.toEqual(refused('invalid_token'))
  })

  it('names every faulty option', () => {
    const options = { url: 'play.example.com', environmentId: 'production', toleranceSeconds: 3_600, timeoutMs: 0.5 }
    const paths = ['url', 'environmentId', 'toleranceSeconds', 'timeoutMs']
    expect(() => createTokenVerifier(options)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: paths.map((path) => expect.objectContaining({ path })),
      }),
    )
  })
})

describe('the keys of a verifier', () => {
  /** The service behind a proxy, with keys that the test replaces by starting another instance. */
  async function rotating() {
    const instances: Instance[] = []
    const proxy: TcpProxy = await startTcpProxy(() => instances.at(-1)?.baseUrl ?? '')
    open.push(
      () => proxy.close(),
      () => Promise.all(instances.map((one) => one.stop())),
    )
    return {
      proxy,
      async use(...keys: readonly TokenKey[]) {
        instances.push(await startInstance(game.databaseUrl, { TOKEN_KEYS: JSON.stringify(keys) }))
        proxy.cut()
      },
    }
  }

  it('follow a rotation: a new key at its first token, and the old one until the service drops it', async () => {
    const [first, second] = [await generateTokenKey(), await generateTokenKey()]
    const service = await rotating()
    await service.use(first)
    const verifier = verifierFor({ url: service.proxy.baseUrl, keysCooldownMs: 1, keysMaxAgeMs: 2 ** 31 - 1 })
    const short = verifierFor({ url: service.proxy.baseUrl, keysCooldownMs: 1, keysMaxAgeMs: 1 })
    const [old, next] = [await sign({}, {}, first), await sign({}, {}, second)]
    for (const one of [verifier, short]) {
      await one.verify(old)
      await expect(one.verify(next)).rejects.toEqual(refused('invalid_token'))
    }
    await service.use(second, first)
    for (const one of [verifier, short]) {
      await one.verify(next)
      await one.verify(old)
    }
    await service.use(second)
    await expect(short.verify(old)).rejects.toEqual(refused('invalid_token'))
    await short.verify(next)
    // The keys are read again only when they are old, or do not have one.
    await verifier.verify(old)
  })

  it('go on while the service is away, and are read once it is back', async () => {
    const [first, second] = [await generateTokenKey(), await generateTokenKey()]
    const service = await rotating()
    await service.use(first)
    const verifier = verifierFor({ url: service.proxy.baseUrl, keysCooldownMs: 1, keysMaxAgeMs: 1 })
    const [old, next] = [await sign({}, {}, first), await sign({}, {}, second)]
    service.proxy.cut({ refuse: true })
    await expect(verifier.verify(old)).rejects.toEqual(refused('keys_unreachable'))
    service.proxy.restore()
    await verifier.verify(old)
    service.proxy.cut({ refuse: true })
    await verifier.verify(old)
    await expect(verifier.verify(next)).rejects.toEqual(refused('keys_unreachable'))
    await service.use(second)
    service.proxy.restore()
    await verifier.verify(next)
    await expect(verifier.verify(old)).rejects.toEqual(refused('invalid_token'))
  })

  it('are unreachable when a page or a silent server answers for the service', async () => {
    const page = await listen(() => new Response('<html>', { headers: { 'content-type': 'text/html' } }))
    const failing = await listen(() => new Response('{"keys":[]}', { status: 503 }))
    const silent = await listen(() => undefined)
    for (const { url } of [page, failing, silent])
      await expect(verifierFor({ url, timeoutMs: 50 }).verify(player.token)).rejects.toEqual(
        refused('keys_unreachable'),
      )
  })

  it('are read once for many tokens, and unknown keys do not read them more often', async () => {
    const keys = await (await fetch(`${game.baseUrl}/.well-known/jwks.json`)).text()
    const server = await listen(() => new Response(keys))
    const verifier = verifierFor({ url: server.url, keysCooldownMs: 600_000 })
    await Promise.all(Array.from({ length: 50 }, () => verifier.verify(player.token)))
    for (let at = 0; at < 50; at += 1)
      await expect(verifier.verify(await sign({}, { kid: `unknown-${at}` }))).rejects.toEqual(refused('invalid_token'))
    expect(server.attempts()).toBe(1)
  })
})

describe('a client for game servers', () => {
  let key: string

  beforeAll(async () => {
    key = (await createServerKey(game.app.pool, game.environmentId)).key
    await game.app.pool.query('INSERT INTO identities VALUES ($1, $2, $3, $4)', [
      ...[game.environmentId, 'custom', 'ada', player.playerId],
    ])
  })

  const clientFor = (options: Partial<ServerClientOptions> = {}) =>
    createServerClient({ url: game.baseUrl, key, ...options })

  const ADA = { provider: 'custom', subject: 'ada' }

  it('has the calls of the table in docs/server.md, and no other', async () => {
    const page = await readFile(new URL('../../docs/server.md', import.meta.url), 'utf8')
    const calls = [...page.matchAll(/^\| `\/server\/v1\/\S+` \| `(\w+)` \|/gm)].map(([, name]) => name)
    expect(Object.keys(clientFor())).toEqual(calls)
  })

  it('finds a player by its identity', async () => {
    expect(await clientFor().findPlayer(ADA)).toMatchObject({ playerId: player.playerId, identities: [ADA] })
    // The name that the provider has in the settings and in the login log is taken, too.
    expect(await clientFor().findPlayer({ ...ADA, provider: 'default' })).toMatchObject({ playerId: player.playerId })
    const error = await clientFor()
      .findPlayer({ ...ADA, subject: 'nobody' })
      .catch((thrown) => thrown)
    expect([error.name, error.code, error.status]).toEqual(['TierwayError', 'player_not_found', 404])
    expect(error.requestId).toEqual(expect.any(String))
  })

  it('reads the progress of several players', async () => {
    const players = [ADA, { playerId: player.playerId }, { ...ADA, subject: 'nobody' }]
    const { results } = await clientFor().readProgress({ players, scenarioId: 'season', nodeId: 'pass' })
    const known = { playerId: player.playerId, level: 1, xp: 0n, premiumOwned: false, claimedTiers: [], error: null }
    const nobody = { playerId: null, level: null, xp: null, premiumOwned: null, claimedTiers: null }
    expect(results).toEqual([known, known, { ...nobody, error: 'player not found' }])
  })

  it('repeats a change whose answer was lost with its key, so that it takes effect once', async () => {
    const fresh = await game.player({ wallet: { gold: 5n } })
    const sent: string[] = []
    let lost = 0
    const client = clientFor({
      fetch: async (url, init) => {
        sent.push(init.body)
        const answer = await fetch(url, init)
        if (sent.length <= lost) throw new TypeError('the answer was lost')
        return answer
      },
    })
    const who = { playerId: fresh.playerId }
    const grant = { player: who, scenarioId: 'season', nodeId: 'pass', amount: 60n, source: 'match' }
    lost = 2
    const { results } = await client.grantXp({ grants: [grant, { ...grant, player: { ...ADA, subject: 'nobody' } }] })
    expect(results).toMatchObject([
      { playerId: fresh.playerId, xp: 60n, error: null },
      { playerId: null, xp: null, error: 'player not found' },
    ])
    expect([sent.length, new Set(sent).size]).toEqual([3, 1])
    lost = 4
    const spent = await client.spendMoney({ player: who, currency: 'gold', amount: 2 })
    expect(spent).toEqual({ ...who, currency: 'gold', balance: 3n })
    expect(await client.grantMoney({ player: who, currency: 'gold', amount: 2 })).toMatchObject({ balance: 5n })
    const keyed = { ...grant, amount: 1 }
    for (let time = 0; time < 2; time += 1) {
      const answer = await client.grantXp({ grants: [keyed], idempotencyKey: 'match-17' })
      expect(answer.results).toMatchObject([{ xp: 61n }])
    }
    lost = Number.POSITIVE_INFINITY
    const call = client.grantXp({ grants: [grant] }, { retries: 0 })
    await expect(call).rejects.toMatchObject({ code: 'network_error', outcomeUnknown: true })
    await expect(client.grantXp({ grants: [grant], idempotencyKey: ' ' })).rejects.toMatchObject({ status: 0 })
  })

  it('crosses a handle, and rejects with the refusal', async () => {
    const cross = { player: ADA, scenarioId: 'season', nodeId: 'pass', handle: 'level:99' }
    const error = await clientFor()
      .crossHandle(cross)
      .catch((thrown) => thrown)
    expect([error.name, error.outcomeUnknown]).toEqual(['TierwayError', false])
  })

  it('rejects with every fault of a request, and does not retry it', async () => {
    let attempts = 0
    const client = clientFor({
      fetch: (url, init) => {
        attempts += 1
        return fetch(url, init)
      },
    })
    const error = await client
      .readProgress({ players: [{ ...ADA, playerId: player.playerId }, {}], scenarioId: '', nodeId: 'pass' })
      .catch((thrown) => thrown)
    expect([error.code, error.status, attempts]).toEqual(['invalid_request', 400, 1])
    expect(error.details.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(['scenarioId', expect.stringMatching(/^players\[1\]/)]),
    )
    await expect(clientFor({ key: 'twsrv_x' }).findPlayer(ADA)).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it('makes a call again whose connection broke', async () => {
    const proxy = await startTcpProxy(() => game.baseUrl)
    open.push(() => proxy.close())
    proxy.cut({ refuse: true })
    let attempts = 0
    const client = clientFor({
      url: proxy.baseUrl,
      fetch: (url, init) => {
        attempts += 1
        if (attempts === 3) proxy.restore()
        return fetch(url, init)
      },
    })
    expect(await client.findPlayer(ADA)).toMatchObject({ playerId: player.playerId })
    expect(attempts).toBe(3)
  })

  it('makes a call again after an overload, and gives up where the pause would outlast its deadline', async () => {
    const answer = await (
      await fetch(`${game.baseUrl}/server/v1/players/find`, {
        ...{ method: 'POST', body: JSON.stringify(ADA), headers: { authorization: `Bearer ${key}` } },
      })
    ).text()
    const busy = await listen((attempt) => new Response(attempt < 3 ? '' : answer, { status: attempt < 3 ? 503 : 200 }))
    expect(await clientFor({ url: busy.url }).findPlayer(ADA)).toMatchObject({ playerId: player.playerId })
    expect(busy.attempts()).toBe(3)
    const limited = await listen(() => new Response('', { status: 429, headers: { 'retry-after': '50' } }))
    const error = await clientFor({ url: limited.url })
      .findPlayer(ADA)
      .catch((thrown) => thrown)
    expect([error.code, error.status, error.retryable, limited.attempts()]).toEqual(['rate_limited', 429, true, 1])
  })

  it('ends at its deadline', async () => {
    const silent = await listen(() => undefined)
    const client = clientFor({ url: silent.url, timeoutMs: 600_000, deadlineMs: 1_000 })
    await expect(client.findPlayer(ADA)).rejects.toMatchObject({ code: 'timeout', outcomeUnknown: false })
    expect(silent.attempts()).toBe(1)
  })

  it('ends with its signal', async () => {
    const silent = await listen(() => undefined)
    const reason = new Error('the match is over')
    const call = clientFor({ url: silent.url }).findPlayer(ADA, { signal: AbortSignal.abort(reason) })
    await expect(call).rejects.toBe(reason)
  })

  it('names every faulty option', () => {
    const details = ['url', 'key', 'timeoutMs', 'deadlineMs', 'retries'].map((path) =>
      expect.objectContaining({ path }),
    )
    expect(() => clientFor({ url: '', key: ' ', timeoutMs: 0, deadlineMs: Number.NaN, retries: -1 })).toThrow(
      expect.objectContaining({ code: 'invalid_request', details }),
    )
  })
})
