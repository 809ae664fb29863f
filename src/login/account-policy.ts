import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { writeAudit } from '../audit/audit-log.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Group } from '../transactions/group.ts'
import { keyOf } from '../transactions/player.ts'
import { type Column, int, nullable, table, text, uuid } from '../transactions/table.ts'

// What an environment decides about the accounts of its players.

/** What happens to a login that would be one too many. */
export const WHEN_FULL = ['end_oldest', 'refuse'] as const
export type WhenFull = (typeof WHEN_FULL)[number]

export interface AccountPolicy {
  /** The sessions that a player can have at once; null without a limit. */
  readonly maxSessions: number | null
  readonly whenFull: WhenFull
  /** The days between a player's call for its deletion and the deletion. */
  readonly deletionDays: number
}

/** The policy of an environment that has set none. */
export const DEFAULT_POLICY: AccountPolicy = { maxSessions: null, whenFull: 'end_oldest', deletionDays: 14 }

const policies = table('account_policies', {
  owner: null,
  key: { environmentId: uuid },
  columns: { maxSessions: nullable(int), whenFull: text as Column<WhenFull>, deletionDays: int },
  kind: 'append',
})
const policyOf = policies.one()

/** Asks for the policy of an environment. The returned function gives it, once the group no longer waits. */
export function askPolicy(group: Group, { environmentId }: { readonly environmentId: string }): () => AccountPolicy {
  const found = group.unowned.one(policyOf, keyOf(environmentId))
  return () => found.value ?? DEFAULT_POLICY
}

interface Row {
  readonly max_sessions: number | null
  readonly when_full: WhenFull
  readonly deletion_days: number
}

export async function readPolicy(pool: Pool | ClientBase, environmentId: string): Promise<AccountPolicy> {
  const { rows } = await pool.query<Row>({
    name: 'account-policy',
    text: 'SELECT max_sessions, when_full, deletion_days FROM account_policies WHERE environment_id = $1',
    values: [environmentId],
  })
  const [row] = rows
  if (!row) return DEFAULT_POLICY
  return { maxSessions: row.max_sessions, whenFull: row.when_full, deletionDays: row.deletion_days }
}

/** Sets the policy of an environment. Returns its audit entry; null when nothing changed. */
export async function setPolicy(
  pool: Pool,
  caller: PlatformCaller,
  { environmentId, environment, policy, reason }: PolicyChange,
): Promise<string | null> {
  return inTransaction(pool, async (client) => {
    // Changes run one after another, so that each audit entry has the state before it.
    await client.query('SELECT FROM environments WHERE id = $1 FOR NO KEY UPDATE', [environmentId])
    const before = await readPolicy(client, environmentId)
    const { maxSessions, whenFull, deletionDays } = policy
    if (maxSessions === before.maxSessions && whenFull === before.whenFull && deletionDays === before.deletionDays)
      return null
    await client.query(
      `INSERT INTO account_policies (environment_id, max_sessions, when_full, deletion_days) VALUES ($1, $2, $3, $4)
       ON CONFLICT (environment_id) DO UPDATE SET max_sessions = excluded.max_sessions,
         when_full = excluded.when_full, deletion_days = excluded.deletion_days`,
      [environmentId, maxSessions, whenFull, deletionDays],
    )
    const entry = { environmentId, action: ACTIONS.setAccountPolicy, target: environment, reason }
    return writeAudit(client, caller, { ...entry, before: { ...before }, after: { ...policy } })
  })
}

interface PolicyChange {
  readonly environmentId: string
  readonly environment: string
  readonly policy: AccountPolicy
  readonly reason: string
}
