import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

/** An issuer of ID tokens, with keys that are made at run time. */
export interface TestIssuer {
  /** Its name in tokens, and the address of its configuration. */
  readonly url: string
  readonly keysUrl: string
  /** How often its keys were read. */
  reads(): number
  /** Signs a token with the current key. Undefined claims are left out. */
  token(claims?: JWTPayload, header?: Record<string, unknown>): Promise<string>
  /** Signs with a new key from now on. The former one is withdrawn. */
  rotate(): Promise<void>
  /** The public key of the tokens. */
  publicKey(): JWK
  /** Answers each request for keys in another way; undefined for the usual one. */
  answerKeys(respond: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void
  close(): Promise<void>
}

export const AUDIENCE = 'game-client'

export async function startIssuer(algorithm = 'RS256', name?: string): Promise<TestIssuer> {
  let count = 0
  let reads = 0
  let respond: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  let current = await newKey()

  async function newKey() {
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
    count += 1
    const kid = `key ${count}`
    return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
  }

  const server = createServer((request, response) => {
    const json = (value: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (request.url === '/.well-known/openid-configuration') json({ issuer, jwks_uri: `${url}/keys` })
    else if (request.url === '/keys') {
      reads += 1
      if (respond) respond(request, response)
      else json({ keys: [current.jwk] })
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer = name ?? url

  return {
    url: issuer,
    keysUrl: `${url}/keys`,
    reads: () => reads,
    async token(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000)
      const usual = { iss: issuer, aud: AUDIENCE, sub: 'subject', iat: now, exp: now + 3600 }
      const all = Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined)
      return new SignJWT(Object.fromEntries(all))
        .setProtectedHeader({ alg: algorithm, kid: current.kid, ...header })
        .sign(current.privateKey)
    },
    async rotate() {
      current = await newKey()
    },
    publicKey: () => current.jwk,
    answerKeys: (given) => {
      respond = given
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
