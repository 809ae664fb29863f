import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey, createSdkKey, createServerKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { type Game, startGame } from '../harness/game.ts'
import { startOperator } from '../harness/operator.ts'

let game: Game
let elsewhere: {
  readonly sdkKeyId: string
  readonly serverKeyId: string
  readonly platformKeyId: string
  readonly platformKey: string
}

beforeAll(async () => {
  game = await startGame()
  const { projectId, environments } = await createProject(game.app.pool, {
    name: 'Other',
    environments: ['production'],
  })
  const sdk = await createSdkKey(game.app.pool, environments.get('production') ?? '')
  const server = await createServerKey(game.app.pool, environments.get('production') ?? '')
  const platform = await createPlatformKey(game.app.pool, projectId, 'admin')
  elsewhere = { sdkKeyId: sdk.id, serverKeyId: server.id, platformKeyId: platform.id, platformKey: platform.key }
})
afterAll(() => game?.stop())

const CREATE_SDK =
  'mutation ($input: CreateEnvironmentKeyInput!) { createSdkKey(input: $input) { key sdkKey { id keyId prefix } } }'
const CREATE_SERVER =
  'mutation ($input: CreateEnvironmentKeyInput!) { createServerKey(input: $input) { key serverKey { id keyId prefix } } }'
const CREATE_PLATFORM =
  'mutation ($input: CreatePlatformKeyInput!) { createPlatformKey(input: $input) { key platformKey { id keyId prefix } } }'
const REVOKE_SDK = 'mutation ($input: RevokeEnvironmentKeyInput!) { revokeSdkKey(input: $input) { sdkKey { id } } }'
const REVOKE_SERVER =
  'mutation ($input: RevokeEnvironmentKeyInput!) { revokeServerKey(input: $input) { serverKey { id } } }'
const REVOKE_PLATFORM =
  'mutation ($input: RevokePlatformKeyInput!) { revokePlatformKey(input: $input) { platformKey { id } } }'

const admin = (query: string, input?: object) => game.graphql(game.platformKey, query, input && { input })

async function auditRows(action: string) {
  const { rows } = await game.app.pool.query(
    'SELECT actor, target, before, after, reason FROM audit_log WHERE project_id = $1 AND action = $2 ORDER BY id',
    [game.projectId, action],
  )
  return rows
}

describe('an SDK key made by an admin (contract 5)', () => {
  it('is shown once, logs players in and stops working when it is revoked', async () => {
    const operator = await startOperator()
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } }, 'staging')
    const { data } = await admin(CREATE_SDK, { environment: 'staging', reason: 'for the beta' })
    const { key, sdkKey } = data.createSdkKey
    const { id, keyId, prefix } = sdkKey
    expect(key.startsWith(prefix)).toBe(true)
    expect((await game.login({ player: 'ada' }, { sdkKey: key })).status).toBe(200)

    const listed = await admin('{ sdkKeys(first: 200) { edges { node { id prefix environment revokedAt } } } }')
    const nodes = listed.data.sdkKeys.edges.map(({ node }: { node: { id: string } }) => node)
    expect(nodes).toContainEqual({ id, prefix, environment: 'staging', revokedAt: null })
    expect(JSON.stringify(listed)).not.toContain(key)
    expect(JSON.stringify(listed)).not.toContain(elsewhere.sdkKeyId)

    expect(await admin(REVOKE_SDK, { id, reason: 'the beta is over' })).toEqual({
      data: { revokeSdkKey: { sdkKey: { id } } },
    })
    const refused = await game.login({ player: 'ada' }, { sdkKey: key })
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid sdk key'])
    expect(await auditRows('sdk_key.create')).toMatchObject([{ target: keyId, reason: 'for the beta', before: null }])
    expect(await auditRows('sdk_key.revoke')).toMatchObject([
      { target: keyId, reason: 'the beta is over', after: null },
    ])
    await operator.close()
  })

  it('is refused for an unknown environment', async () => {
    const { errors } = await admin(CREATE_SDK, { environment: 'nowhere', reason: 'x' })
    expect(errors?.[0]?.extensions.code).toBe('ENVIRONMENT_NOT_FOUND')
  })
})

