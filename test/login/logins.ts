import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import { type Json, members, print } from '../../src/base/json.ts'
import { auditBooks } from '../harness/audit.ts'
import {
  type Answer,
  type Game,
  generateKeys,
  type Instance,
  type Keys,
  startGame,
  startInstance,
  times,
} from '../harness/game.ts'
import { approve, type Hit, type Operator, type Respond, startOperator, status } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'

// A game with two instances and a webhook that the tests control. Each file starts it once, by
// `beforeAll(startLogins)` and `afterAll(stopLogins)`.

export const LOGIN = '/sdk/v1/authorization/custom'
export const INVALID_DATA = [401, 'custom auth invalid data', 'custom_auth_invalid_data']

export let game: Game
export let operator: Operator
/** The keys that all instances on this database share. */
export let shared: Keys
/** A second instance on the same database. */
export let other: Instance

export async function startLogins(): Promise<void> {
  shared = await generateKeys()
  game = await startGame(shared)
  operator = await startOperator(obey)
  await provideAll()
  other = await startInstance(game.databaseUrl, shared)
}

export async function stopLogins(): Promise<void> {
  await auditBooks(game.app.pool)
  await other.stop()
  await operator.close()
  await game.stop()
}

export const provider = () => ({ enabled: true, url: operator.url, secret: operator.secret, claims: true })

export async function provideAll(): Promise<void> {
  const { status: set } = await game.setProviders({
    default: provider(),
    steam: provider(),
    custom: provider(),
    off: { ...provider(), enabled: false },
    gone: { ...provider(), url: 'http://127.0.0.1:9/login' },
  })
  expect(set).toBe(200)
  expect((await game.setProviders({ default: provider() }, 'staging')).status).toBe(200)
}

/** Functions that run before the webhook's answer is sent, by the `gate` in customData. */
const gates = new Map<string, (hit: Hit) => Promise<unknown> | unknown>()

export function during(act: (hit: Hit) => Promise<unknown> | unknown): string {
  const gate = randomUUID()
  gates.set(gate, act)
  return gate
}

/** The webhook of these tests does what customData says: it answers the text of `answer`, or a `status`. */
const obey: Respond = async (hit, response) => {
  const asked = members(hit.customData)
  await gates.get(JSON.parse(asked.get('gate') ?? '""'))?.(hit)
  const code = asked.get('status')
  await (code ? status(Number(code)) : approve(asked.get('answer') ?? '{}'))(hit, response)
}

type Custom = { [key: string]: Json | undefined }

/** customData that makes the webhook answer this subject. */
export const by = (subject: string, answer: Custom = {}, gate?: string): Custom => ({
  answer: { subject, ...answer },
  gate,
})

let count = 0
export function newSubject(): string {
  count += 1
  return `subject ${count}`
}

export const loginAt = ({ baseUrl }: { baseUrl: string }, customData: Json) =>
  postTo(baseUrl, LOGIN, { 'x-sdk-key': game.sdkKey }, print({ customData }))

export async function postTo(
  baseUrl: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<Pick<Answer, 'status' | 'body' | 'text'>> {
  const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body })
  const text = await response.text()
  return { status: response.status, text, body: text === '' ? undefined : JSON.parse(text) }
}

/** The player id in the access token of an approved login. */
export function playerOf({ status: answered, body, text }: Pick<Answer, 'status' | 'body' | 'text'>): string {
  expect([answered, text]).toEqual([200, expect.stringContaining('accessToken')])
  return decodeJwt(body.accessToken).sub ?? expect.fail('no player')
}

export const refusalOf = ({ status: answered, body }: Pick<Answer, 'status' | 'body'>) => [
  answered,
  body?.error,
  body?.code,
]

export const query = async (sql: string, values: unknown[] = []) => (await game.app.pool.query(sql, values)).rows

/** Row counts of the tables that a login writes to. */
export async function countRows(): Promise<Record<string, string>> {
  const tables = ['players', 'identities', 'player_storage', 'events', 'refresh_tokens', 'login_log']
  await settled(game.app.pool)
  const [counts] = await query(
    `SELECT ${tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`).join(', ')}`,
  )
  return counts
}

/** The same without login_log, which also records refusals. */
export async function countGame(): Promise<Record<string, string>> {
  const { login_log: _, ...counts } = await countRows()
  return counts
}

export const ownersOf = async (subject: string): Promise<string[]> =>
  (await query('SELECT player_id FROM identities WHERE subject = $1', [subject])).map(({ player_id }) => player_id)

export async function storageOf(playerId: string): Promise<Record<string, string>> {
  const rows = await query('SELECT key, value FROM player_storage WHERE player_id = $1', [playerId])
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

export async function profileOf(playerId: string): Promise<Record<string, string | null>> {
  const [row] = await query('SELECT nickname, avatar_url, region, language FROM players WHERE id = $1', [playerId])
  return row
}

export const created = async (playerId: string) => {
  await settled(game.app.pool)
  return query(`SELECT data FROM events WHERE player_id = $1 AND type = 'player.created'`, [playerId])
}

export const keys = (from: number, to: number, value: Json = 1): Record<string, Json> =>
  Object.fromEntries(times(to - from, (index) => [`key ${from + index}`, value]))

/** Expects that `act` writes no row and calls no webhook. */
export async function expectUntouched(act: () => Promise<void>): Promise<void> {
  const before = await countRows()
  const hits = operator.hits.length
  await act()
  expect(await countRows()).toEqual(before)
  expect(operator.hits.length).toBe(hits)
}
