import { createPrivateKey } from 'node:crypto'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWebhook } from '../../src/accounts/webhook/webhook.ts'
import { causeOfTls } from '../../src/accounts/webhook/webhook-tls.ts'
import type { Json } from '../../src/base/json.ts'
import { generateSecretsKey } from '../../src/base/secrets.ts'
import { generateTokenKey } from '../../src/callers/tokens.ts'
import { verifyWebhookSignature } from '../../src/sdk/webhook.ts'
import { type Authority, type Certificate, makeAuthority } from '../harness/certificates.ts'
import { startInstance } from '../harness/game.ts'
import { httpAnswer, startRawOperator } from '../harness/raw-operator.ts'
import { game, startWebhookGameWith, stopWebhookGame, target } from './webhook-game.ts'

// Certificates of a provider: a private authority for its endpoint, and a client certificate (mTLS).

const SECRET = 'a shared secret'
const authority = makeAuthority('Studio Authority')
const stranger = makeAuthority('Another Authority')
const server = authority.issue('endpoint', { names: ['127.0.0.1', 'localhost'] })
const tierway = authority.issue('tierway')

interface Endpoint {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

interface EndpointOptions {
  readonly certificate?: Certificate
  /** The authority of the client certificates that it takes. Default: it wants none. */
  readonly clients?: Authority
  readonly maxVersion?: 'TLSv1.2'
}

/** A studio's endpoint with TLS. Its subject is the common name of the client certificate, or `anonymous`. */
async function startEndpoint({ certificate = server, clients, maxVersion }: EndpointOptions = {}): Promise<Endpoint> {
  const wanted = clients && { requestCert: true, rejectUnauthorized: true, ca: clients.cert }
  const https = createServer(
    { ...certificate, ...wanted, ...(maxVersion && { maxVersion }) },
    async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const isSigned = verifyWebhookSignature(SECRET, Buffer.concat(chunks), request.headers['x-signature'])
      const { subject } = (request.socket as TLSSocket).getPeerCertificate()
      response.writeHead(isSigned ? 200 : 401).end(JSON.stringify({ subject: subject?.CN ?? 'anonymous' }))
    },
  )
  // The service breaks off handshakes.
  https.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve))
  const { port } = https.address() as AddressInfo
  return {
    url: `https://127.0.0.1:${port}/login`,
    port,
    async close() {
      https.closeAllConnections()
      await new Promise((resolve) => https.close(resolve))
    },
  }
}

/** Of both instances. */
const KEYS = {
  TOKEN_KEYS: JSON.stringify([await generateTokenKey()]),
  SECRETS_KEYS: JSON.stringify([generateSecretsKey()]),
}

let open: Endpoint
let guarded: Endpoint

beforeAll(async () => {
  await startWebhookGameWith(KEYS)
  open = await startEndpoint()
  guarded = await startEndpoint({ clients: authority })
})
afterAll(async () => {
  await open.close()
  await guarded.close()
  await stopWebhookGame()
})

type Provider = Record<string, Json | undefined>
const provider = (url: string, more: Provider = {}): Provider => ({ enabled: true, url, secret: SECRET, ...more })
const mutual = (more: Provider = {}, { cert, key } = tierway): Provider =>
  provider(guarded.url, { caCertificates: authority.cert, clientCertificate: cert, clientKey: key, ...more })

