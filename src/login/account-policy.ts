import { isDeepStrictEqual } from 'node:util'
import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { writeAudit } from '../audit/audit-log.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Group } from '../transactions/group.ts'
import { keyOf } from '../transactions/player.ts'
import { boolean, type Column, int, nullable, table, text, uuid } from '../transactions/table.ts'

// What an environment decides about the accounts of its players.

/** What happens to a login that would be one too many. */
export const WHEN_FULL = ['end_oldest', 'refuse'] as const
export type WhenFull = (typeof WHEN_FULL)[number]

/** What becomes of the identities of a player that deletes itself. */
export const IDENTITIES_AT_DELETION = ['keep', 'free'] as const
export type IdentitiesAtDeletion = (typeof IDENTITIES_AT_DELETION)[number]

/** Whether clients change nickname, region and language. `auto`: where a provider without a webhook is enabled. */
export const CLIENT_PROFILE = ['auto', 'allow', 'refuse'] as const
export type ClientProfile = (typeof CLIENT_PROFILE)[number]

export interface AccountPolicy {
  /** The sessions that a player can have at once; null without a limit. */
  readonly maxSessions: number | null
  readonly whenFull: WhenFull
  /** The days between a player's call for its deletion and the deletion. */
  readonly deletionDays: number
  /** Whether the refusal of a link that meets another player has a ticket to that player. */
  readonly linkTickets: boolean
  readonly identitiesAtDeletion: IdentitiesAtDeletion
  readonly clientProfile: ClientProfile
}

/** The policy of an environment that has set none. */
export const DEFAULT_POLICY: AccountPolicy = {
  maxSessions: null,
  whenFull: 'end_oldest',
  deletionDays: 14,
  linkTickets: false,
  identitiesAtDeletion: 'keep',
  clientProfile: 'auto',
}

const policies = table('account_policies', {
  owner: null,
  key: { environmentId: uuid },
  columns: {
    maxSessions: nullable(int),
    whenFull: text as Column<WhenFull>,
    deletionDays: int,
    linkTickets: boolean,
    identitiesAtDeletion: text as Column<IdentitiesAtDeletion>,
    clientProfile: text as Column<ClientProfile>,
  },
  kind: 'append',
})
const policyOf = policies.one()

/** Asks for the policy of an environment. The returned function gives it, once the group no longer waits. */
export function askPolicy(group: Group, { environmentId }: { readonly environmentId: string }): () => AccountPolicy {
  const found = group.unowned.one(policyOf, keyOf(environmentId))
  return () => found.value ?? DEFAULT_POLICY
}

export async function readPolicy(pool: Pool | ClientBase, environmentId: string): Promise<AccountPolicy> {
  const { rows } = await pool.query<AccountPolicy>({
    name: 'account-policy',
    text: `SELECT max_sessions AS "maxSessions", when_full AS "whenFull", deletion_days AS "deletionDays",
        link_tickets AS "linkTickets", identities_at_deletion AS "identitiesAtDeletion",
        client_profile AS "clientProfile"
      FROM account_policies WHERE environment_id = $1`,
    values: [environmentId],
  })
  return rows[0] ?? DEFAULT_POLICY
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
    if (isDeepStrictEqual(policy, before)) return null
    const { maxSessions, whenFull, deletionDays, linkTickets, identitiesAtDeletion, clientProfile } = policy
    await client.query(
      `INSERT INTO account_policies (environment_id, max_sessions, when_full, deletion_days, link_tickets,
         identities_at_deletion, client_profile) VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (environment_id) DO UPDATE SET max_sessions = excluded.max_sessions,
         when_full = excluded.when_full, deletion_days = excluded.deletion_days, link_tickets = excluded.link_tickets,
         identities_at_deletion = excluded.identities_at_deletion, client_profile = excluded.client_profile`,
      [environmentId, maxSessions, whenFull, deletionDays, linkTickets, identitiesAtDeletion, clientProfile],
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
