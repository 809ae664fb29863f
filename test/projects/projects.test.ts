import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProject } from '../../src/callers/projects.ts'
import { season } from '../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, times } from '../harness/game.ts'
import { approve, startOperator, type Operator as Webhook } from '../harness/operator.ts'
import { auditRows, newOperator, type Operator } from '../support/desk.ts'

let game: Game
let webhook: Webhook
let admin: Operator
let viewer: Operator
/** An admin of a project without environments. */
let stranger: Operator

beforeAll(async () => {
  game = await startGame()
  webhook = await startOperator(approve({ subject: 'ada' }))
  const { pool } = game.app
  const { projectId } = await createProject(pool, { name: 'Other', environments: [] })
  ;[admin, viewer, stranger] = await Promise.all([
    newOperator(pool, game.projectId, 'admin'),
    newOperator(pool, game.projectId, 'viewer'),
    newOperator(pool, projectId, 'admin'),
  ])
})
afterAll(async () => {
  await webhook.close()
  await game.stop()
})

let names = 0
const fresh = (): string => {
  names += 1
  return `env-${names}`
}

const CREATE = `mutation ($input: CreateEnvironmentInput!) {
  createEnvironment(input: $input) { environment { id name createdAt sdkKeys serverKeys } } }`
const create = (name: string, { key = admin.key, reason = 'a new world' } = {}): Promise<GraphqlAnswer> =>
  game.graphql(key, CREATE, { input: { name, reason } })

const RENAME = `mutation ($input: RenameProjectInput!) { renameProject(input: $input) { project { projectId name } } }`
const rename = (name: string, { key = admin.key, reason = 'a better name' } = {}): Promise<GraphqlAnswer> =>
  game.graphql(key, RENAME, { input: { name, reason } })

const PROJECT =
  '{ project { projectId name createdAt environments { name sdkKeys serverKeys } platformKeys { role keys } } environments { id name } }'

const codeOf = ({ errors }: GraphqlAnswer): string => errors?.[0]?.extensions.code ?? 'ok'

describe('the queries project and environments', () => {
  it('answer the project of the key only, with its environments by name and its key counts by role', async () => {
    const { data } = await game.graphql(viewer.key, PROJECT)
    expect(data.project).toMatchObject({ projectId: game.projectId, createdAt: expect.stringMatching(/^20.*Z$/) })
    expect(data.environments.map(({ name }: { name: string }) => name)).toEqual(
      data.project.environments.map(({ name }: { name: string }) => name),
    )
    expect(data.environments).toEqual(
      expect.arrayContaining([
        { id: `Environment:${game.environmentId}`, name: 'production' },
        { id: `Environment:${game.stagingId}`, name: 'staging' },
      ]),
    )
    const other = (await game.graphql(stranger.key, PROJECT)).data
    expect(other.environments).toEqual([])
    expect(other.project).toMatchObject({ projectId: stranger.caller.projectId, name: 'Other', environments: [] })
    expect(other.project.platformKeys).toEqual([
      ...['ANALYST', 'DESIGNER', 'VIEWER', 'SUPPORT', 'OPERATOR'].map((role) => ({ role, keys: 0 })),
      { role: 'ADMIN', keys: 1 },
    ])
  })

  it('count valid keys and not revoked ones', async () => {
    const counts = async () => {
      const { project } = (await game.graphql(admin.key, PROJECT)).data
      const { sdkKeys, serverKeys } = project.environments.find(({ name }: { name: string }) => name === 'staging')
      return [sdkKeys, serverKeys, project.platformKeys.find(({ role }: { role: string }) => role === 'OPERATOR').keys]
    }
    const before = await counts()
    const made = await game.graphql(
      admin.key,
      `mutation { sdk: createSdkKey(input: { environment: "staging", reason: "x" }) { sdkKey { id } }
        server: createServerKey(input: { environment: "staging", reason: "x" }) { serverKey { id } }
        platform: createPlatformKey(input: { role: OPERATOR, reason: "x" }) { platformKey { id } } }`,
    )
    expect(await counts()).toEqual(before.map((count) => count + 1))
    await game.graphql(
      admin.key,
      `mutation { revokeSdkKey(input: { id: "${made.data.sdk.sdkKey.id}", reason: "x" }) { sdkKey { id } }
        revokeServerKey(input: { id: "${made.data.server.serverKey.id}", reason: "x" }) { serverKey { id } }
        revokePlatformKey(input: { id: "${made.data.platform.platformKey.id}", reason: "x" }) { platformKey { id } } }`,
    )
    expect(await counts()).toEqual(before)
  })
})

