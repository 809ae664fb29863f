import type { Pool, QueryResultRow } from 'pg'
import { type Json, print, RawJson } from '../base/json.ts'
import type { Named } from '../declare/answer.ts'
import type { PlayerRef } from './player-status.ts'

// All that is stored of a player, in lines for the player itself.

type ColumnKind = 'plain' | 'int64' | 'json'

/** A kind of line: the columns of a table, each with its name in the line. */
interface Section {
  readonly kind: string
  readonly table: string
  /** The columns that identify a row of the player, with their types: pages begin after their values. */
  readonly keys: Readonly<Record<string, string>>
  readonly columns: Readonly<Record<string, ColumnKind>>
  /** Default: the column `player_id`. */
  readonly player?: string
  /** Only these rows, in SQL. Default: all of the player. */
  readonly where?: string
  /** Rows of a page. Default: 1,000. */
  readonly page?: number
}

const PAGE = 1_000
const inPass = { scenario_id: 'text', node_id: 'text' }
const passColumns = { scenario_id: 'plain', node_id: 'plain' } as const

/** In the order of the export. A test compares them with the tables of players. */
export const SECTIONS: readonly Section[] = [
  {
    kind: 'profile',
    table: 'players',
    player: 'id',
    keys: { id: 'uuid' },
    columns: {
      id: 'plain',
      status: 'plain',
      ban_kind: 'plain',
      ban_until: 'plain',
      ban_reason: 'plain',
      nickname: 'plain',
      avatar_url: 'plain',
      region: 'plain',
      language: 'plain',
      created_at: 'plain',
    },
  },
  {
    kind: 'identity',
    table: 'identities',
    keys: { provider: 'text', subject: 'text' },
    columns: { provider: 'plain', subject: 'plain', created_at: 'plain' },
  },
  {
    kind: 'session',
    table: 'refresh_tokens',
    keys: { hash: 'text' },
    columns: { family_id: 'plain', device_name: 'plain', claims: 'json', created_at: 'plain', revoked_at: 'plain' },
  },
  { kind: 'lastLogin', table: 'last_logins', keys: { player_id: 'uuid' }, columns: { logged_in_at: 'plain' } },
  {
    kind: 'login',
    table: 'login_log',
    keys: { id: 'uuid' },
    columns: { operation: 'plain', provider: 'plain', subject: 'plain', outcome: 'plain', created_at: 'plain' },
  },
  { kind: 'deletion', table: 'planned_deletions', keys: { player_id: 'uuid' }, columns: { delete_at: 'plain' } },
  {
    kind: 'storage',
    table: 'player_storage',
    keys: { key: 'text' },
    columns: { key: 'plain', value: 'json', updated_at: 'plain' },
    // A value has up to 64 KiB.
    page: 16,
  },
  {
    kind: 'run',
    table: 'runs',
    keys: { id: 'uuid' },
    columns: {
      id: 'plain',
      scenario_id: 'plain',
      status: 'plain',
      active: 'json',
      started_at: 'plain',
      completed_at: 'plain',
    },
  },
  {
    kind: 'pass',
    table: 'passes',
    keys: inPass,
    columns: {
      ...passColumns,
      xp: 'int64',
      level: 'plain',
      premium_owned: 'plain',
      completed: 'plain',
      completed_nodes: 'json',
    },
  },
  {
    kind: 'claim',
    table: 'tier_claims',
    keys: { ...inPass, level: 'int', track: 'text' },
    columns: { ...passColumns, level: 'plain', track: 'plain', granted: 'json', run_id: 'plain', claimed_at: 'plain' },
  },
  {
    kind: 'payment',
    table: 'reward_payments',
    keys: { ...inPass, scope: 'text' },
    columns: { ...passColumns, run_id: 'plain', paid_at: 'plain' },
  },
  {
    kind: 'seasonStep',
    table: 'season_steps',
    keys: { ...inPass, step: 'text' },
    columns: { ...passColumns, step: 'plain', taken_at: 'plain' },
  },
  {
    kind: 'xp',
    table: 'xp_ledger',
    keys: { id: 'uuid' },
    columns: { ...passColumns, run_id: 'plain', amount: 'int64', bonus: 'int64', source: 'plain', created_at: 'plain' },
  },
  {
    kind: 'balance',
    table: 'wallets',
    keys: { currency: 'text' },
    columns: { currency: 'plain', balance: 'int64' },
  },
  {
    kind: 'walletEntry',
    table: 'wallet_ledger',
    keys: { id: 'uuid' },
    columns: {
      currency: 'plain',
      amount: 'int64',
      balance: 'int64',
      reason: 'plain',
      reference: 'plain',
      created_at: 'plain',
    },
  },
  {
    kind: 'item',
    table: 'inventory',
    keys: { item_id: 'text' },
    columns: { item_id: 'plain', amount: 'int64' },
  },
  {
    kind: 'message',
    table: 'inbox_messages',
    keys: { id: 'uuid' },
    columns: {
      id: 'plain',
      text: 'json',
      image: 'plain',
      rewards: 'json',
      scenario_id: 'plain',
      node_id: 'plain',
      sent_at: 'plain',
      expires_at: 'plain',
      read_at: 'plain',
      claimed_at: 'plain',
    },
    // A text has up to 8 KiB.
    page: 100,
  },
  {
    kind: 'boost',
    table: 'player_boosts',
    keys: { id: 'uuid' },
    columns: { percent: 'plain', starts_at: 'plain', ends_at: 'plain', reference: 'plain' },
  },
  {
    kind: 'grant',
    table: 'grant_job_players',
    keys: { job_id: 'uuid' },
    columns: { job_id: 'plain', amount: 'int64', outcome: 'plain', cause: 'plain', given: 'json', acted_at: 'plain' },
  },
  {
    kind: 'request',
    table: 'idempotency_keys',
    keys: { operation: 'text', key: 'text' },
    // Not even that there are notes.
    where: "operation NOT IN ('support.add_note', 'support.remove_note')",
    columns: { operation: 'plain', key: 'plain', created_at: 'plain' },
  },
  {
    kind: 'event',
    table: 'events',
    keys: { position: 'bigint' },
    columns: {
      type: 'plain',
      handle: 'plain',
      scenario_id: 'plain',
      node_id: 'plain',
      run_id: 'plain',
      data: 'json',
      occurred_at: 'plain',
    },
  },
]