/** Sets all providers. */
async function set(providers: Record<string, Provider>) {
  const { status, body } = await game.setProviders(providers as never)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** The faults of providers that are refused, by their place. */
async function faultsOf(providers: Record<string, Provider>): Promise<Record<string, string>> {
  const { status, body } = await game.setProviders(providers as never)
  expect(status, JSON.stringify(body)).toBe(400)
  return Object.fromEntries(body.details.map(({ path, message }: Record<string, string>) => [path, message]))
}

const TEST = `mutation ($input: TestAuthProviderInput!) {
  testAuthProvider(input: $input) { status subject attempts { status error cause } }
}`

/** The result of a rehearsed login: the status, the subject, and why its last attempt failed. */
async function rehearse(name = 'default'): Promise<[status: number, subject: string | null, cause: string | null]> {
  const input = { environment: 'production', provider: name, customData: '{}' }
  const { data, errors } = await game.graphql(game.platformKey, TEST, { input: { ...input, customData: {} } })
  expect(errors).toBeUndefined()
  const { status, subject, attempts } = data.testAuthProvider
  const { error, cause } = attempts.at(-1)
  if (error !== null) expect(error).toMatch(/^(TLS|RESET)$/)
  return [status, subject, cause]
}

/** The status of a login, and the player's subject. */
async function login(name = 'default'): Promise<unknown[]> {
  const { status, body } = await game.login({}, { provider: name })
  return status === 200 ? [status, await subjectOf(body.accessToken)] : [status, body.error]
}

async function subjectOf(accessToken: string): Promise<string> {
  const { data } = await game.graphql(accessToken, '{ me { identities { subject } } }')
  return data.me.identities[0].subject
}

describe('an endpoint with a certificate of a private authority (docs/webhook.md)', () => {
  it('is called once the provider has the certificate of the authority, and not before', async () => {
    await set({ default: provider(open.url) })
    expect(await login()).toEqual([503, 'custom auth unavailable'])
    const cause = "the endpoint's certificate is from an authority that is not trusted"
    expect(await rehearse()).toEqual([503, null, cause])
    await set({ default: provider(open.url, { caCertificates: authority.cert }) })
    expect(await login()).toEqual([200, 'anonymous'])
    expect(await rehearse()).toEqual([200, 'anonymous', null])
  })

  it('may be signed by any of several authorities, between lines of text', async () => {
    const caCertificates = `# the old one\r\n${stranger.cert}subject=CN = Studio Authority\n${authority.cert}`
    await set({ default: provider(open.url, { caCertificates }) })
    expect(await login()).toEqual([200, 'anonymous'])
  })

  it.each<[what: string, certificate: Certificate, cause: string]>([
    [
      'of another authority',
      stranger.issue('endpoint', { names: ['127.0.0.1'] }),
      'is from an authority that is not trusted',
    ],
    ['of another host', authority.issue('endpoint', { names: ['login.studio.example'] }), 'is for another host'],
    [
      'that has expired',
      authority.issue('endpoint', { names: ['127.0.0.1'], until: new Date('2024-01-01T00:00:00Z') }),
      'has expired',
    ],
  ])('is not trusted with a certificate %s, and the rehearsal says so', async (_what, certificate, cause) => {
    const endpoint = await startEndpoint({ certificate })
    await set({ default: provider(endpoint.url, { caCertificates: authority.cert }) })
    expect(await login()).toEqual([503, 'custom auth unavailable'])
    expect(await rehearse()).toEqual([503, null, `the endpoint's certificate ${cause}`])
    await endpoint.close()
  })

  it('that speaks no TLS is not called, and the rehearsal says so', async () => {
    const plain = await startRawOperator((socket) => void socket.end(httpAnswer('200 OK', '{"subject":"plain"}')))
    const url = plain.url.replace('http:', 'https:')
    await set({ default: provider(url, { caCertificates: authority.cert }) })
    expect(await rehearse()).toEqual([503, null, 'the endpoint speaks no TLS at this port'])
    await plain.close()
  })

  it('is not called at a private address, unless such addresses are allowed', async () => {
    const webhook = createWebhook({ allowPrivateAddresses: false })
    const tls = { caCertificates: authority.cert, clientCertificate: null, clientKey: null }
    for (const host of ['127.0.0.1', 'localhost']) {
      const url = `https://${host}:${open.port}/login`
      const { kind, attempts } = await webhook.call({ ...target(url), attempts: 1, tls }, '{}')
      expect([host, kind, attempts.map(({ error }) => error)]).toEqual([host, 'unavailable', ['private_address']])
    }
    await webhook.close()
  })
})

describe('an endpoint that asks for a client certificate (docs/webhook.md)', () => {
  it('recognizes the service by the certificate of the provider', async () => {
    await set({ default: mutual() })
    expect(await login()).toEqual([200, 'tierway'])
  })

  it('refuses a provider without a certificate, or with one of another authority; the rehearsal says so', async () => {
    await set({
      default: provider(guarded.url, { caCertificates: authority.cert }),
      other: mutual({}, stranger.issue('tierway')),
    })
    for (const name of ['default', 'other']) expect(await login(name)).toEqual([503, 'custom auth unavailable'])
    const cause = expect.stringContaining('client certificate')
    for (const name of ['default', 'other']) expect(await rehearse(name)).toEqual([503, null, cause])
  })

  it('names its reason in the rehearsal, if it speaks TLS 1.2', async () => {
    const old = await startEndpoint({ clients: authority, maxVersion: 'TLSv1.2' })
    await set({ default: provider(old.url, { caCertificates: authority.cert }) })
    const cause = 'the endpoint refused the connection: it may want a client certificate, or other versions of TLS'
    expect(await rehearse()).toEqual([503, null, cause])
    await old.close()
  })

  it.each([
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'the endpoint does not know the authority of the client certificate'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', expect.stringContaining('may want a client certificate')],
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'the endpoint refused the client certificate'],
    ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'the endpoint refused the client certificate'],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', null],
  ])('that sends the alert %s is described in words', (code, cause) => {
    expect(causeOfTls(new Error('fetch failed', { cause: Object.assign(new Error('alert'), { code }) }))).toEqual(cause)
  })

  it('never meets a provider on the connection of another one, whose certificate it is', async () => {
    const second = authority.issue('second')
    await set({
      one: mutual(),
      none: provider(guarded.url, { caCertificates: authority.cert }),
      two: mutual({}, second),
    })
    const rounds = await Promise.all(
      ['one', 'two', 'none', 'one', 'none', 'two'].flatMap((name) => [login(name), login(name)]),
    )
    const once = (rounds as unknown[]).filter((_, index) => index % 2 === 0)
    const refused = [503, 'custom auth unavailable']
    expect(once).toEqual([[200, 'tierway'], [200, 'second'], refused, [200, 'tierway'], refused, [200, 'second']])
    expect(rounds.filter((_, index) => index % 2 === 1)).toEqual(once)
  })

  it('sees a renewed certificate from the next login on, on every instance', async () => {
    await set({ default: mutual() })
    const instance = await startInstance(game.databaseUrl, KEYS)
    const loginThere = async () => {
      const answer = await fetch(`${instance.baseUrl}/sdk/v1/authorization/custom`, {
        method: 'POST',
        headers: { 'x-sdk-key': game.sdkKey },
        body: '{"customData":{}}',
      })
      const { accessToken } = (await answer.json()) as { accessToken: string }
      return subjectOf(accessToken)
    }
    expect(await loginThere()).toBe('tierway')
    await set({ default: mutual({}, authority.issue('renewed')) })
    expect([await login(), await loginThere()]).toEqual([[200, 'renewed'], 'renewed'])
    await instance.stop()
  })

  it('still recognizes the service after a change without the key, and after a rotation of the secret', async () => {
    await set({ default: mutual() })
    await set({ default: mutual({ clientKey: undefined, secret: undefined, attempts: 2 }) })
    expect(await login()).toEqual([200, 'tierway'])
    const rotate = `mutation ($input: RotateProviderSecretInput!) {
      rotateProviderSecret(input: $input) { provider { clientCertificate } }
    }`
    const input = { environment: 'production', name: 'default', secret: 'the next', reason: 'test' }
    const { data } = await game.graphql(game.platformKey, rotate, { input })
    expect(data.rotateProviderSecret.provider.clientCertificate).toBe(tierway.cert)
    await set({ default: mutual({ clientKey: undefined }) })
    expect(await login()).toEqual([200, 'tierway'])
  })

  it('is shown no certificate any more once the provider has none; its key is forgotten', async () => {
    await set({ default: mutual() })
    await set({ default: provider(open.url, { caCertificates: authority.cert }) })
    expect(await login()).toEqual([200, 'anonymous'])
    expect(await faultsOf({ default: mutual({ clientKey: undefined }) })).toEqual({
      'authProviders.custom.default.clientKey': 'is required while none is stored',
    })
  })
})

