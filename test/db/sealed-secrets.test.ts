import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSecrets, generateSecretsKey, type SecretsKey } from '../../src/base/secrets.ts'
import { generateTokenKey } from '../../src/callers/tokens.ts'
import { rotateSecrets, SEALED_COLUMNS, unreadableSecrets } from '../../src/db/sealed-secrets.ts'
import { openClientSecret } from '../../src/project/single-sign-on/settings.ts'
import { Desk } from '../grants/jobs.ts'
import { makeAuthority } from '../harness/certificates.ts'
import { type Game, startGame, startInstance } from '../harness/game.ts'
import { type OpenIdServer, startOpenIdServer } from '../harness/openid-server.ts'
import { type Operator, signatureOf, startOperator } from '../harness/operator.ts'

// Secrets in the database, which are sealed with SECRETS_KEYS, through a change of the key.

const [older, newer] = [generateSecretsKey(), generateSecretsKey()]
const TOKEN_KEYS = JSON.stringify([await generateTokenKey()])
const keysOf = (...keys: SecretsKey[]) => ({ TOKEN_KEYS, SECRETS_KEYS: JSON.stringify(keys) })
const CLIENT_SECRET = 'the secret of the client'
const DEVICE = randomBytes(24).toString('base64url')

/** Each file that seals, with the columns that it seals. None: what it seals is not stored. */
const SEALS: Readonly<Record<string, readonly string[]>> = {
  'operations/alerts/alert-webhooks.ts': ['alert_webhooks.url', 'alert_webhooks.secret'],
  'db/sealed-secrets.ts': [],
  'dev/seed.ts': ['auth_providers.secret'],
  // A ticket, which the game keeps for some minutes.
  'accounts/login/switch-player.ts': [],
  'accounts/providers/rotate-secret.ts': ['auth_providers.secret', 'replaced_secrets.secret'],
  'accounts/providers/settings-plan.ts': ['auth_providers.secret', 'auth_providers.client_key'],
  'project/single-sign-on/settings.ts': ['single_sign_ons.client_secret'],
  // Cookies of a sign-in.
  'project/single-sign-on/sign-on.ts': [],
}

let game: Game
let webhook: Operator
let receiver: Operator
let issuer: OpenIdServer
let guest: string

beforeAll(async () => {
  game = await startGame(keysOf(older))
  webhook = await startOperator()
  receiver = await startOperator()
  issuer = await startOpenIdServer({ clients: [], claimsOf: () => ({}), requiresPkce: true })
  const authority = makeAuthority('Studio Authority')
  const { cert: clientCertificate, key: clientKey } = authority.issue('Tierway')
  const answer = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
    headers: { authorization: `Bearer ${game.platformKey}` },
    body: JSON.stringify({
      environment: 'production',
      authProviders: {
        custom: {
          default: { enabled: true, url: webhook.url, secret: webhook.secret },
          strict: { enabled: true, url: 'https://studio.example', secret: 'one', clientCertificate, clientKey },
        },
        google: { enabled: true, clientId: 'game', clientSecret: 'hidden' },
        device: { enabled: true },
      },
    }),
  })
  expect(answer.status, answer.text).toBe(200)
  const admin = new Desk(game)
  await admin.must('rotateProviderSecret', { name: 'strict', secret: 'two' }, 'provider { name }')
  const alerts = { name: 'ops', format: 'STANDARD', url: receiver.url }
  await admin.must('createAlertWebhook', alerts, 'alertWebhook { name }')
  const signOn = { title: 'Studio', issuer: issuer.issuer, clientId: 'console', clientSecret: CLIENT_SECRET }
  const more = {
    environment: undefined,
    consoleUrl: `${game.baseUrl}/console`,
    groups: [{ group: 'all', role: 'SUPPORT' }],
  }
  await admin.must('setSingleSignOn', { ...signOn, ...more }, 'singleSignOn { isOn }')
  guest = await playerOfGuest(game.baseUrl)
})
afterAll(async () => {
  await game?.stop()
  await webhook?.close()
  await receiver?.close()
  await issuer?.stop()
})

async function logIn(baseUrl: string, path: string, body: object) {
  const headers = { 'x-sdk-key': game.sdkKey, 'content-type': 'application/json' }
  const url = `${baseUrl}/sdk/v1/authorization/${path}`
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, body: await response.json() }
}

async function playerOfGuest(baseUrl: string): Promise<string> {
  const { status, body } = await logIn(baseUrl, 'device', { deviceId: DEVICE })
  expect(status, JSON.stringify(body)).toBe(200)
  return JSON.parse(Buffer.from(body.accessToken.split('.')[1], 'base64url').toString()).sub
}