const camelCase = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())

export const exportedLine: Named = {
  name: 'PlayerDataLine',
  schema: {
    type: 'object',
    description: 'One line of an export. Its kind names the members that follow.',
    properties: {
      kind: { type: 'string', enum: SECTIONS.map(({ kind }) => kind), description: 'What the line is about.' },
    },
    required: ['kind'],
    additionalProperties: true,
  },
  example: { kind: 'balance', currency: 'gold', balance: 100 },
}

/**
 * All that is stored of a player, as pages of lines; each line is a JSON object. No connection of the database is held
 * while a page is sent, so what changes meanwhile may be there or not. `admit` runs before each page, and its refusal ends
 * the export. Notes of operators are not the player's data.
 */
export async function* exportPlayer(
  pool: Pool,
  { environmentId, playerId }: PlayerRef,
  admit: () => Promise<unknown>,
): AsyncGenerator<string> {
  for (const section of SECTIONS) {
    const { name, text, size } = statements.get(section) as Statement
    for (let after: unknown[] | null = null; ; ) {
      await admit()
      const values: unknown[] = [
        environmentId,
        playerId,
        after !== null,
        ...(after ?? Object.keys(section.keys).map(() => null)),
      ]
      const { rows } = await pool.query({ name, text, values })
      if (rows.length > 0) yield rows.map((row) => `${print(lineOf(section, row))}\n`).join('')
      const last = rows.at(-1)
      if (!last || rows.length < size) break
      after = Object.keys(section.keys).map((_, index) => last[`key_${index}`])
    }
  }
}

interface Statement {
  readonly name: string
  readonly text: string
  readonly size: number
}

const statements = new Map<Section, Statement>(
  SECTIONS.map((section) => {
    const { kind, table, keys, columns, player = 'player_id', where = 'true', page: size = PAGE } = section
    const names = Object.keys(keys)
    const after = Object.values(keys).map((type, index) => `$${index + 4}::${type}`)
    return [
      section,
      {
        name: `export-own-${kind}`,
        size,
        text: `SELECT ${Object.keys(columns).join(', ')}, ${names.map((name, index) => `${name} AS key_${index}`).join(', ')}
          FROM ${table} WHERE environment_id = $1 AND ${player} = $2 AND ${where}
            AND (NOT $3 OR (${names.join(', ')}) > (${after.join(', ')}))
          ORDER BY ${names.join(', ')} LIMIT ${size}`,
      },
    ]
  }),
)

function lineOf({ kind, columns }: Section, row: QueryResultRow): Json {
  const members = Object.entries(columns).map(([name, column]) => [camelCase(name), memberValue(column, row[name])])
  return { kind, ...Object.fromEntries(members) }
}

function memberValue(column: ColumnKind, value: unknown): Json {
  if (value === null) return null
  if (column === 'int64') return BigInt(value as string)
  if (column === 'json') return new RawJson(value as string)
  return value instanceof Date ? value.toISOString() : (value as Json)
}