describe('the private key of a client certificate (contract 4.3: secrets are stored encrypted and never returned)', () => {
  it('is in no answer, no audit entry and no row', async () => {
    const { key } = tierway
    await set({ default: provider(open.url) })
    const [, base64 = ''] = /-----\n([\s\S]{40})/.exec(key) ?? []
    const answers = [await set({ default: mutual() })]
    answers.push(
      (
        await game.request('GET', `/platform/v1/projects/${game.projectId}/auth-providers`, {
          headers: { authorization: `Bearer ${game.platformKey}` },
        })
      ).body,
    )
    const read = '{ authProviders { custom { name caCertificates clientCertificate certificatesExpireAt } } }'
    answers.push(await game.graphql(game.platformKey, read))
    const { pool } = game.app
    answers.push(
      (await pool.query('SELECT * FROM auth_providers')).rows,
      (await pool.query('SELECT * FROM audit_log')).rows,
    )
    const text = JSON.stringify(answers)
    expect(text).not.toContain(base64)
    expect(text).not.toContain('PRIVATE KEY')
    expect(answers[0].authProviders.custom.default).toMatchObject({
      caCertificates: authority.cert,
      clientCertificate: tierway.cert,
      certificatesExpireAt: '2049-12-31T23:59:59.000Z',
    })
    expect(answers[0].authProviders.custom.default).not.toHaveProperty('clientKey')
  })

  it('that changes is a change of the settings, which the audit log tells; the same key again is none', async () => {
    const entries = async () =>
      (await game.app.pool.query("SELECT after FROM audit_log WHERE action = 'auth_providers.set' ORDER BY id")).rows
    await set({ default: mutual() })
    const before = (await entries()).length
    await set({ default: mutual() })
    expect(await entries()).toHaveLength(before)
    await set({ default: mutual({}, authority.issue('tierway')) })
    const after = await entries()
    expect(after).toHaveLength(before + 1)
    expect(JSON.parse(after.at(-1).after).custom.default).toMatchObject({ clientKeyChanged: true })
  })
})

