import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { generateSecretsKey, type SecretsKey } from '../../src/base/secrets.ts'
import { createProject } from '../../src/callers/projects.ts'
import { times } from '../harness/game.ts'
import { approve, startOperator, status } from '../harness/operator.ts'
import {
  auditRows,
  bearer,
  blocks,
  custom,
  expectSignedWith,
  game,
  get,
  lines,
  MIB,
  opened,
  operator,
  path,
  provider,
  put,
  putAt,
  second,
  secretsKey,
  sql,
  startLogged,
  startOperators,
  startSettings,
  stopOperators,
  stopSettings,
} from './settings-game.ts'

beforeAll(startSettings)
afterAll(stopSettings)
beforeEach(startOperators)
afterEach(stopOperators)

/** Runs an instance with these keys while `use` runs. */
async function withKeys<T>(keys: readonly SecretsKey[], use: (baseUrl: string) => Promise<T>): Promise<T> {
  const { baseUrl, stop } = await startLogged(keys)
  try {
    return await use(baseUrl)
  } finally {
    await stop()
  }
}

async function loginAt(baseUrl: string, body: object, sdkKey = game.sdkKey) {
  const headers = { 'x-sdk-key': sdkKey }
  const options = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${baseUrl}/sdk/v1/authorization/custom`, options)
  const text = await response.text()
  return { status: response.status, error: JSON.parse(text).error as string | undefined, text }
}

describe('a change of provider settings', () => {
  it('applies to the next login on another instance, in a hundred rounds (contract 4.3)', async () => {
    for (const index of times(100, (round) => round)) {
      const secret = `secret number ${index}`
      expect((await put(custom({ default: provider({ secret }) }))).status).toBe(200)
      expect((await loginAt(second.baseUrl, { customData: { player: 'ada' } })).status).toBe(200)
      expectSignedWith(secret, operator.hits.at(-1))
    }
    expect(operator.hits).toHaveLength(100)
    expect(lines.join('')).not.toContain('secret number')
  })

  it('of the flag, the URL or the map applies to the next login on both instances (contract 5)', async () => {
    const moved = await startOperator()
    const login = async (name: string) =>
      Promise.all(
        [game.baseUrl, second.baseUrl].map((baseUrl) =>
          loginAt(baseUrl, { customData: { player: 'ada' }, ...(name !== 'default' && { provider: name }) }),
        ),
      )
    const expectBoth = async (name: string, code: number, error?: string) => {
      expect((await login(name)).map((answer) => [answer.status, answer.error])).toEqual(times(2, () => [code, error]))
    }
    try {
      await expectBoth('default', 401, 'custom auth disabled')
      for (const _ of times(5, (index) => index)) {
        await put(custom({ default: provider(), studio: provider() }))
        await expectBoth('default', 200)
        await expectBoth('studio', 200)
        await put(custom({ default: { enabled: false, url: operator.url }, studio: provider({ url: moved.url }) }))
        const before = operator.hits.length
        await expectBoth('default', 401, 'custom auth disabled')
        await expectBoth('studio', 200)
        expect(operator.hits).toHaveLength(before)
        await put(custom({ default: { enabled: true, url: operator.url } }))
        await expectBoth('default', 200)
        await expectBoth('studio', 401, 'custom auth disabled')
        await put(custom({}))
        await expectBoth('default', 401, 'custom auth disabled')
      }
      expect(moved.hits).toHaveLength(10)
    } finally {
      await moved.close()
    }
  })

  it('never sends a login to one URL with the secret of another, while many logins are under way', async () => {
    const others = await startOperator()
    const sides = [
      [operator, 'the first secret'],
      [others, 'the second secret'],
    ] as const
    try {
      await put(custom({ default: provider({ secret: sides[0][1] }) }))
      const statuses: number[] = []
      let isChanging = true
      // Few at once: on a busy machine, an attempt of many would last longer than its three seconds.
      const players = times(8, async (index) => {
        const { baseUrl } = index % 2 === 0 ? game : second
        while (isChanging) statuses.push((await loginAt(baseUrl, { customData: { player: 'ada' } })).status)
      })
      for (const index of times(30, (round) => round)) {
        const [{ url }, secret] = sides[index % 2 === 0 ? 1 : 0]
        expect((await put(custom({ default: { enabled: true, url, secret } }))).status).toBe(200)
      }
      isChanging = false
      await Promise.all(players)
      expect(new Set(statuses)).toEqual(new Set([200]))
      for (const [{ hits }, secret] of sides) for (const hit of hits) expectSignedWith(secret, hit)
      expect(sides.every(([{ hits }]) => hits.length > 0)).toBe(true)
    } finally {
      await others.close()
    }
  })

  it('writes one audit row with actor, action and target, and none when nothing changes', async () => {
    await put(custom({ default: provider() }))
    await put(custom({ default: provider() }))
    await put(blocks({}))
    await put(custom({ default: provider({ secret: 'another one' }) }))
    await put(custom({ default: { enabled: false, url: operator.url } }))
    await put(custom({}))
    await put(custom({}))
    const rows = await auditRows()
    expect(rows).toHaveLength(4)
    for (const row of rows) {
      const { project_id, environment_id, action, target, reason } = row
      expect([project_id, environment_id, action, target, reason]).toEqual([
        game.projectId,
        game.environmentId,
        'auth_providers.set',
        'production',
        null,
      ])
      expect(row.actor).toMatch(/^platform_key:[0-9a-f-]{36}$/)
    }
    const [id] = await sql("SELECT id FROM platform_keys WHERE 'platform_key:' || id = $1", [rows[0]?.actor])
    expect(id).toBeDefined()
    const shown = (enabled: boolean) => ({
      enabled,
      url: operator.url,
      hasSecret: true,
      updatedAt: expect.any(String),
      replacedSecretsExpireAt: [],
    })
    const none = { custom: {}, google: null, apple: null }
    const one = (enabled: boolean, more: object = {}) => ({
      ...none,
      custom: { default: { ...shown(enabled), ...more } },
    })
    expect(rows.map(({ before, after }) => [JSON.parse(before), JSON.parse(after)])).toEqual([
      [none, one(true, { secretChanged: true })],
      [one(true), one(true, { secretChanged: true })],
      [one(true), one(false)],
      [one(false), none],
    ])
    for (const secret of [operator.secret, 'another one']) expect(JSON.stringify(rows)).not.toContain(secret)
  })

  it.each([
    ['google', 'clientId', 'clientSecret'],
    ['apple', 'teamId', 'privateKey'],
  ])('of a secret of %s is audited, without the secret', async (kind, id, secret) => {
    for (const block of [
      { [id]: 'a', [secret]: 'hidden-1' },
      { [id]: 'a', [secret]: 'hidden-2' },
      { [id]: 'b', [secret]: 'hidden-3' },
      { [id]: 'c' },
    ])
      expect((await put(blocks({ [kind]: block }))).status).toBe(200)
    const rows = await auditRows()
    expect(rows.map(({ after }) => JSON.parse(after)[kind][id])).toEqual(['a', 'a', 'b', 'c'])
    expect(rows.map(({ after }) => /secrets?Changed/.test(after))).toEqual([true, true, true, false])
    expect(JSON.stringify(rows)).not.toContain('hidden')
  })

  it('is rolled back when its audit row cannot be written', async () => {
    await put(custom({ default: provider() }))
    const before = await get()
    await sql('ALTER TABLE audit_log ADD CONSTRAINT nothing_more CHECK (false) NOT VALID')
    try {
      const answer = await put(custom({ default: provider({ enabled: false }), more: provider() }))
      expect([answer.status, answer.body.error]).toEqual([500, 'internal error'])
    } finally {
      await sql('ALTER TABLE audit_log DROP CONSTRAINT nothing_more')
    }
    expect((await get()).text).toBe(before.text)
    expect(await auditRows()).toHaveLength(1)
  })

  it('that is sent three times at once is one change, in twenty rounds', async () => {
    for (const round of times(20, (index) => index)) {
      const body = custom({ default: provider({ secret: `round ${round}` }) })
      const answers = await Promise.all([put(body), putAt(second.baseUrl, body), put(body)])
      expect(answers.map(({ status: code }) => code)).toEqual([200, 200, 200])
      expect(await auditRows()).toHaveLength(round + 1)
    }
  })
})

describe('secrets at rest (contract 4.3)', () => {
  const stored = () => sql('SELECT name, secret, settings FROM auth_providers')

  it('are encrypted, for custom providers, for google and for apple', async () => {
    const google = { clientId: 'c', clientSecret: 'google-secret' }
    const apple = { teamId: 't', privateKey: 'apple-private' }
    await put(blocks({ custom: { default: provider() }, google, apple }))
    const rows = await stored()
    const text = JSON.stringify(rows)
    for (const secret of [operator.secret, 'google-secret', 'apple-private']) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('base64url').slice(0, -1))
    }
    expect(rows).toHaveLength(3)
    for (const { secret } of rows) expect(secret).toMatch(new RegExp(`^v1\\.${secretsKey.kid}\\.[\\w-]{16}\\.[\\w-]+$`))
    expect((await opened('google')).get('clientSecret')).toBe('"google-secret"')
    expect((await opened('apple')).get('privateKey')).toBe('"apple-private"')
  })

  it('are encrypted differently for each provider and in each write with the same secret', async () => {
    const google = { clientSecret: operator.secret }
    const apple = { privateKey: operator.secret }
    const customs = Object.fromEntries(times(20, (index) => [`p${index}`, provider()]))
    const sealed: string[] = []
    for (const _ of times(2, (write) => write)) {
      expect((await put(blocks({ custom: customs, google, apple }))).status).toBe(200)
      sealed.push(...(await stored()).map(({ secret }) => secret))
    }
    // The initialization vectors and the ciphertexts.
    for (const part of [2, 3]) expect(new Set(sealed.map((secret) => secret.split('.')[part])).size).toBe(44)
  })

  const OF = 'SELECT secret FROM auth_providers WHERE'
  it.each([
    ['moved to another name', 'moved', "UPDATE auth_providers SET name = 'moved' WHERE name = 'default'"],
    ['replaced by that of another provider', 'default', `UPDATE auth_providers SET secret = (${OF} name = 'other')`],
    ['replaced by the block of google', 'default', `UPDATE auth_providers SET secret = (${OF} kind = 'google')`],
    ['truncated', 'default', 'UPDATE auth_providers SET secret = left(secret, -1)'],
    ['replaced by plain text', 'default', "UPDATE auth_providers SET secret = 'hunter2'"],
    ['replaced by an empty text', 'default', "UPDATE auth_providers SET secret = ''"],
    ['removed', 'default', 'UPDATE auth_providers SET secret = NULL'],
  ])('do not decrypt when %s: logins are unavailable and nothing is sent', async (_what, name, tamper) => {
    await put(
      blocks({
        custom: { default: provider(), other: provider({ secret: 'another' }) },
        google: { secret: 'hunter2' },
      }),
    )
    await sql(tamper)
    for (const baseUrl of [game.baseUrl, second.baseUrl]) {
      const answer = await loginAt(baseUrl, { customData: { player: 'ada' }, provider: name })
      expect([answer.status, answer.error]).toEqual([503, 'custom auth unavailable'])
      for (const told of [operator.secret, 'hunter2', 'another', 'v1.']) expect(answer.text).not.toContain(told)
    }
    expect(operator.hits).toEqual([])
    // One line a minute for each cause: an earlier row may have had this one.
    const told = lines.join('')
    expect(told).toContain('could not be opened')
    for (const secret of [operator.secret, 'hunter2', 'another']) expect(told).not.toContain(secret)
    expect((await get()).status).toBe(200)
    // Sending the secret again repairs it.
    const mended = await put(custom({ [name]: provider() }))
    expect(mended.status).toBe(200)
    expect((await game.login({ player: 'ada' }, { provider: name })).status).toBe(200)
    expectSignedWith(operator.secret, operator.hits[0])
  })

  it('do not decrypt in another environment or project', async () => {
    await put(custom({ default: provider() }))
    await sql('UPDATE auth_providers SET environment_id = $1', [game.stagingId])
    const answer = await loginAt(second.baseUrl, { customData: { player: 'ada' } }, game.stagingSdkKey)
    expect([answer.status, answer.error]).toEqual([503, 'custom auth unavailable'])

    const other = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    await sql('UPDATE auth_providers SET environment_id = $1', [game.environmentId])
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    const project = async (id: string) =>
      sql('UPDATE environments SET project_id = $1, name = $2 WHERE id = $3', [id, 'production', game.environmentId])
    await sql("UPDATE environments SET name = 'aside' WHERE project_id = $1", [other.projectId])
    await project(other.projectId)
    try {
      const moved = await loginAt(second.baseUrl, { customData: { player: 'ada' } })
      expect([moved.status, moved.error]).toEqual([503, 'custom auth unavailable'])
    } finally {
      await project(game.projectId)
    }
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    expect(operator.hits).toHaveLength(2)
  })

  it('decrypt behind a new first key, and without their key a login is unavailable', async () => {
    await put(custom({ default: provider(), other: provider() }))
    const fresh = generateSecretsKey()
    const login = { customData: { player: 'ada' } }
    const [before] = await sql("SELECT secret FROM auth_providers WHERE name = 'default'")
    await withKeys([fresh, secretsKey], async (baseUrl) => {
      expect((await loginAt(baseUrl, login)).status).toBe(200)
      expectSignedWith(operator.secret, operator.hits[0])
      // A kept secret stays under its key. One that is sent is sealed with the new key, which is no change.
      const response = await putAt(
        baseUrl,
        custom({ default: { enabled: true, url: operator.url }, other: provider() }),
      )
      expect(response.status).toBe(200)
      const rows = await sql('SELECT name, secret FROM auth_providers ORDER BY name')
      expect(rows[0]).toEqual({ name: 'default', secret: before?.secret })
      expect(rows[1]?.secret).toMatch(new RegExp(`^v1\\.${fresh.kid}\\.`))
      expect(await auditRows()).toHaveLength(1)
      expect((await loginAt(baseUrl, { ...login, provider: 'other' })).status).toBe(200)
      expectSignedWith(operator.secret, operator.hits[1])
    })
    await withKeys([fresh], async (baseUrl) => {
      expect((await loginAt(baseUrl, { ...login, provider: 'other' })).status).toBe(200)
      const lost = await loginAt(baseUrl, login)
      expect([lost.status, lost.error]).toEqual([503, 'custom auth unavailable'])
      expect(operator.hits).toHaveLength(3)
      expect((await putAt(baseUrl, custom({ default: provider() }))).status).toBe(200)
      expect((await loginAt(baseUrl, login)).status).toBe(200)
      expectSignedWith(operator.secret, operator.hits[3])
    })
    const unknown = await game.login({ player: 'ada' })
    expect([unknown.status, unknown.body.error]).toEqual([503, 'custom auth unavailable'])
    expect(lines.join('')).not.toContain(operator.secret)
  })

  it('appear in no log, answer, metric or table, whether requests succeed or fail', async () => {
    const secrets = times(12, (index) => `tell-nobody-${index}-`.padEnd(40, 'x'))
    const [first = '', next = '', faulty = '', wrong = '', google = '', apple = '', ...others] = secrets
    const [unread = '', nowhere = '', player = '', graphql = '', failed = '', viewer = ''] = others
    const heard: string[] = []
    const { baseUrl, stop } = await startLogged([secretsKey])
    const send = async (method: string, to: string, headers: Record<string, string>, body?: unknown) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const response = await fetch(baseUrl + to, { method, headers, body: text })
      heard.push(`${JSON.stringify([...response.headers])} ${await response.text()}`)
      return response.status
    }
    const admin = bearer(game.platformKey)
    const write = (body: unknown, headers = admin) => send('PUT', path(), headers, body)
    const login = () =>
      send('POST', '/sdk/v1/authorization/custom', { 'x-sdk-key': game.sdkKey }, { customData: { player: 'ada' } })
    const query = (text: string, input: object) =>
      send('POST', '/graphql', { ...admin, 'content-type': 'application/json' }, { query: text, variables: { input } })
    const SET = `mutation ($input: SetAuthProvidersInput!) { setAuthProviders(input: $input) {
      authProviders { custom { name url hasSecret updatedAt } google apple } } }`
    const TEST = `mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) {
      status error attempts { status error } } }`
    try {
      // Requests that succeed.
      const settings = blocks({
        custom: { default: provider({ secret: first }) },
        google: { clientSecret: google },
        apple: { keys: [{ privateKey: apple }] },
      })
      expect(await write(settings)).toBe(200)
      expect(await login()).toBe(200)
      expect(await write(custom({ default: provider({ secret: next }) }))).toBe(200)
      expect(await login()).toBe(200)
      expect(await query(SET, { ...custom({ graphql: provider({ secret: graphql }) }, 'staging'), reason: 'x' })).toBe(
        200,
      )
      await query(TEST, { environment: 'production', customData: '{"player":"ada"}' })
      // Refused input.
      expect(await write(custom({ default: { enabled: 1, url: 'ftp://x', secret: faulty } }))).toBe(400)
      expect(await write(custom({ default: provider({ secret: [wrong] }) }))).toBe(400)
      expect(await write(custom({ default: provider({ secret: wrong.repeat(20) }) }))).toBe(400)
      expect(await write(`${JSON.stringify(custom({ default: provider({ secret: unread }) }))}}`)).toBe(400)
      expect(await write(JSON.stringify(custom({ default: provider({ secret: unread }) })).padEnd(MIB + 1))).toBe(413)
      expect(await write(custom({ default: provider({ secret: nowhere }) }, 'nowhere'))).toBe(404)
      expect(await write(custom({ default: provider({ secret: player }) }), bearer((await game.player()).token))).toBe(
        401,
      )
      expect(await write(custom({ default: provider({ secret: viewer }) }), bearer(await game.key('viewer')))).toBe(403)
      await query(SET, { ...custom({ Bad: { enabled: true, url: 'x', secret: graphql } }), reason: '' })
      await query(SET, {
        environment: 'production',
        authProviders: `{"custom":{"a":{"secret":"${graphql}"}`,
        reason: 'x',
      })
      // Failures of the webhook and of the database.
      for (const code of [401, 302, 500]) {
        operator.answer(status(code))
        expect(await login()).not.toBe(200)
      }
      operator.answer(approve(`{"subject":"ada","data":{"${'x'.repeat(129)}":1}}`))
      expect(await login()).toBe(401)
      await sql('ALTER TABLE auth_providers ADD CONSTRAINT nothing_more CHECK (false) NOT VALID')
      expect(await write(custom({ default: provider({ secret: failed }) }))).toBe(500)
      await sql('ALTER TABLE auth_providers DROP CONSTRAINT nothing_more')
      await sql("UPDATE auth_providers SET name = 'moved' WHERE name = 'default'")
      await send(
        'POST',
        '/sdk/v1/authorization/custom',
        { 'x-sdk-key': game.sdkKey },
        { customData: {}, provider: 'moved' },
      )
      // Reads.
      for (const to of [path(), `${path()}?environment=production`, '/metrics']) {
        expect(await send('GET', to, admin)).toBe(200)
      }
      await query('{ authProviders { environment custom { name url hasSecret } google apple } }', {})
    } finally {
      await sql('ALTER TABLE auth_providers DROP CONSTRAINT IF EXISTS nothing_more')
      await stop()
    }
    const tables = await sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for (const { tablename } of tables) {
      for (const { row } of await sql(`SELECT t::text AS row FROM "${tablename}" t`)) heard.push(`${tablename} ${row}`)
    }
    expect(lines.length).toBeGreaterThan(0)
    for (const secret of ['tell-nobody', ...secrets]) {
      expect(lines.filter((line) => line.includes(secret))).toEqual([])
      expect(heard.filter((text) => text.includes(secret))).toEqual([])
    }
  })
})
