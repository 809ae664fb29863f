import { createHmac } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { purgeExpiredSecrets } from '../../src/accounts/providers/rotate-secret.ts'
import { generateSecretsKey } from '../../src/base/secrets.ts'
import { verifyStandardWebhook, verifyWebhookSignature } from '../../src/sdk/webhook.ts'
import { type Game, generateKeys, type Instance, startGame, startInstance, times } from '../harness/game.ts'
import { type Hit, type Operator, type Respond, signatureOf, startOperator } from '../harness/operator.ts'
import { until } from '../harness/until.ts'

// How the secret of a provider is replaced without refused logins. docs/webhook.md describes it for studios.

const ROTATE = `mutation ($input: RotateProviderSecretInput!) { rotateProviderSecret(input: $input) {
  secret provider { name enabled url hasSecret updatedAt replacedSecretsExpireAt } } }`
const READ = '{ authProviders(environment: "production") { custom { name updatedAt replacedSecretsExpireAt } } }'
const DAY_MS = 86_400_000

const keys = await generateKeys()
let game: Game
let operator: Operator
let second: Instance

beforeAll(async () => {
  game = await startGame(keys)
  second = await startInstance(game.databaseUrl, keys)
})
afterAll(async () => {
  await second?.stop()
  await game?.stop()
})
beforeEach(async () => {
  operator = await startOperator()
  await sql('TRUNCATE auth_providers, replaced_secrets, audit_log')
  await game.setProviders({ default: provider('one'), other: provider('the other') })
})
afterEach(() => operator?.close())

const sql = async (text: string, values: unknown[] = []) => (await game.app.pool.query(text, values)).rows
const provider = (secret: string) => ({ enabled: true, url: operator.url, secret })
const auditRows = () => sql("SELECT * FROM audit_log WHERE action LIKE 'auth_providers.rotate_secret%' ORDER BY id")

