import { readFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSdkKey, createServerKey } from '../../../src/callers/keys.ts'
import { createProject } from '../../../src/callers/projects.ts'
import { ROLES, type Role } from '../../../src/callers/roles.ts'
import { nameNow } from '../../../src/declare/graphql/field-marks.ts'
import { operatorCalls } from '../../../src/operator-calls.ts'
import { call as send } from '../../harness/call.ts'
import { season } from '../../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../../harness/game.ts'
import { everythingOf, newOperator, type Operator } from '../../support/desk.ts'
import { documentOf, KINDS, type Kind, type RootField, rootFields, type Values } from './documents.ts'

// docs/access.md lists the callers of each field. Each field is called as each caller, and must do what the page says.

const CALLERS = ['nobody', 'SDK key', 'player', ...ROLES, 'elsewhere'] as const
type Caller = (typeof CALLERS)[number]

const page = await readFile(new URL('../../../docs/access.md', import.meta.url), 'utf8')
const [header = [], ...groups] = page
  .slice(0, page.indexOf('A [server key]'))
  .split('\n')
  .filter((line) => line.startsWith('|') && !line.startsWith('| ---') && !line.startsWith('|---'))
  .map((line) => line.split('|').slice(1, -1))
const rows = groups.flatMap(([names = '', ...cells]) =>
  [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ name, cells: cells.map((cell) => cell.trim()) })),
)
const table = new Map(rows.map(({ name, cells }) => [name, cells]))
// A field under its former name is that of the new one.
const fields = KINDS.flatMap((kind) => rootFields(kind).map((field) => ({ kind, field, name: nameNow(field) })))

const said = (name: string, caller: Caller): string | undefined => table.get(name)?.[CALLERS.indexOf(caller)]

let game: Game
let player: TestPlayer
let headers: Readonly<Record<Caller, Record<string, string>>>
let actors: Readonly<Partial<Record<Caller, string>>>
let stranger: Operator
/** Values for all arguments: those of the project, and those of nothing that exists. */
let ours: Values
let nobodys: Values
let keys: { sdk: string; server: string; platform: string }

const NOBODY = '01900000-0000-7000-8000-000000000000'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const keysOf = (operators: Readonly<Record<Role, Operator>>) => ({
  analyst: bearer(operators.analyst.key),
  designer: bearer(operators.designer.key),
  viewer: bearer(operators.viewer.key),
  support: bearer(operators.support.key),
  operator: bearer(operators.operator.key),
  admin: bearer(operators.admin.key),
})

beforeAll(async () => {
  game = await startGame()
  const { pool } = game.app
  const other = await createProject(pool, { name: 'Other', environments: ['elsewhere'] })
  await game.publish('season', season())
  player = await game.player({ wallet: { gems: 1000n } })
  const runId = await player.start('season')
  const operators = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, await newOperator(pool, game.projectId, role)] as const)),
  ) as Record<Role, Operator>
  stranger = await newOperator(pool, other.projectId, 'admin')
  keys = {
    sdk: (await createSdkKey(pool, game.environmentId)).id,
    server: (await createServerKey(pool, game.environmentId)).id,
    platform: operators.viewer.caller.keyId,
  }
  headers = {
    nobody: {},
    'SDK key': { 'x-sdk-key': game.sdkKey },
    player: { ...bearer(player.token), 'x-sdk-key': game.sdkKey },
    ...keysOf(operators),
    elsewhere: bearer(stranger.key),
  }
  actors = {
    player: `player:${player.playerId}`,
    ...Object.fromEntries(ROLES.map((role) => [role, operators[role].actor])),
  }
  // Views of the audit log are for those who read it.
  const rest = { definition: '{}', page: 'PLAYERS' }
  const place = { environment: 'production', toEnvironment: 'production', scenarioId: 'season', nodeId: 'pass' }
  const ids = `Player:${player.playerId}`
  ours = { ...place, toScenarioId: 'season', playerId: player.playerId, ids, runId, ...rest }
  const nowhere = { environment: 'nowhere', toEnvironment: 'nowhere', scenarioId: 'nothing', nodeId: 'none' }
  const none = { playerId: NOBODY, ids: `Player:${NOBODY}`, runId: NOBODY }
  nobodys = { ...nowhere, toScenarioId: 'nothing', ...none, ...rest }
})
afterAll(() => game.stop())