describe('a server key made by an admin', () => {
  it('is shown once, opens its environment and stops working when it is revoked', async () => {
    const { data } = await admin(CREATE_SERVER, { environment: 'staging', label: 'match server', reason: 'a fleet' })
    const { key, serverKey } = data.createServerKey
    const { id, keyId, prefix } = serverKey
    expect([key.startsWith(prefix), prefix]).toEqual([true, expect.stringMatching(/^twsrv_.{6}$/)])
    const find = () =>
      game.request('POST', '/server/v1/players/find', {
        body: '{"provider":"custom","subject":"nobody"}',
        headers: { authorization: `Bearer ${key}` },
      })
    expect((await find()).body.error).toBe('player not found')

    const listed = await admin(
      '{ serverKeys(first: 200) { nodes { id prefix label environment createdBy revokedAt revokedBy } } }',
    )
    const { rows } = await game.app.pool.query(
      'SELECT id FROM platform_keys WHERE project_id = $1 ORDER BY id LIMIT 1',
      [game.projectId],
    )
    expect(listed.data.serverKeys.nodes).toContainEqual({
      ...{ id, prefix, label: 'match server', environment: 'staging' },
      ...{ createdBy: `platform_key:${rows[0].id}`, revokedAt: null, revokedBy: null },
    })
    expect(JSON.stringify(listed)).not.toContain(key)
    expect(JSON.stringify(listed)).not.toContain(elsewhere.serverKeyId)

    await admin(REVOKE_SERVER, { id, reason: 'the fleet is gone' })
    expect([(await find()).status, (await find()).body.error]).toEqual([401, 'invalid token'])
    expect(await auditRows('server_key.create')).toMatchObject([
      { target: keyId, reason: 'a fleet', before: null, after: JSON.stringify({ prefix, label: 'match server' }) },
    ])
    expect(await auditRows('server_key.revoke')).toMatchObject([
      { target: keyId, reason: 'the fleet is gone', before: JSON.stringify({ prefix }), after: null },
    ])
  })
})

describe('a platform key made by an admin (contract 5)', () => {
  it('grants only its role and stops working when it is revoked', async () => {
    const { data } = await admin(CREATE_PLATFORM, { role: 'VIEWER', reason: 'a dashboard' })
    const { key, platformKey } = data.createPlatformKey
    const { id } = platformKey
    const list = '{ platformKeys(first: 200) { edges { node { id role revokedAt } } } }'
    expect((await admin(list)).data.platformKeys.edges).toContainEqual({
      node: { id, role: 'VIEWER', revokedAt: null },
    })
    expect((await game.graphql(key, '{ streamCursor(environment: "production") }')).errors).toBeUndefined()
    expect((await game.graphql(key, list)).errors?.[0]?.extensions.code).toBe('FORBIDDEN')

    await admin(REVOKE_PLATFORM, { id, reason: 'no more' })
    const { errors } = await game.graphql(key, '{ streamCursor(environment: "production") }')
    expect(errors?.[0]?.extensions.code).toBe('INVALID_TOKEN')
  })
})