describe('createEnvironment', () => {
  it('creates an environment and one audit row', async () => {
    const name = fresh()
    const { data } = await create(name, { reason: 'for the "beta" 💎' })
    const { environment } = data.createEnvironment
    expect(environment).toMatchObject({ name, sdkKeys: 0, serverKeys: 0 })
    expect(await auditRows(game.app.pool, game.projectId, name)).toEqual([
      {
        action: 'environment.create',
        actor: admin.actor,
        environmentId: environment.id.replace('Environment:', ''),
        before: null,
        after: { name },
        reason: 'for the "beta" 💎',
      },
    ])
  })

  it('creates one that works at once: keys, providers, scenarios, logins, events', async () => {
    const name = fresh()
    await create(name)
    const { data } = await game.graphql(
      admin.key,
      `mutation { createSdkKey(input: { environment: "${name}", reason: "x" }) { key } }`,
    )
    const sdkKey = data.createSdkKey.key
    const { url, secret } = webhook
    expect((await game.setProviders({ default: { enabled: true, url, secret } }, name)).status).toBe(200)
    const published = await game.request(
      'PUT',
      `/platform/v1/projects/${game.projectId}/scenarios/season?environment=${name}`,
      { headers: { authorization: `Bearer ${admin.key}` }, body: JSON.stringify(season()) },
    )
    expect(published.status).toBe(200)
    const { streamCursor } = (await game.graphql(admin.key, `{ streamCursor(environment: "${name}") }`)).data
    const { status, body } = await game.login({}, { sdkKey })
    expect(status).toBe(200)
    const started = await game.request('POST', '/sdk/v1/scenarios/start', {
      headers: { authorization: `Bearer ${body.accessToken}` },
      body: '{"scenarioId":"season"}',
    })
    expect(started.status).toBe(200)
    const events = game.subscribe(
      admin.key,
      `subscription { events(environment: "${name}", after: "${streamCursor}") { __typename } }`,
    )
    expect(await events.next()).toEqual({ __typename: 'PlayerCreatedEvent' })
    await events.close()
  })

  it('creates one environment when twenty concurrent calls have one name, and refuses the others', async () => {
    const name = fresh()
    const answers = await Promise.all(times(20, () => create(name)))
    expect(answers.map(codeOf).sort()).toEqual([...times(19, () => 'ENVIRONMENT_ALREADY_EXISTS'), 'ok'])
    const { rows } = await game.app.pool.query(
      `SELECT (SELECT count(*) FROM streams s WHERE s.environment_id = e.id) AS streams FROM environments e
       WHERE project_id = $1 AND name = $2`,
      [game.projectId, name],
    )
    expect(rows).toEqual([{ streams: '1' }])
    expect(await auditRows(game.app.pool, game.projectId, name)).toHaveLength(1)
  })

  it('accepts a name that another project uses', async () => {
    expect(codeOf(await create('production'))).toBe('ENVIRONMENT_ALREADY_EXISTS')
    expect(codeOf(await create('production', { key: stranger.key }))).toBe('ok')
  })

  it('reports every fault of its input and then creates nothing, and accepts names of 1 to 32 characters', async () => {
    const counts = async () => {
      const { rows } = await game.app.pool.query(
        `SELECT (SELECT count(*)::int FROM environments) AS environments, (SELECT count(*)::int FROM streams) AS streams,
           (SELECT count(*)::int FROM audit_log) AS audit`,
      )
      return rows[0]
    }
    const before = await counts()
    for (const name of ['', 'Beta', '-beta', '_x', 'a b', 'a'.repeat(33), 'é', 'a\0b', '\ud800', 'a\n']) {
      const { errors } = await create(name, { reason: '' })
      const details = errors?.[0]?.extensions.details as { path: string }[]
      expect([name, codeOf({ data: null, errors }), details.map(({ path }) => path)]).toEqual([
        name,
        'INVALID_REQUEST',
        ['name', 'reason'],
      ])
      // Each fault alone, too.
      expect([name, codeOf(await create(name))]).toEqual([name, 'INVALID_REQUEST'])
    }
    expect(codeOf(await create(fresh(), { reason: '' }))).toBe('INVALID_REQUEST')
    expect(await counts()).toEqual(before)
    expect(codeOf(await create('a'.repeat(32)))).toBe('ok')
    expect(codeOf(await create('0'))).toBe('ok')
    const { environments, streams, audit } = before
    expect(await counts()).toEqual({ environments: environments + 2, streams: streams + 2, audit: audit + 2 })
  })

  it('creates at most a hundred environments of a project, also in concurrent calls', async () => {
    const { projectId } = await createProject(game.app.pool, {
      name: 'Full',
      environments: times(95, (at) => `e${at}`),
    })
    const { key } = await newOperator(game.app.pool, projectId, 'admin')
    const codes = (await Promise.all(times(10, (at) => create(`more-${at}`, { key })))).map(codeOf)
    expect(codes.sort()).toEqual([...times(5, () => 'TOO_MANY_ENVIRONMENTS'), ...times(5, () => 'ok')])
  })
})

describe('renameProject', () => {
  it('renames only the project of the key, and audits the previous name', async () => {
    const before = (await game.graphql(admin.key, PROJECT)).data.project.name
    const { data } = await rename('Ünïcøde 💎')
    expect(data.renameProject.project).toEqual({ projectId: game.projectId, name: 'Ünïcøde 💎' })
    expect((await auditRows(game.app.pool, game.projectId, game.projectId)).at(-1)).toMatchObject({
      action: 'project.rename',
      before: { name: before },
      after: { name: 'Ünïcøde 💎' },
      reason: 'a better name',
    })
    expect((await game.graphql(stranger.key, PROJECT)).data.project.name).toBe('Other')
  })

  it('refuses invalid names', async () => {
    const name = (await game.graphql(admin.key, PROJECT)).data.project.name
    for (const bad of ['', 'x'.repeat(129), '\0', '\ud800']) expect(codeOf(await rename(bad))).toBe('INVALID_REQUEST')
    expect((await game.graphql(admin.key, PROJECT)).data.project.name).toBe(name)
  })
})
