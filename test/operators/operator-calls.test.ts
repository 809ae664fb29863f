import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import type { OperatorCall } from '../../src/declare/operator-call.ts'
import { printTitles, withTables } from '../../src/dev/operator-call-docs.ts'
import { operatorCalls } from '../../src/operator-calls.ts'
import { type Game, startGame } from '../harness/game.ts'
import { documentOf, rootFields, type Values } from '../serve/graphql/documents.ts'
import { newOperator, type Operator } from '../support/desk.ts'
import { beyond } from './beyond.ts'

// What each declared call of an operator does, by its declaration alone. The tests of a feature hold what it changes.

let game: Game
let admin: Operator
let analyst: Operator
let player: { readonly token: string; readonly actor: string }

beforeAll(async () => {
  game = await startGame()
  admin = await newOperator(game.app.pool, game.projectId, 'admin')
  analyst = await newOperator(game.app.pool, game.projectId, 'analyst')
  const { token, playerId } = await game.player()
  player = { token, actor: `player:${playerId}` }
})
afterAll(() => game.stop())

const fieldOf = (name: string) => {
  const field = rootFields('Mutation').find((one) => one.name === name)
  if (!field) throw new Error(`there is no mutation ${name}`)
  return field
}

/** The call with every value that can be beyond its limits, and the fields that are. */
function faulty({ name, request }: OperatorCall) {
  const entries = Object.entries(request.fields).map(([field, declared]) => [field, beyond(declared)] as const)
  const wrong: Values = Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  const { query, variables } = documentOf('Mutation', fieldOf(name), {})
  const input: Values = { ...(variables.input as Values), ...wrong }
  return { query, input, fields: Object.keys(wrong) }
}

/** The attempts and changes in the audit log. The same attempt within a minute is counted in one entry. */
async function readLog() {
  const { rows } = await game.app.pool.query<{ action: string; actor: string; target: string; attempts: number }>(
    'SELECT action, actor, target, attempts FROM audit_log WHERE project_id = $1 ORDER BY id',
    [game.projectId],
  )
  return rows.flatMap(({ attempts, ...entry }) => Array.from({ length: attempts }, () => print(entry)))
}

describe('an operator call', () => {
  it('has its row, its action and its title where they are printed: npm run schema', async () => {
    const page = await readFile('docs/access.md', 'utf8')
    expect(withTables(page)).toBe(page)
    expect(printTitles()).toBe(await readFile('console/src/project/action-titles.ts', 'utf8'))
  })

  it('has an action with one title, which calls of the same action share', () => {
    const actions = new Set(operatorCalls.map(({ action }) => action))
    const titled = operatorCalls.flatMap(({ action, title }) => (title === undefined ? [] : [action]))
    expect(titled.sort()).toEqual([...actions].sort())
  })

  it.each(operatorCalls.map((call) => [call.name, call] as const))(
    'names every fault of its request at once, and has no entry in the audit log: %s',
    async (_name, call) => {
      const { query, input, fields } = faulty(call)
      const before = await readLog()
      const { errors = [] } = await game.graphql(admin.key, query, { input })
      const faults = errors.map(({ extensions: { code, details = [] } }) => ({
        code,
        paths: (details as { path: string }[]).map(({ path }) => path),
      }))
      // Checks between fields may add more.
      expect(faults).toEqual([{ code: 'INVALID_REQUEST', paths: expect.arrayContaining(fields) }])
      expect(await readLog()).toEqual(before)
    },
  )

  it.each(operatorCalls.map((call) => [call.name, call] as const))(
    'is refused before its faults are told, and the attempt has an entry: %s',
    async (_name, call) => {
      const { query, input } = faulty(call)
      const target = typeof call.target === 'string' ? String(input[call.target]) : call.target.word
      const before = await readLog()
      // Everybody of a project reads, but no player.
      const { token, actor } = call.right === 'read' ? player : { token: analyst.key, actor: analyst.actor }
      const { errors } = await game.graphql(token, query, { input })
      expect(errors?.map(({ extensions }) => [extensions.code, extensions.details])).toEqual([['FORBIDDEN', undefined]])
      // A target of an entry is as long as an id at most. The values of an enum have their own names in GraphQL.
      const entry = { action: `${call.action}.denied`, actor, target: target.slice(0, 36).toLowerCase() }
      expect((await readLog()).sort()).toEqual([...before, print(entry)].sort())
    },
  )
})