describe('the lists of keys', () => {
  const names = { sdk: 'sdkKeys', server: 'serverKeys', platform: 'platformKeys' } as const
  const list = async (kind: keyof typeof names, args: string, key = game.platformKey) => {
    const query = `{ ${names[kind]}(${args}) { edges { cursor node { id prefix createdBy revokedAt revokedBy } }
      pageInfo { hasNextPage endCursor } } }`
    const { data, errors } = await game.graphql(key, query)
    return { page: data?.[names[kind]], error: errors?.[0]?.extensions }
  }
  const idsOf = (page: { edges: { node: { id: string } }[] }) => page.edges.map(({ node }) => node.id)

  it('find a key by the start of its prefix, literally and not as a pattern', async () => {
    const { id, prefix } = (await admin(CREATE_SDK, { environment: 'staging', reason: 'x' })).data.createSdkKey.sdkKey
    const other = (await admin(CREATE_PLATFORM, { role: 'VIEWER', reason: 'x' })).data.createPlatformKey.platformKey
    for (const [kind, made] of [
      ['sdk', { id, prefix }],
      ['server', (await admin(CREATE_SERVER, { environment: 'staging', reason: 'x' })).data.createServerKey.serverKey],
      ['platform', other],
    ] as const) {
      for (const length of [12, 11, 10]) {
        const { page } = await list(kind, `prefix: "${made.prefix.slice(0, length)}"`)
        expect(idsOf(page)).toContain(made.id)
      }
      expect(idsOf((await list(kind, `prefix: "${made.prefix}"`)).page)).toEqual([made.id])
      for (const nothing of ['%', '_', '\\\\', 'tw%', `${made.prefix.slice(0, 11)}_`, made.prefix.toUpperCase()])
        expect([nothing, idsOf((await list(kind, `prefix: "${nothing}"`)).page).includes(made.id)]).toEqual([
          nothing,
          `${made.prefix.slice(0, 11)}_` === nothing && made.prefix.endsWith('_'),
        ])
      // A search must not contain a whole key.
      expect((await list(kind, `prefix: "${made.prefix}x"`)).error?.code).toBe('INVALID_REQUEST')
      expect((await list(kind, 'prefix: ""')).error?.code).toBe('INVALID_REQUEST')
    }
  })

  it('are filtered by environment and by role', async () => {
    const { id } = (await admin(CREATE_SDK, { environment: 'staging', reason: 'x' })).data.createSdkKey.sdkKey
    expect(idsOf((await list('sdk', 'environment: "staging", first: 200')).page)).toContain(id)
    expect(idsOf((await list('sdk', 'environment: "production", first: 200')).page)).not.toContain(id)
    expect((await list('sdk', 'environment: "nowhere"')).error?.code).toBe('ENVIRONMENT_NOT_FOUND')
    const server = (await admin(CREATE_SERVER, { environment: 'staging', reason: 'x' })).data.createServerKey.serverKey
    expect(idsOf((await list('server', 'environment: "staging", first: 200')).page)).toContain(server.id)
    expect(idsOf((await list('server', 'environment: "production", first: 200')).page)).not.toContain(server.id)
    const made = (await admin(CREATE_PLATFORM, { role: 'OPERATOR', reason: 'x' })).data.createPlatformKey.platformKey
    expect(idsOf((await list('platform', 'role: OPERATOR, first: 200')).page)).toContain(made.id)
    expect(idsOf((await list('platform', 'role: VIEWER, first: 200')).page)).not.toContain(made.id)
  })

  it('name the creator of a key and the first to revoke it; null for the command line', async () => {
    const [made] = (await list('platform', `prefix: "${game.platformKey.slice(0, 12)}"`)).page.edges
    expect(made.node).toMatchObject({ createdBy: null, revokedAt: null, revokedBy: null })
    const second = (await admin(CREATE_PLATFORM, { role: 'ADMIN', reason: 'x' })).data.createPlatformKey
    const third = (await game.graphql(second.key, CREATE_SDK, { input: { environment: 'staging', reason: 'x' } })).data
    const { id, prefix } = third.createSdkKey.sdkKey
    await admin(REVOKE_SDK, { id, reason: 'first' })
    const present = async () => (await list('sdk', `prefix: "${prefix}"`)).page.edges[0].node
    const revoked = await present()
    expect(revoked).toEqual({
      id,
      prefix,
      createdBy: `platform_key:${second.platformKey.keyId}`,
      revokedAt: expect.stringMatching(/^20/),
      revokedBy: `${made.node.id.replace('PlatformKey', 'platform_key')}`,
    })
    await game.graphql(second.key, REVOKE_SDK, { input: { id, reason: 'again' } })
    expect(await present()).toEqual(revoked)
  })
})

