import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt } from 'jose'
import Provider from 'oidc-provider'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Game, startGame } from '../harness/game.ts'

// A real issuer: an OpenID Connect server that knows nothing of Tierway.

const CLIENT = 'game'
const REDIRECT = 'http://127.0.0.1:9/callback'

let game: Game
let server: Server
let issuer: string

beforeAll(async () => {
  game = await startGame()
  server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT,
        redirect_uris: [REDIRECT],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
    ],
    pkce: { required: () => false },
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], profile: ['nickname'] },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, nickname: `Player ${id}` }) }),
    cookies: { keys: ['a key of the test'] },
  })
  server.on('request', provider.callback())
})
afterAll(async () => {
  await game.stop()
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
})

/** Signs in at the issuer as a browser does, and exchanges the code for an ID token. */
async function signIn(account: string, nonce: string): Promise<string> {
  const cookies = new Map<string, string>()
  async function visit(url: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      body: form && new URLSearchParams(form),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    return response
  }
  const query = new URLSearchParams({
    client_id: CLIENT,
    redirect_uri: REDIRECT,
    response_type: 'code',
    scope: 'openid profile',
    nonce,
  })
  let url = `${issuer}/auth?${query}`
  for (let step = 0; step < 12; step += 1) {
    if (url.startsWith(REDIRECT)) break
    const response = await visit(url)
    const location = response.headers.get('location')
    if (location !== null) {
      url = new URL(location, url).href
      continue
    }
    // A page of the issuer: to sign in, then to consent.
    const page = await response.text()
    const [, prompt = 'login'] = /name="prompt" value="(\w+)"/.exec(page) ?? []
    const form: Record<string, string> = prompt === 'login' ? { prompt, login: account, password: 'any' } : { prompt }
    const answered = await visit(url, form)
    url = new URL(answered.headers.get('location') ?? '', url).href
  }
  const code = new URL(url).searchParams.get('code') ?? expect.fail(`no code at ${url}`)
  const exchanged = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'authorization_code', client_id: CLIENT, redirect_uri: REDIRECT, code }),
  })
  const { id_token: idToken } = (await exchanged.json()) as { id_token?: string }
  return idToken ?? expect.fail('no ID token')
}

it('a player of a real OpenID Connect server logs in by its discovery document and keys, and again', async () => {
  const studio = { enabled: true, issuer, audiences: [CLIENT], nicknameClaim: 'nickname' }
  const set = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
    body: JSON.stringify({ environment: 'production', authProviders: { oidc: { studio } } }),
    headers: { authorization: `Bearer ${game.platformKey}` },
  })
  expect(set.status).toBe(200)
  const login = async (nonce: string) => {
    const answer = await game.request('POST', '/sdk/v1/authorization/oidc', {
      body: JSON.stringify({ provider: 'studio', idToken: await signIn('ada', nonce), nonce }),
      headers: { 'x-sdk-key': game.sdkKey },
    })
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('accessToken')])
    return decodeJwt(answer.body.accessToken).sub
  }
  const playerId = await login('first')
  expect(await login('second')).toBe(playerId)
  const { rows } = await game.app.pool.query('SELECT provider, subject FROM identities WHERE player_id = $1', [
    playerId,
  ])
  expect(rows).toEqual([{ provider: 'oidc:studio', subject: 'ada' }])
  const [player] = (await game.app.pool.query('SELECT nickname FROM players WHERE id = $1', [playerId])).rows
  expect(player.nickname).toBe('Player ada')
})