describe('certificates that a provider cannot have (every fault at once, and nothing changes)', () => {
  const at = (member: string) => `authProviders.custom.default.${member}`
  const { cert } = tierway
  const NO_PEM = 'must be certificates in PEM: -----BEGIN CERTIFICATE----- …'
  const NO_KEY = 'must be a private key in PEM: -----BEGIN PRIVATE KEY----- …'
  const encrypted = createPrivateKey(tierway.key).export({
    ...{ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open' },
  }) as string
  const cut = cert.slice(0, cert.length / 2)

  it.each<[what: string, more: Provider, faults: Record<string, string>]>([
    ['are no PEM', { caCertificates: 'the certificate' }, { caCertificates: NO_PEM }],
    ['are empty', { caCertificates: '' }, { caCertificates: 'must be 1 to 32768 characters' }],
    ['are no text', { caCertificates: [cert] }, { caCertificates: 'must be a string' }],
    ['are cut off', { caCertificates: authority.cert + cut }, { caCertificates: 'its certificate 2 has no end' }],
    [
      'are no certificates inside',
      { caCertificates: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      { caCertificates: 'its certificate 1 cannot be read' },
    ],
    [
      'have a private key among them',
      { caCertificates: authority.cert + authority.key },
      { caCertificates: 'must have certificates only, not a block of PRIVATE KEY' },
    ],
    ['come without a key', { clientCertificate: cert }, { clientKey: 'is required while none is stored' }],
    [
      'come without a certificate',
      { clientKey: tierway.key },
      { clientKey: 'needs the clientCertificate that it belongs to' },
    ],
    [
      'come with the key of another one',
      { clientCertificate: cert, clientKey: server.key },
      { clientKey: 'is not the key of clientCertificate, whose first certificate must be its own' },
    ],
    [
      'begin with that of their authority',
      { clientCertificate: authority.cert + cert, clientKey: tierway.key },
      { clientKey: 'is not the key of clientCertificate, whose first certificate must be its own' },
    ],
    ['come with a key that is none', { clientCertificate: cert, clientKey: cert }, { clientKey: NO_KEY }],
    [
      'come with a key under a passphrase',
      { clientCertificate: cert, clientKey: encrypted },
      { clientKey: 'must not be protected by a passphrase' },
    ],
    [
      'are wrong in all members',
      { caCertificates: 'a', clientCertificate: 'b', clientKey: 'c' },
      { caCertificates: NO_PEM, clientCertificate: NO_PEM, clientKey: NO_KEY },
    ],
    [
      'are for an address without TLS',
      {
        url: 'http://127.0.0.1:9/login',
        caCertificates: authority.cert,
        clientCertificate: cert,
        clientKey: tierway.key,
      },
      { caCertificates: 'is only for an https address', clientCertificate: 'is only for an https address' },
    ],
  ])('are refused when they %s', async (_what, more, faults) => {
    await set({ default: provider(open.url) })
    expect(await faultsOf({ default: provider(open.url, more) })).toEqual(
      Object.fromEntries(Object.entries(faults).map(([member, message]) => [at(member), message])),
    )
  })

  it('are refused when they do not fit the stored key, which stays', async () => {
    await set({ default: mutual() })
    const { cert: clientCertificate } = authority.issue('tierway')
    expect(await faultsOf({ default: mutual({ clientCertificate, clientKey: undefined }) })).toEqual({
      [at('clientCertificate')]: 'is not that of the stored key: send its clientKey, too',
    })
    expect(await login()).toEqual([200, 'tierway'])
  })

  it('are accepted when they have expired, with a notice', async () => {
    const { cert: expired, key } = authority.issue('tierway', { until: new Date('2024-01-01T00:00:00Z') })
    const { notices } = await set({ default: mutual({}, { cert: expired, key }) })
    expect(notices).toEqual([
      { path: at('clientCertificate'), message: 'a certificate expired at 2024-01-01T00:00:00.000Z' },
    ])
    expect(await rehearse()).toEqual([503, null, expect.stringContaining('client certificate')])
  })
})