/** The columns with sealed texts, and the ids of the keys that seal them. */
async function sealedColumns(): Promise<Map<string, Set<string>>> {
  const { pool } = game.app
  const { rows } = await pool.query<{ table: string; column: string }>(
    `SELECT c.table_name AS table, c.column_name AS column FROM information_schema.columns c
     JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.data_type IN ('text', 'json', 'jsonb', 'ARRAY')`,
  )
  const found = new Map<string, Set<string>>()
  for (const { table, column } of rows) {
    const { rows: kids } = await pool.query<{ kid: string }>(
      String.raw`SELECT DISTINCT (regexp_matches("${column}"::text, 'v1\.([\w-]+)\.[\w-]{16}\.[\w-]{22,}', 'g'))[1] AS kid FROM "${table}"`,
    )
    if (kids.length > 0) found.set(`${table}.${column}`, new Set(kids.map(({ kid }) => kid)))
  }
  return found
}

const rotate = (...keys: SecretsKey[]) => rotateSecrets(game.app.pool, createSecrets(keys))

const problems = async () => {
  const { data } = await game.graphql(game.platformKey, '{ problems(environment: "production") { kind text } }')
  return data.problems.filter(({ kind }: { kind: string }) => kind === 'SECRETS_UNREADABLE')
}

describe('the list of sealed columns', () => {
  it('has every column that holds a sealed text', async () => {
    expect([...(await sealedColumns()).keys()].sort()).toEqual([...SEALED_COLUMNS].sort())
  })

  it('has the columns of every file that seals', () => {
    const source = new URL('../../src/', import.meta.url)
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => path.endsWith('.ts') && /\.seal\(/.test(readFileSync(new URL(path, source), 'utf8')))
    expect(files.sort()).toEqual(Object.keys(SEALS).sort())
    expect([...new Set(Object.values(SEALS).flat())].sort()).toEqual([...SEALED_COLUMNS].sort())
  })
})

describe('a key of secrets that is replaced', () => {
  it('leaves nothing under the old one, also after an interruption: guests are the same players, and every webhook and sign-in has its secret', async () => {
    const count = SEALED_COLUMNS.length + 3
    // An interrupted call has sealed a part.
    const broken = createSecrets([newer, older])
    let calls = 0
    const seal: typeof broken.seal = (plain, context) => {
      calls += 1
      if (calls === 3) throw new Error('killed')
      return broken.seal(plain, context)
    }
    await expect(rotateSecrets(game.app.pool, { ...broken, seal })).rejects.toThrow('killed')
    expect(await problems()).toEqual([])

    const kid = newer.kid
    expect(await rotate(newer, older)).toEqual({ kid, sealed: count, kept: 0, unreadable: [] })
    for (const kids of (await sealedColumns()).values()) expect([...kids]).toEqual([kid])
    // Again, it changes nothing, and needs the new key alone.
    expect(await rotate(newer)).toEqual({ kid, sealed: 0, kept: count, unreadable: [] })

    const { baseUrl, stop } = await startInstance(game.databaseUrl, keysOf(newer))
    try {
      expect(await playerOfGuest(baseUrl)).toBe(guest)
      expect((await logIn(baseUrl, 'custom', { customData: { player: 'ada' } })).status).toBe(200)
      const hit = webhook.hits.at(-1)
      expect(hit?.headers['x-signature']).toBe(signatureOf(webhook.secret, hit?.body ?? Buffer.of()))
    } finally {
      await stop()
    }
    const secrets = createSecrets([newer])
    expect(await unreadableSecrets(game.app.pool, secrets)).toEqual([])
    const { rows } = await game.app.pool.query(
      'SELECT project_id AS "projectId", client_secret AS "clientSecret" FROM single_sign_ons',
    )
    expect(openClientSecret(secrets, rows[0])).toBe(CLIENT_SECRET)
  })

  it('and is missing is named with what it seals, in the list of problems and by a rotation, which leaves it as it is', async () => {
    await rotate(newer, older)
    // This service was started with the older key alone.
    const missing = `SECRETS_KEYS lacks the key ${newer.kid}, which seals `
    const [problem] = await problems()
    expect(problem.text).toContain(missing)
    for (const what of [
      "the key of guests' ids (production of Test)",
      'the secret of the login provider default (production of Test)',
      'the client key of the login provider strict (production of Test)',
      'the client secret of single sign-on (Test)',
    ])
      expect(problem.text).toContain(what)

    const stranger = generateSecretsKey()
    const failed = await rotate(stranger, older)
    expect(failed).toMatchObject({ sealed: 0, kept: 0 })
    expect(failed.unreadable[0]).toContain(missing)
    const other = { ...stranger, kid: newer.kid }
    expect((await rotate(other)).unreadable[0]).toContain(`SECRETS_KEYS has another key under the id ${newer.kid}`)
    expect(await rotate(older, newer)).toMatchObject({ kept: 0, unreadable: [] })
    expect(await problems()).toEqual([])
  })
})