/** A refusal of a field within an answer that is allowed. */
const WITHIN = /"path":\["\w+","\w+","[^\]]*\],"extensions":\{"code":"FORBIDDEN"/g

interface Called {
  readonly kind: Kind
  readonly field: RootField
}

/** The code of a refusal, and the whole answer without the id of the request. */
async function call({ kind, field }: Called, caller: Caller, values: Values): Promise<{ code?: string; text: string }> {
  // An allowed subscription would never end. An invalid cursor ends it.
  const more = kind === 'Subscription' ? { after: 'x' } : {}
  const answer = await send(`${game.baseUrl}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: kind === 'Subscription' ? 'text/event-stream' : 'application/json',
      ...headers[caller],
    },
    body: JSON.stringify(documentOf(kind, field, { ...values, ...more })),
  })
  const text = answer.text.replace(/"requestId":"[^"]*"/g, '')
  return { code: /"code":"(\w+)"/.exec(text.replace(WITHIN, ''))?.[1], text }
}

/** The value of the argument `id` of a field. */
function idsOf(name: string): string {
  if (name === 'node') return `Player:${player.playerId}`
  if (name === 'revokeSdkKey') return keys.sdk
  if (name === 'revokeServerKey') return keys.server
  return name === 'revokePlatformKey' ? keys.platform : player.playerId
}

async function attempts(pool: Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ actor: string; count: string }>(
    `SELECT actor, sum(attempts) AS count FROM audit_log WHERE action LIKE '%.denied' GROUP BY actor`,
  )
  return new Map(rows.map(({ actor, count }) => [actor, Number(count)]))
}

/** Everything of the project that a call could change. */
async function everything(): Promise<unknown> {
  const { pool } = game.app
  const tables = [
    'projects',
    'environments',
    'sdk_keys',
    'server_keys',
    'platform_keys',
    'scenario_versions',
    'auth_providers',
  ]
  const mine = `(SELECT id::text FROM environments WHERE project_id = '${game.projectId}')`
  const columns = tables.map(
    (name) => `(SELECT json_agg(t ORDER BY t::text) FROM ${name} t WHERE '${game.projectId}' IN
      (to_json(t) ->> 'id', to_json(t) ->> 'project_id') OR to_json(t) ->> 'environment_id' IN ${mine}) AS ${name}`,
  )
  const { rows } = await pool.query(`SELECT ${columns.join(', ')}`)
  return [rows, await everythingOf(pool, player.playerId)]
}

describe('access to the fields of GraphQL', () => {
  it('is listed in docs/access.md for every field of the schema once, and for no other', () => {
    expect(header.slice(1).map((cell) => cell.trim())).toEqual(CALLERS)
    expect([...new Set(fields.map(({ name }) => name))].sort()).toEqual(rows.map(({ name }) => name).sort())
    for (const { cells } of rows) expect(cells).toHaveLength(CALLERS.length)
  })

  it('is that of a declared call, for every mutation of operators', () => {
    const declared = new Set(operatorCalls.map(({ name }) => name))
    const ofOperators = rootFields('Mutation').filter(({ name }) =>
      ['yes', 'own'].includes(said(name, 'elsewhere') ?? ''),
    )
    expect(ofOperators.length).toBe(declared.size)
    expect(ofOperators.filter(({ name }) => !declared.has(name))).toEqual([])
  })

  it.each(CALLERS)('is what docs/access.md says, for: %s', async (caller) => {
    const wrong: string[] = []
    for (const called of fields) {
      // Without a reason, allowed mutations change nothing.
      const { code, text } = await call(called, caller, { ...ours, id: idsOf(called.name), reason: '' })
      // refreshTokens answers INVALID_TOKEN for its refresh token, also to allowed callers.
      const refused = ['FORBIDDEN', 'INVALID_SDK_KEY', ...(called.name === 'refreshTokens' ? [] : ['INVALID_TOKEN'])]
      const isAllowed = code === undefined || !refused.includes(code)
      const expected = said(called.name, caller)
      const isAsSaid = isAllowed ? expected === 'yes' || expected === 'own' : code === expected
      if (!isAsSaid) wrong.push(`${called.kind}.${called.field.name}: ${text} and not ${expected}`)
      expect(code).not.toBe('INTERNAL_ERROR')
    }
    expect(wrong).toEqual([])
  })

  it('changes nothing where it is forbidden to a player or a platform key, and is in the audit log', async () => {
    const { pool } = game.app
    // A refused query is audited only where the field is for admins.
    const audited = fields.filter(
      ({ kind, name }) => kind === 'Mutation' || said(name, 'operator') !== said(name, 'admin'),
    )
    expect(audited.length).toBeGreaterThan(30)
    const state = await everything()
    for (const caller of ['player', ...ROLES] as const) {
      for (const called of audited) {
        if (said(called.name, caller) !== 'FORBIDDEN') continue
        const before = await attempts(pool)
        await call(called, caller, { ...ours, id: idsOf(called.name), reason: 'because' })
        const after = await attempts(pool)
        const actor = actors[caller] ?? ''
        const gained = (after.get(actor) ?? 0) - (before.get(actor) ?? 0)
        expect([called.name, caller, gained]).toEqual([called.name, caller, 1])
      }
    }
    expect(await everything()).toEqual(state)
  })

  it('reveals nothing to another project: the answers are those for objects that do not exist', async () => {
    const state = await everything()
    const { rows: before } = await game.app.pool.query('SELECT id FROM audit_log WHERE project_id = $1 ORDER BY id', [
      game.projectId,
    ])
    let made = 0
    for (const called of fields) {
      const asked = async (values: Values, id: string) => {
        made += 1
        const { text } = await call(called, 'elsewhere', { ...values, id, reason: 'because', name: `made-${made}` })
        return text
      }
      const [mine, none] = [
        await asked(ours, idsOf(called.name)),
        await asked(nobodys, called.name === 'node' ? `Player:${NOBODY}` : NOBODY),
      ]
      expect([called.name, mine]).toEqual([called.name, none])
    }
    expect(await everything()).toEqual(state)
    const { rows: after } = await game.app.pool.query('SELECT id FROM audit_log WHERE project_id = $1 ORDER BY id', [
      game.projectId,
    ])
    expect(after).toEqual(before)
  })

  it('is refused to a platform key on endpoints of players as `invalid token`, and is in the audit log as over GraphQL', async () => {
    const { pool } = game.app
    const { key, actor } = await newOperator(pool, game.projectId, 'admin')
    const paths = [
      'battlepass/xp',
      'battlepass/claim',
      'battlepass/premium',
      'storage/set',
      'storage/delete',
      'player/update',
      'identities/unlink',
      'scenarios/start',
      'scenarios/cross',
      'authorization/custom/link',
    ]
    const both = { ...bearer(key), 'x-sdk-key': game.sdkKey }
    for (const path of paths) {
      const { status, body } = await game.request('POST', `/sdk/v1/${path}`, { body: '{}', headers: both })
      expect([path, status, body.code]).toEqual([path, 401, 'invalid_token'])
    }
    const unknown = bearer(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)
    expect((await game.request('POST', '/sdk/v1/battlepass/xp', { body: '{}', headers: unknown })).status).toBe(401)
    const link = fields.find(({ name }) => name === 'linkCustom')
    const linked = await fetch(`${game.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...both },
      body: JSON.stringify(link && documentOf('Mutation', link.field, {})),
    })
    expect(await linked.text()).toContain('"code":"FORBIDDEN"')
    const { rows } = await pool.query(
      `SELECT action, target, sum(attempts)::int AS attempts FROM audit_log WHERE project_id = $1 AND actor = $2
       GROUP BY 1, 2 ORDER BY 1`,
      [game.projectId, actor],
    )
    expect(rows).toEqual([
      ...['add_xp', 'claim_tier', 'purchase_premium'].map((call) => denied(`battle_pass.${call}`)),
      denied('identity.link', 2),
      denied('identity.unlink'),
      denied('player.update'),
      ...['run.cross_handle', 'run.start', 'storage.delete', 'storage.set'].map((action) => denied(action)),
    ])
  })

  it('is in the audit log of the project of the caller where REST forbids it', async () => {
    const { pool } = game.app
    const operator = await newOperator(pool, game.projectId, 'operator')
    for (const { key, actor, caller } of [operator, stranger]) {
      for (const path of ['scenarios/over-rest?environment=production', 'auth-providers']) {
        const url = `/platform/v1/projects/${game.projectId}/${path}`
        const { status, body } = await game.request('PUT', url, { body: '{}', headers: bearer(key) })
        expect([status, body.code]).toEqual([403, 'forbidden'])
      }
      const { rows } = await pool.query(
        `SELECT action, target FROM audit_log WHERE project_id = $1 AND actor = $2 AND action LIKE '%.denied'
           AND target IN ('over-rest', 'providers') ORDER BY id`,
        [caller.projectId, actor],
      )
      expect(rows).toEqual([
        { action: 'scenario.publish.denied', target: 'over-rest' },
        { action: 'auth_providers.set.denied', target: 'providers' },
      ])
    }
  })
})

const denied = (action: string, attempts = 1) => ({ action: `${action}.denied`, target: 'players', attempts })
