import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey, createSdkKey } from '../../src/auth/keys.ts'
import { createProject } from '../../src/projects/projects.ts'
import { type Game, startGame } from '../support/game.ts'
import { startOperator } from '../support/operator.ts'

let game: Game
let elsewhere: { readonly sdkKeyId: string; readonly platformKeyId: string; readonly platformKey: string }

beforeAll(async () => {
  game = await startGame()
  const { projectId, environments } = await createProject(game.app.pool, {
    name: 'Other',
    environments: ['production'],
  })
  const sdk = await createSdkKey(game.app.pool, environments.get('production') ?? '')
  const platform = await createPlatformKey(game.app.pool, projectId, 'admin')
  elsewhere = { sdkKeyId: sdk.id, platformKeyId: platform.id, platformKey: platform.key }
})
afterAll(() => game?.stop())

const CREATE_SDK = 'mutation ($input: CreateSdkKeyInput!) { createSdkKey(input: $input) { id key prefix } }'
const CREATE_PLATFORM =
  'mutation ($input: CreatePlatformKeyInput!) { createPlatformKey(input: $input) { id key prefix } }'
const REVOKE_SDK = 'mutation ($input: RevokeSdkKeyInput!) { revokeSdkKey(input: $input) { id } }'
const REVOKE_PLATFORM = 'mutation ($input: RevokePlatformKeyInput!) { revokePlatformKey(input: $input) { id } }'

const admin = (query: string, input?: object) => game.graphql(game.platformKey, query, input && { input })

async function auditRows(action: string) {
  const { rows } = await game.app.pool.query(
    'SELECT actor, target, before, after, reason FROM audit_log WHERE project_id = $1 AND action = $2 ORDER BY id',
    [game.projectId, action],
  )
  return rows
}

describe('an SDK key made by an admin (decisions 1)', () => {
  it('is shown once, logs players in, and ends with its revocation', async () => {
    const operator = await startOperator()
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } }, 'staging')
    const { data } = await admin(CREATE_SDK, { environment: 'staging', reason: 'for the beta' })
    const { id, key, prefix } = data.createSdkKey
    expect(key.startsWith(prefix)).toBe(true)
    expect((await game.login({ player: 'ada' }, { sdkKey: key })).status).toBe(200)

    const listed = await admin('{ sdkKeys(first: 200) { edges { node { id prefix environment revokedAt } } } }')
    const nodes = listed.data.sdkKeys.edges.map(({ node }: { node: { id: string } }) => node)
    expect(nodes).toContainEqual({ id, prefix, environment: 'staging', revokedAt: null })
    expect(JSON.stringify(listed)).not.toContain(key)
    expect(JSON.stringify(listed)).not.toContain(elsewhere.sdkKeyId)

    expect(await admin(REVOKE_SDK, { id, reason: 'the beta is over' })).toEqual({ data: { revokeSdkKey: { id } } })
    const refused = await game.login({ player: 'ada' }, { sdkKey: key })
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid sdk key'])
    expect(await auditRows('sdk_key.create')).toMatchObject([{ target: id, reason: 'for the beta', before: null }])
    expect(await auditRows('sdk_key.revoke')).toMatchObject([{ target: id, reason: 'the beta is over', after: null }])
    await operator.close()
  })

  it('is for an environment of the project', async () => {
    const { errors } = await admin(CREATE_SDK, { environment: 'nowhere', reason: 'x' })
    expect(errors?.[0]?.extensions.code).toBe('ENVIRONMENT_NOT_FOUND')
  })
})

describe('a platform key made by an admin (decisions 1)', () => {
  it('has its role and no more, and ends with its revocation', async () => {
    const { data } = await admin(CREATE_PLATFORM, { role: 'viewer', reason: 'a dashboard' })
    const { id, key } = data.createPlatformKey
    const list = '{ platformKeys(first: 200) { edges { node { id role revokedAt } } } }'
    expect((await admin(list)).data.platformKeys.edges).toContainEqual({
      node: { id, role: 'viewer', revokedAt: null },
    })
    expect((await game.graphql(key, '{ streamCursor(environment: "production") }')).errors).toBeUndefined()
    expect((await game.graphql(key, list)).errors?.[0]?.extensions.code).toBe('FORBIDDEN')

    await admin(REVOKE_PLATFORM, { id, reason: 'no more' })
    const { errors } = await game.graphql(key, '{ streamCursor(environment: "production") }')
    expect(errors?.[0]?.extensions.code).toBe('INVALID_TOKEN')
  })
})

describe("somebody else's keys", () => {
  it('of another project are not there to be revoked, as little as keys that never were', async () => {
    for (const [query, id] of [
      [REVOKE_SDK, elsewhere.sdkKeyId],
      [REVOKE_PLATFORM, elsewhere.platformKeyId],
      [REVOKE_SDK, elsewhere.platformKeyId],
      [REVOKE_PLATFORM, '00000000-0000-4000-8000-000000000000'],
    ] as const) {
      expect((await admin(query, { id, reason: 'x' })).errors?.[0]?.extensions.code).toBe('NOT_FOUND')
    }
    expect((await game.graphql(elsewhere.platformKey, '{ platformKeys { edges { node { id } } } }')).data).toEqual({
      platformKeys: { edges: [{ node: { id: elsewhere.platformKeyId } }] },
    })
  })

  it('are not for operators, viewers or players; who tries is in the audit log', async () => {
    const player = await game.player()
    const before = (await auditRows('platform_key.create.denied')).length
    for (const credentials of [await game.key('operator'), await game.key('viewer'), player.token]) {
      const { errors } = await game.graphql(credentials, CREATE_PLATFORM, { input: { role: 'admin', reason: 'x' } })
      expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    }
    const denied = (await auditRows('platform_key.create.denied')).slice(before)
    expect(denied).toHaveLength(3)
    expect(denied.at(-1)?.actor).toBe(`player:${player.playerId}`)
  })

  it('are revoked with a reason and an id, or not at all', async () => {
    const { errors } = await admin(REVOKE_SDK, { id: 'mine', reason: '' })
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [{ path: 'id' }, { path: 'reason' }],
    })
  })
})
