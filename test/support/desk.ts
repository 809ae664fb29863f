import { decodeJwt } from 'jose'
import type { Pool } from 'pg'
import { expect } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import type { PlatformCaller } from '../../src/callers/callers.ts'
import { createPlatformKey } from '../../src/callers/keys.ts'
import type { Role } from '../../src/callers/roles.ts'
import { operatorCalls } from '../../src/operator-calls.ts'
import type { Game, LoginOptions, TestPlayer } from '../harness/game.ts'
import { approve, type Respond } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'
import { inEnums, inWords, type Outcome, PLAN, REWARD } from '../harness/surfaces.ts'
import { inputTypeOf } from '../serve/graphql/documents.ts'

// Every support action of an operator, and reads of what the actions write.

const PLAYER = 'player { playerId status }'

/** The selection of each action's payload. */
const SELECTIONS = {
  banPlayer: PLAYER,
  unbanPlayer: PLAYER,
  deletePlayer: PLAYER,
  endSessions: PLAYER,
  unlinkIdentity: PLAYER,
  creditWallet: `${PLAYER} balance`,
  debitWallet: `${PLAYER} balance`,
  grantXp: `${PLAYER} result { level xp leveledUp maxLevel ${PLAN} }`,
  grantTier: `${PLAYER} result { success alreadyClaimed error granted ${REWARD} }`,
  resetTier: `${PLAYER} changed`,
  resetReward: `${PLAYER} changed`,
  grantPremium: `${PLAYER} changed`,
  revokePremium: `${PLAYER} changed`,
  resetPass: `${PLAYER} changed`,
  cancelRun: PLAYER,
  crossHandleForPlayer: `${PLAYER} result { ${PLAN} } walletEntries { currency amount cause }`,
  grantPlayerBoost: `${PLAYER} boost { boostId percent startsAt endsAt reference }`,
  endPlayerBoost: `${PLAYER} changed`,
  setPlayerStorage: PLAYER,
  deletePlayerStorage: PLAYER,
  sendMessage: `${PLAYER} messageId`,
  cancelMessage: `${PLAYER} changed`,
  addPlayerNote: `${PLAYER} note { text }`,
  deletePlayerNote: `${PLAYER} changed`,
}

export type Mutation = keyof typeof SELECTIONS

/** The name of each action in the audit log. */
export const AUDITED = Object.fromEntries(
  operatorCalls.flatMap(({ name, action }) => (name in SELECTIONS ? [[name, action]] : [])),
) as Readonly<Record<Mutation, string>>

export type Input = Record<string, unknown>

/** An operator of a project, with its name in the audit log. */
export interface Operator {
  readonly key: string
  readonly actor: string
  readonly caller: PlatformCaller
}

export async function newOperator(pool: Pool, projectId: string, role: Role = 'operator'): Promise<Operator> {
  const { id, key } = await createPlatformKey(pool, projectId, role)
  return { key, actor: `platform_key:${id}`, caller: { kind: 'platform', keyId: id, projectId, role } }
}

/**
 * One action: its payload, or its refusal, which is the `error` of the payload or an error of the request.
 * Credits may be of any currency unless the input says otherwise.
 */
export async function support(
  game: Game,
  credentials: string | null,
  mutation: Mutation,
  input: Input,
): Promise<Outcome> {
  const document = `mutation ($input: ${inputTypeOf(mutation)}!) { ${mutation}(input: $input) { error ${SELECTIONS[mutation]} } }`
  // Variables carry Int64 as strings.
  const sent = JSON.parse(
    JSON.stringify(inEnums({ ...(mutation === 'creditWallet' && { allowNew: true }), ...input }), (_key, value) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
  )
  const { data, errors } = await game.graphql(credentials, document, { input: sent })
  const [error] = errors ?? []
  if (!error) {
    const { error: no, ...answer } = data[mutation]
    return no === null ? { ok: inWords(answer) } : { code: no, message: String(inWords(no, 'error')) }
  }
  const { code, details } = error.extensions
  return { code, message: error.message, ...(details && { details }) }
}

/** The payload of an action that must succeed. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape.
export function payload(outcome: Outcome): any {
  expect(outcome).toHaveProperty('ok')
  return 'ok' in outcome ? outcome.ok : undefined
}

export const codeOf = (outcome: Outcome): string => ('code' in outcome ? outcome.code : 'ok')

export interface AuditRow {
  readonly action: string
  readonly actor: string
  readonly reason: string | null
  readonly environmentId: string | null
  // biome-ignore lint/suspicious/noExplicitAny: what actions write down has many shapes.
  readonly before: any
  // biome-ignore lint/suspicious/noExplicitAny: what actions write down has many shapes.
  readonly after: any
}

/** The entries for a target in the audit log of a project, oldest first. */
export async function auditRows(pool: Pool, projectId: string, target: string): Promise<AuditRow[]> {
  const { rows } = await pool.query(
    `SELECT action, actor, reason, environment_id AS "environmentId", before, after
     FROM audit_log WHERE project_id = $1 AND target = $2 ORDER BY id`,
    [projectId, target],
  )
  return rows.map((row) => ({ ...row, before: JSON.parse(row.before), after: JSON.parse(row.after) }))
}

/** Counts the entries of the audit log. One row can stand for several denials within a minute. */
export async function countAudit(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: string }>('SELECT coalesce(sum(attempts), 0) AS count FROM audit_log')
  return Number(rows[0]?.count)
}

/** The tables with rows of players, without the versions of the rows. */
export async function tablesOfPlayers(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'player_id' AND table_name <> 'player_versions'
       AND table_name NOT IN (SELECT relname FROM pg_class WHERE relispartition) ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

/** All rows of a player in the database, without the audit log. */
export async function everythingOf(pool: Pool, playerId: string): Promise<Record<string, unknown>> {
  await settled(pool)
  const columns = (await tablesOfPlayers(pool)).map(
    (table) => `(SELECT json_agg(t ORDER BY t::text) FROM ${table} t WHERE t.player_id = $1) AS ${table}`,
  )
  const { rows } = await pool.query(`SELECT p.*, ${columns.join(', ')} FROM players p WHERE p.id = $1`, [playerId])
  return rows[0]
}

/** A player that logged in through the webhook. */
export interface LoggedIn extends TestPlayer {
  readonly subject: string
  readonly refreshToken: string
}

/** A webhook that approves the `player` of customData, and adds the members of its `answer` to the response. */
export const obey: Respond = (hit, response) => {
  const { player, answer } = JSON.parse(hit.customData)
  return approve({ subject: player, ...answer })(hit, response)
}

/** Logs a subject in through a webhook that responds with `obey`. */
export async function logIn(
  game: Game,
  subject: string,
  answer: { [key: string]: Json } = {},
  options: LoginOptions = {},
): Promise<LoggedIn> {
  const { status, text, body } = await game.login({ player: subject, answer }, options)
  expect(status, text).toBe(200)
  const { accessToken: token, refreshToken } = body
  const { sub: playerId = '' } = decodeJwt(token)
  const authorization = `Bearer ${token}`
  const post = (path: string, sent: unknown, headers: Record<string, string> = {}) =>
    game.request('POST', path, { body: print(sent as Json), headers: { authorization, ...headers } })
  return {
    environmentId: game.environmentId,
    playerId,
    subject,
    token,
    refreshToken,
    post,
    graphql: (query, variables) => game.graphql(token, query, variables),
    start: async (scenarioId) => (await post('/sdk/v1/scenarios/start', { scenarioId })).body.runId,
  }
}

/** A generator of numbers from 0 to below 1 from a seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