describe('the creation and revocation of keys', () => {
  it('answers NOT_FOUND for keys of another project, as for unknown keys', async () => {
    for (const [query, id] of [
      [REVOKE_SDK, elsewhere.sdkKeyId],
      [REVOKE_PLATFORM, elsewhere.platformKeyId],
      [REVOKE_SDK, elsewhere.platformKeyId],
      [REVOKE_SERVER, elsewhere.serverKeyId],
      [REVOKE_SERVER, elsewhere.sdkKeyId],
      [REVOKE_PLATFORM, '00000000-0000-4000-8000-000000000000'],
    ] as const) {
      expect((await admin(query, { id, reason: 'x' })).errors?.[0]?.extensions.code).toBe('NOT_FOUND')
    }
    // The audit log of the caller's project records each attempt.
    const denied = []
    for (const kind of ['sdk', 'server', 'platform']) denied.push(...(await auditRows(`${kind}_key.revoke.denied`)))
    expect(new Set(denied.map(({ target }) => target))).toEqual(
      new Set([
        elsewhere.sdkKeyId,
        elsewhere.serverKeyId,
        elsewhere.platformKeyId,
        '00000000-0000-4000-8000-000000000000',
      ]),
    )
    expect((await game.graphql(elsewhere.platformKey, '{ platformKeys { edges { node { id } } } }')).data).toEqual({
      platformKeys: { edges: [{ node: { id: `PlatformKey:${elsewhere.platformKeyId}` } }] },
    })
  })

  it('needs a valid id and a reason', async () => {
    const { errors } = await admin(REVOKE_SDK, { id: 'mine', reason: '' })
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [{ path: 'id' }, { path: 'reason' }],
    })
  })
})

describe('the last way in for admins', () => {
  it('is not ended without a word: a key or single sign-on, one by one and two at once', async () => {
    const { pool } = game.app
    const { projectId } = await createProject(pool, { name: 'Small', environments: ['production'] })
    const [one, two] = [
      await createPlatformKey(pool, projectId, 'admin'),
      await createPlatformKey(pool, projectId, 'admin'),
    ]
    const support = await createPlatformKey(pool, projectId, 'support')
    const revoke = async (by: string, id: string, more: object = {}) => {
      const { errors } = await game.graphql(by, REVOKE_PLATFORM, { input: { id, reason: 'test', ...more } })
      return errors?.[0]?.extensions.details?.[0] ?? errors?.[0]?.extensions.code ?? 'ok'
    }
    const refused = {
      path: 'allowLast',
      message: expect.stringContaining(`npx tierway key create --kind platform --project ${projectId}`),
    }
    // Each revokes the other one.
    const ends = await Promise.all([revoke(one.key, two.id), revoke(two.key, one.id)])
    expect(ends.filter((end) => end === 'ok')).toHaveLength(1)
    const [left, id] = ends[0] === 'ok' ? [one.key, one.id] : [two.key, two.id]
    expect(await revoke(left, support.id)).toBe('ok')
    expect(await revoke(left, id)).toEqual(refused)

    // Single sign-on without a group of admins is no way in; with one, it is.
    const groups: object[] = []
    const addGroup = async (role: 'support' | 'admin') => {
      const key = await createPlatformKey(pool, projectId, role)
      groups.push({ group: role, role, keyId: key.id })
      await pool.query(
        `INSERT INTO single_sign_ons (project_id, title, issuer, client_id, console_url, scopes, groups_claim, groups, session_hours)
         VALUES ($1, 'Studio', 'https://studio.example', 'console', '', '{}', 'groups', $2, 8)
         ON CONFLICT (project_id) DO UPDATE SET groups = excluded.groups`,
        [projectId, JSON.stringify(groups)],
      )
      return key
    }
    await addGroup('support')
    expect(await revoke(left, id)).toEqual(refused)
    const signOn = await addGroup('admin')
    expect(await revoke(left, id)).toBe('ok')
    // The person who is left signed in with single sign-on.
    const { token } = await game.app.service.tokens.issueOperatorToken({
      ...{ projectId, keyId: signOn.id, role: 'admin', actor: 'Ada', seconds: 60 },
    })
    expect(await revoke(token, signOn.id)).toEqual(refused)
    const remove = async (more: object = {}) => {
      const document = `mutation ($input: DeleteSingleSignOnInput!) { deleteSingleSignOn(input: $input) { singleSignOn { title } } }`
      const { errors } = await game.graphql(token, document, { input: { reason: 'test', ...more } })
      return errors?.[0]?.extensions.details?.[0] ?? 'ok'
    }
    expect(await remove()).toEqual(refused)
    expect(await remove({ allowLast: true })).toBe('ok')
  })
})
