import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { kebabOf } from '../../src/operations/calls/rest.ts'
import { operatorCalls } from '../../src/operator-calls.ts'
import type { Answer, Game } from '../harness/game.ts'

// Calls of operators over REST.

export const pathOf = (game: Game, name: string): string => `/platform/v1/projects/${game.projectId}/${kebabOf(name)}`

export const post = (
  game: Game,
  key: string | null,
  name: string,
  body: unknown,
  { headers = {}, query = '' }: { headers?: Record<string, string>; query?: string } = {},
): Promise<Answer> =>
  game.request('POST', `${pathOf(game, name)}${query}`, {
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers },
    body: typeof body === 'string' ? body : print(body as Json),
  })

/**
 * A call that succeeds, and its answer. One with an idempotency key is sent four times at once, and has one entry in the
 * audit log. A call whose answer has no entry has none. Each declared call is made so once, in the test of its feature
 * or in `rest.test.ts`.
 */
// biome-ignore lint/suspicious/noExplicitAny: answers have every shape.
export async function overRest(game: Game, key: string, name: string, body: Record<string, unknown>): Promise<any> {
  const before = await entries(game)
  const times = 'idempotencyKey' in body ? 4 : 1
  const answers = await Promise.all(Array.from({ length: times }, () => post(game, key, name, body)))
  // The harness compares each answer with its schema in openapi.json.
  for (const answer of answers) expect([name, answer.status, answer.text]).toEqual([name, 200, expect.any(String)])
  const bodies = answers.map((answer) => answer.body)
  const first = bodies.find(({ auditEntry }) => auditEntry) ?? bodies[0]
  const call = operatorCalls.find((one) => one.name === name)
  // One with a key always has an entry, where its payload has one. `results` has one for each player.
  const hasEntry = first.error === undefined || first.error === null
  const isSure = times > 1 && 'auditEntry' in first
  const isWritten = isSure ? hasEntry : first.auditEntry
  if (first.results === undefined)
    expect([name, (await entries(game)).slice(before.length)]).toEqual([name, isWritten ? [call?.action] : []])
  return first
}

/** The actions in the audit log, oldest first. */
async function entries(game: Game): Promise<string[]> {
  const { rows } = await game.app.pool.query<{ action: string }>(
    'SELECT action FROM audit_log WHERE project_id = $1 ORDER BY id',
    [game.projectId],
  )
  return rows.map(({ action }) => action)
}

/** The names of calls that tests make by `overRest`. */
export function madeOverRest(): ReadonlySet<string> {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
  const made = files.flatMap((file) => [...readFileSync(`test/${file}`, 'utf8').matchAll(/\boverRest\([^')]*'(\w+)'/g)])
  return new Set(made.flatMap(([, name]) => name ?? []))
}
