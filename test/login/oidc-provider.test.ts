import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Game, startGame } from '../harness/game.ts'
import { type OpenIdServer, startOpenIdServer, Visitor } from '../harness/openid-server.ts'

const CLIENT = 'game'
const REDIRECT = 'http://127.0.0.1:9/callback'

let game: Game
let server: OpenIdServer

beforeAll(async () => {
  game = await startGame()
  server = await startOpenIdServer({
    clients: [{ id: CLIENT, redirectUri: REDIRECT }],
    claimsOf: (account) => ({ nickname: `Player ${account}` }),
  })
})
afterAll(async () => {
  await game.stop()
  await server.stop()
})

/** Signs in at the issuer as a browser does, and exchanges the code for an ID token. */
async function signIn(account: string, nonce: string): Promise<string> {
  const query = new URLSearchParams({
    client_id: CLIENT,
    redirect_uri: REDIRECT,
    response_type: 'code',
    scope: 'openid profile',
    nonce,
  })
  const url = await new Visitor().signIn(`${server.issuer}/auth?${query}`, account, REDIRECT)
  const code = new URL(url).searchParams.get('code') ?? expect.fail(`no code at ${url}`)
  const exchanged = await fetch(`${server.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'authorization_code', client_id: CLIENT, redirect_uri: REDIRECT, code }),
  })
  const { id_token: idToken } = (await exchanged.json()) as { id_token?: string }
  return idToken ?? expect.fail('no ID token')
}

it('a player of a real OpenID Connect server logs in by its discovery document and keys, and again', async () => {
  const studio = { enabled: true, issuer: server.issuer, audiences: [CLIENT], nicknameClaim: 'nickname' }
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
