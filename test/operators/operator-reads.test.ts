import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProject } from '../../src/callers/projects.ts'
import { hasRight, ROLES, type Role } from '../../src/callers/roles.ts'
import type { OperatorRead } from '../../src/declare/operator-read.ts'
import { operatorReads } from '../../src/operator-calls.ts'
import { type Game, startGame } from '../harness/game.ts'
import { documentOf, rootFields, type Values } from '../serve/graphql/documents.ts'
import { newOperator, type Operator } from '../support/desk.ts'
import { beyond } from './beyond.ts'

// What each declared query of operators does, by its declaration alone. The tests of a feature hold what it reads.

let game: Game
let roles: Readonly<Record<Role, Operator>>
let stranger: Operator
let player: { readonly token: string; readonly playerId: string }

beforeAll(async () => {
  game = await startGame()
  const { pool } = game.app
  const operators = ROLES.map(async (role) => [role, await newOperator(pool, game.projectId, role)] as const)
  roles = Object.fromEntries(await Promise.all(operators)) as Record<Role, Operator>
  stranger = await newOperator(
    pool,
    (await createProject(pool, { name: 'Other', environments: [] })).projectId,
    'admin',
  )
  player = await game.player()
})
afterAll(() => game.stop())

const NOBODY = '01900000-0000-7000-8000-000000000000'
/** A value of each required field that a sample of its type would not do for. */
const VALID: Values = {
  ...{ environment: 'production', page: 'PLAYERS', jobId: NOBODY, draftId: NOBODY },
  ...{ from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
}
const VALID_FOR: Readonly<Record<string, Values>> = {
  scenarioDiff: { from: 1, to: 1 },
  previewGrantJob: { to: { playerIds: [NOBODY] }, message: [{ language: 'en', title: 'x' }] },
}

/** The query with these values, in its input where it has one. */
function documentWith({ name, hasInput }: OperatorRead, values: Values) {
  const field = rootFields('Query').find((one) => one.name === name)
  if (!field) throw new Error(`there is no query ${name}`)
  const { query, variables } = documentOf('Query', field, values, 0)
  const sent = hasInput ? { input: { ...(variables.input as Values), ...values } } : { ...variables, ...values }
  return { query, variables: sent }
}

/** The query with every value that can be beyond its limits, and the fields that are. */
function faulty(read: OperatorRead) {
  const entries = Object.entries(read.request.fields).map(([name, field]) => [name, beyond(field)] as const)
  const wrong: Values = Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  return { ...documentWith(read, wrong), fields: Object.keys(wrong) }
}

async function refusalsOf(token: string | null, { query, variables }: { query: string; variables: Values }) {
  const { errors = [] } = await game.graphql(token, query, variables)
  return errors.map(({ extensions: { code, details = [] } }) => ({
    code,
    paths: (details as { path: string }[]).map(({ path }) => path),
  }))
}

/** The entries of the audit log. The same attempt within a minute is counted in one entry. */
async function readLog() {
  const { rows } = await game.app.pool.query<{ action: string; actor: string; target: string; attempts: number }>(
    'SELECT action, actor, target, attempts FROM audit_log ORDER BY id',
  )
  return rows
}

const named = (reads: readonly OperatorRead[]) => reads.map((read) => [read.name, read] as const)

describe('a query of operators', () => {
  it.each(named(operatorReads.filter((read) => faulty(read).fields.length > 0)))(
    'names every fault of its request at once: %s',
    async (_name, read) => {
      const { fields, ...document } = faulty(read)
      const before = await readLog()
      // Checks between fields may add more.
      const expected = [{ code: 'INVALID_REQUEST', paths: expect.arrayContaining(fields) }]
      expect(await refusalsOf(roles.admin.key, document)).toEqual(expected)
      expect(await readLog()).toEqual(before)
    },
  )

  it.each(named(operatorReads))(
    'is refused before its faults are told, and the attempt has an entry where only admins read: %s',
    async (_name, read) => {
      const document = faulty(read)
      const refused = ROLES.filter((role) => !hasRight(role, read.right)).map((role) => roles[role])
      const tokens = [player.token, ...refused.map(({ key }) => key)]
      const before = await readLog()
      expect(await refusalsOf(null, document)).toEqual([{ code: 'INVALID_TOKEN', paths: [] }])
      for (const token of tokens) expect(await refusalsOf(token, document)).toEqual([{ code: 'FORBIDDEN', paths: [] }])
      const { denied } = read
      const actors = [`player:${player.playerId}`, ...refused.map(({ actor }) => actor)]
      const entries = actors.map((actor) => ({
        action: `${denied?.action}.denied`,
        actor,
        target: denied?.target,
        attempts: 1,
      }))
      const added = (await readLog()).slice(before.length)
      expect(added).toEqual(denied ? expect.arrayContaining(entries) : [])
      expect(added).toHaveLength(denied ? entries.length : 0)
      expect(denied !== undefined).toBe(read.right === 'manage')
    },
  )

  it.each(named(operatorReads.filter(({ request: { fields } }) => fields.environment?.isRequired)))(
    "does not know another project's environment: %s",
    async (_name, read) => {
      const valid = Object.entries({ ...VALID, ...VALID_FOR[read.name] })
      const document = documentWith(read, Object.fromEntries(valid.filter(([name]) => name in read.request.fields)))
      const before = await readLog()
      expect(await refusalsOf(stranger.key, document)).toEqual([{ code: 'ENVIRONMENT_NOT_FOUND', paths: [] }])
      expect(await readLog()).toEqual(before)
    },
  )
})