async function rotate(input: object = {}, credentials = game.platformKey, baseUrl = game.baseUrl) {
  const response = await fetch(`${baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${credentials}` },
    body: JSON.stringify({
      query: ROTATE,
      variables: { input: { environment: 'production', name: 'default', reason: 'it leaked', ...input } },
    }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape.
  const { data, errors } = (await response.json()) as any
  return { ...data?.rotateProviderSecret, code: errors?.[0]?.extensions.code, details: errors?.[0]?.extensions.details }
}

async function loginAt(baseUrl: string, name = 'default'): Promise<number> {
  const { status } = await fetch(`${baseUrl}/sdk/v1/authorization/custom`, {
    method: 'POST',
    headers: { 'x-sdk-key': game.sdkKey },
    body: JSON.stringify({ customData: { player: 'ada' }, provider: name }),
  })
  return status
}

/** Logs in and returns the request that the endpoint received. */
async function hitOf(baseUrl = game.baseUrl, name = 'default'): Promise<Hit> {
  expect(await loginAt(baseUrl, name)).toBe(200)
  const hit = operator.hits.at(-1)
  if (!hit) throw new Error('the endpoint was not asked')
  return hit
}

/** A signature of `webhook-signature` by a secret that does not have the form `whsec_…`. */
function standardSignature({ headers, body }: Hit, secret: string): string {
  const signed = createHmac('sha256', secret).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`)
  return `v1,${signed.update(body).digest('base64')}`
}

/** Expects `X-Signature` by the first secret, and `webhook-signature` by exactly these, in this order. */
function expectSigned(hit: Hit, ...secrets: string[]): void {
  expect(hit.headers['x-signature']).toBe(signatureOf(secrets[0] ?? '', hit.body))
  expect(hit.headers['webhook-signature']).toBe(secrets.map((secret) => standardSignature(hit, secret)).join(' '))
}

const verifiesX = ({ headers, body }: Hit, secret: string): boolean =>
  verifyWebhookSignature(secret, body, headers['x-signature'])

const verifiesStandard = ({ headers, body }: Hit, secret: string): boolean =>
  verifyStandardWebhook(secret, body, {
    id: headers['webhook-id'],
    timestamp: headers['webhook-timestamp'],
    signature: headers['webhook-signature'],
  })

/** Moves the expiry of all replaced secrets, as if this time had passed. */
const pass = (interval: string) => sql(`UPDATE replaced_secrets SET expires_at = expires_at - interval '${interval}'`)

async function expiries(): Promise<number[]> {
  const { data } = await game.graphql(game.platformKey, READ)
  const [shown] = data.authProviders[0].custom
  return shown.replacedSecretsExpireAt.map(Date.parse)
}

describe('replacing the secret of a provider', () => {
  it('applies to the next login on every instance, and the old secret also signs during the overlap', async () => {
    for (const round of times(20, (index) => index)) {
      const [current, fresh] = [round === 0 ? 'one' : `secret ${round - 1}`, `secret ${round}`]
      await rotate({ secret: fresh, overlapSeconds: 60 })
      for (const baseUrl of [second.baseUrl, game.baseUrl]) {
        const hit = await hitOf(baseUrl)
        expectSigned(hit, fresh, current)
        expect([verifiesX(hit, fresh), verifiesX(hit, current)]).toEqual([true, false])
        expect([verifiesStandard(hit, fresh), verifiesStandard(hit, current)]).toEqual([true, true])
      }
      await pass('1 minute')
    }
    expectSigned(await hitOf(game.baseUrl, 'other'), 'the other')
  })

  it('generates a secret when none is given, shows it once and stores no plain text', async () => {
    const { secret, provider: shown } = await rotate()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(shown).toMatchObject({ name: 'default', enabled: true, url: operator.url, hasSecret: true })
    const hit = await hitOf()
    for (const verifies of [verifiesX, verifiesStandard]) expect(verifies(hit, secret)).toBe(true)
    expect(verifiesStandard(hit, 'one')).toBe(true)
    const again = await rotate()
    expect(again.secret).not.toBe(secret)
    expect((await rotate({ secret: 'given' })).secret).toBeNull()

    const heard = [JSON.stringify(await game.graphql(game.platformKey, READ))]
    for (const { tablename } of await sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")) {
      for (const { row } of await sql(`SELECT t::text AS row FROM "${tablename}" t`)) heard.push(row)
    }
    for (const told of [secret, again.secret, '"given"', '"one"']) {
      expect(heard.filter((text) => text.includes(told))).toEqual([])
    }
  })

  it('ends each overlap at its own time, and then the old secret can be purged', async () => {
    await rotate({ secret: 'two', overlapSeconds: 3600 })
    await rotate({ name: 'other', secret: 'another', overlapSeconds: 7200 })
    await pass('59 minutes')
    expectSigned(await hitOf(), 'two', 'one')
    await pass('1 minute')
    for (const baseUrl of [game.baseUrl, second.baseUrl]) expectSigned(await hitOf(baseUrl), 'two')
    expect(await expiries()).toEqual([])
    expect(await purgeExpiredSecrets(game.app.pool)).toBe(1)
    expect(await purgeExpiredSecrets(game.app.pool)).toBe(0)
    expectSigned(await hitOf(game.baseUrl, 'other'), 'another', 'the other')
  })

  it('ends an overlap of one second in real time', async () => {
    await rotate({ secret: 'two', overlapSeconds: 1 })
    await until('the new secret signs alone', async () => {
      const { headers } = await hitOf()
      return headers['webhook-signature']?.includes(' ') === false
    })
    expectSigned(await hitOf(second.baseUrl), 'two')
  })

  it('has an overlap of one day by default, and shows its end', async () => {
    const { provider: shown } = await rotate({ secret: 'two' })
    const [at = 0] = await expiries()
    expect(Math.abs(at - Date.now() - DAY_MS)).toBeLessThan(60_000)
    expect(shown.replacedSecretsExpireAt.map(Date.parse)).toEqual([at])
    const [other] = (await game.graphql(game.platformKey, READ)).data.authProviders[0].custom.slice(1)
    expect(other.replacedSecretsExpireAt).toEqual([])
  })

  it('applies at once without an overlap', async () => {
    await rotate({ secret: 'two', overlapSeconds: 0 })
    expectSigned(await hitOf(), 'two')
    expect(await sql('SELECT * FROM replaced_secrets')).toEqual([])
  })

  it('refuses no login when an endpoint that verifies webhook-signature switches during the overlap', async () => {
    let secret = 'one'
    const answer: Respond = (hit, response) =>
      void response.writeHead(verifiesStandard(hit, secret) ? 200 : 401).end('{"subject":"ada"}')
    operator.answer(answer)
    const logins = (): Promise<number>[] =>
      times(20, (index) => loginAt(index % 2 === 0 ? game.baseUrl : second.baseUrl))
    const underWay = logins()
    const rotated = await rotate()
    const statuses = await Promise.all([...underWay, ...logins()])
    secret = rotated.secret
    statuses.push(...(await Promise.all(logins())))
    await pass('1 day')
    statuses.push(...(await Promise.all(logins())))
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  it('refuses no login when an endpoint verifies X-Signature with both secrets', async () => {
    operator.answer((hit, response) => {
      const isSigned = ['one', 'two'].some((secret) => verifiesX(hit, secret))
      response.writeHead(isSigned ? 200 : 401).end('{"subject":"ada"}')
    })
    const logins = (): Promise<number>[] =>
      times(20, (index) => loginAt(index % 2 === 0 ? game.baseUrl : second.baseUrl))
    const underWay = logins()
    await rotate({ secret: 'two' })
    expect(new Set(await Promise.all([...underWay, ...logins()]))).toEqual(new Set([200]))
  })

  it('signs dry runs the same way', async () => {
    await rotate({ secret: 'two' })
    const test = 'mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { status } }'
    const input = { environment: 'production', customData: '{"player":"ada"}' }
    expect((await game.graphql(game.platformKey, test, { input })).data.testAuthProvider.status).toBe(200)
    expectSigned(operator.hits[0] as Hit, 'two', 'one')
  })

  it('is not visible over REST, where an answer that is written back keeps the overlap', async () => {
    const path = `/platform/v1/projects/${game.projectId}/auth-providers?environment=production`
    const headers = { authorization: `Bearer ${game.platformKey}` }
    await rotate({ secret: 'two' })
    const { body, text } = await game.request('GET', path, { headers })
    expect(Object.keys(body.authProviders.custom.default)).toEqual(['enabled', 'url', 'hasSecret', 'updatedAt'])
    // Writing the answer back keeps the overlap.
    const sent = await game.request('PUT', path.replace(/\?.*/, ''), { headers, body: text })
    expect(sent.text).toBe(text)
    expectSigned(await hitOf(), 'two', 'one')
  })
})

describe('replacing a secret again during an overlap', () => {
  it('lets each old secret sign until its own overlap ends', async () => {
    await rotate({ secret: 'two', overlapSeconds: 3600 })
    await rotate({ secret: 'three', overlapSeconds: 7200 })
    await rotate({ secret: 'four', overlapSeconds: 60 })
    expectSigned(await hitOf(), 'four', 'three', 'two', 'one')
    expect(await expiries()).toHaveLength(3)
    await pass('1 minute')
    expectSigned(await hitOf(), 'four', 'two', 'one')
    await pass('1 hour')
    expectSigned(await hitOf(), 'four', 'two')
    await pass('1 hour')
    expectSigned(await hitOf(), 'four')
  })

  it('is refused and changes nothing while five secrets sign, except without an overlap', async () => {
    for (const secret of ['two', 'three', 'four', 'five']) expect((await rotate({ secret })).code).toBeUndefined()
    expect((await rotate({ secret: 'six' })).code).toBe('TOO_MANY_SECRETS')
    expectSigned(await hitOf(), 'five', 'four', 'three', 'two', 'one')
    expect(await auditRows()).toHaveLength(4)
    await rotate({ secret: 'six', overlapSeconds: 0 })
    expectSigned(await hitOf(), 'six')
    expect(await expiries()).toEqual([])
  })

  it('is done once when the same secret is sent again, as after a lost answer', async () => {
    const first = await rotate({ secret: 'two' })
    const again = await rotate({ secret: 'two', overlapSeconds: 60 })
    expect(again).toEqual(first)
    expectSigned(await hitOf(), 'two', 'one')
    expect(await auditRows()).toHaveLength(1)
    // A generated secret whose answer is lost is harmless, too: the secret of the endpoint still signs.
    await rotate()
    await rotate({ secret: 'three' })
    expect(verifiesStandard(await hitOf(), 'one')).toBe(true)
  })

  it('can restore the old secret, which then signs once', async () => {
    await rotate({ secret: 'two' })
    await rotate({ secret: 'one' })
    expectSigned(await hitOf(), 'one', 'two')
  })

  it('with the current secret and no overlap ends the overlap', async () => {
    await rotate({ secret: 'two' })
    await rotate({ secret: 'two', overlapSeconds: 0 })
    expectSigned(await hitOf(), 'two')
    expect((await auditRows()).map(({ after }) => JSON.parse(after).secretChanged)).toEqual([true, false])
  })

  it('is done one after the other in concurrent calls on two instances, each with its audit row', async () => {
    for (const _ of times(5, (index) => index)) {
      await rotate({ secret: 'start', overlapSeconds: 0 })
      await sql('TRUNCATE audit_log')
      const secrets = ['a', 'b', 'c', 'd']
      const rotations = await Promise.all(
        secrets.map((secret, index) => rotate({ secret }, game.platformKey, index % 2 ? second.baseUrl : game.baseUrl)),
      )
      expect(rotations.map(({ code }) => code)).toEqual(times(4, () => undefined))
      const hit = await hitOf(second.baseUrl)
      for (const secret of ['start', ...secrets]) expect(verifiesStandard(hit, secret), secret).toBe(true)
      expect(secrets.filter((secret) => verifiesX(hit, secret))).toHaveLength(1)
      expect((await auditRows()).map(({ after }) => JSON.parse(after).replacedSecretsExpireAt.length)).toEqual([
        1, 2, 3, 4,
      ])
    }
  })
})

describe('setting providers during an overlap', () => {
  it('ends the overlap of a secret that it changes (contract 4.3)', async () => {
    await rotate({ secret: 'two' })
    await rotate({ name: 'other', secret: 'another' })
    await game.setProviders({ default: provider('three'), other: { enabled: true, url: operator.url } })
    expectSigned(await hitOf(), 'three')
    expectSigned(await hitOf(game.baseUrl, 'other'), 'another', 'the other')
    const [row] = await sql("SELECT after FROM audit_log WHERE action = 'auth_providers.set' ORDER BY id DESC LIMIT 1")
    expect(JSON.parse(row?.after).custom.default).toMatchObject({ secretChanged: true, replacedSecretsExpireAt: [] })
  })

  it('keeps the overlap when the secret is the same or not sent', async () => {
    await rotate({ secret: 'two' })
    const before = await expiries()
    for (const sent of [{ secret: 'two' }, {}, { secret: null }]) {
      await game.setProviders({ default: { enabled: true, url: `${operator.url}?v=2`, ...sent } })
      expectSigned(await hitOf(), 'two', 'one')
    }
    expect(await expiries()).toEqual(before)
  })

  it('erases the old secrets of a provider that it removes, also for a later one of that name', async () => {
    await rotate({ secret: 'two' })
    await game.setProviders({})
    expect(await sql('SELECT * FROM replaced_secrets')).toEqual([])
    await game.setProviders({ default: provider('two') })
    expectSigned(await hitOf(), 'two')
  })
})

describe('replaced secrets', () => {
  it('are encrypted for their own place: they cannot be swapped with one another or with the current one', async () => {
    await rotate({ secret: 'two' })
    await rotate({ secret: 'three' })
    const stored = await sql('SELECT secret FROM replaced_secrets ORDER BY id')
    for (const { secret } of stored) expect(secret).toMatch(/^v1\.[\w-]+\.[\w-]{16}\.[\w-]+$/)
    const [older, newer] = stored.map(({ secret }) => secret)
    const [{ secret: current }] = (await sql("SELECT secret FROM auth_providers WHERE name = 'default'")) as [
      { secret: string },
    ]

    // A secret that does not decrypt signs nothing. The current one still signs.
    for (const [put, instead] of [
      [older, newer],
      [newer, current],
    ]) {
      await sql('UPDATE replaced_secrets SET secret = $2 WHERE secret = $1', [put, instead])
      const signed = (await hitOf()).headers['webhook-signature']
      expect(String(signed).split(' ')).toHaveLength(2)
      await sql(
        'UPDATE replaced_secrets SET secret = $1 WHERE secret = $2 AND id = (SELECT min(id::text)::uuid FROM replaced_secrets WHERE secret = $2)',
        [put, instead],
      )
      expectSigned(await hitOf(), 'three', 'two', 'one')
    }
    await sql("UPDATE auth_providers SET secret = $1 WHERE name = 'default'", [newer])
    expect(await loginAt(game.baseUrl)).toBe(503)
    // A new secret repairs the provider. The secret that does not decrypt is dropped.
    await rotate({ secret: 'four' })
    expectSigned(await hitOf(), 'four', 'two', 'one')
  })

  it('do not sign on an instance without their key, which a new secret repairs', async () => {
    const fresh = generateSecretsKey()
    await rotate({ secret: 'two' })
    const { baseUrl, stop } = await startInstance(game.databaseUrl, { ...keys, SECRETS_KEYS: JSON.stringify([fresh]) })
    try {
      expect(await loginAt(baseUrl)).toBe(503)
      await rotate({ secret: 'three' }, game.platformKey, baseUrl)
      expectSigned(await hitOf(baseUrl), 'three')
    } finally {
      await stop()
    }
  })
})

describe('a rotation request', () => {
  it.each([
    [{ environment: '', name: '', reason: '' }, ['environment', 'name', 'reason']],
    [{ name: 'x'.repeat(33), reason: 'x'.repeat(501) }, ['name', 'reason']],
    [{ secret: '', overlapSeconds: -1 }, ['secret', 'overlapSeconds']],
    [{ secret: 'x'.repeat(513), overlapSeconds: 2_592_001 }, ['secret', 'overlapSeconds']],
    [{ secret: 'a\0b' }, ['secret']],
  ])('is refused with every fault named: %j', async (input, paths) => {
    const { code, details } = await rotate(input)
    expect(code).toBe('INVALID_REQUEST')
    expect(details.map(({ path }: { path: string }) => path)).toEqual(paths)
    expectSigned(await hitOf(), 'one')
  })

  it('is refused for an unknown provider or environment', async () => {
    for (const name of ['nobody', 'google', 'Bad name']) expect((await rotate({ name })).code).toBe('NOT_FOUND')
    expect((await rotate({ environment: 'staging' })).code).toBe('NOT_FOUND')
    expect((await rotate({ environment: 'nowhere' })).code).toBe('ENVIRONMENT_NOT_FOUND')
    expect(await auditRows()).toEqual([])
  })
})

describe('the audit log', () => {
  it('has a row for each rotation with actor, action, target and reason, and without the secret', async () => {
    await rotate({ secret: 'tell nobody' })
    const [row] = await auditRows()
    expect(row).toMatchObject({
      project_id: game.projectId,
      environment_id: game.environmentId,
      action: 'auth_providers.rotate_secret',
      target: 'default',
      reason: 'it leaked',
    })
    expect(row?.actor).toMatch(/^platform_key:/)
    const shown = { enabled: true, url: operator.url, hasSecret: true, updatedAt: expect.any(String) }
    expect(JSON.parse(row?.before)).toEqual({ ...shown, replacedSecretsExpireAt: [] })
    expect(JSON.parse(row?.after)).toEqual({
      ...shown,
      replacedSecretsExpireAt: [expect.any(String)],
      secretChanged: true,
    })
    expect(JSON.stringify(row)).not.toContain('tell nobody')
  })
})
