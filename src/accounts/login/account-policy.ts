import { isDeepStrictEqual } from 'node:util'
import type { ClientBase, Pool } from 'pg'
import { lockEnvironment } from '../../callers/projects.ts'
import type { Transaction } from '../../db/prisma.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import type { Change } from '../../declare/change.ts'
import { boolean, type Column, int, nullable, text, uuid } from '../../transactions/columns.ts'
import type { Group } from '../../transactions/group.ts'
import { keyOf } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'

// What an environment decides about the accounts of its players.

/** What happens to a login above the limit of sessions. */
export const WHEN_FULL = ['end_oldest', 'refuse'] as const
export type WhenFull = (typeof WHEN_FULL)[number]

/** What becomes of the identities of a player that deletes itself. */
export const IDENTITIES_AT_DELETION = ['keep', 'free'] as const
export type IdentitiesAtDeletion = (typeof IDENTITIES_AT_DELETION)[number]

/** Whether clients change nickname, region and language. `auto`: where a provider without a webhook is enabled. */
export const CLIENT_PROFILE = ['auto', 'allow', 'refuse'] as const
export type ClientProfile = (typeof CLIENT_PROFILE)[number]

export const accountPolicy = answer('What an environment decides about the accounts of its players.', {
  maxSessions: out.orNull(out.int32('The sessions that a player can have at once. Null without a limit.')),
  whenFull: out.oneOf(WHEN_FULL, { description: 'What a login above the limit of sessions does.' }),
  deletionDays: out.int32("The days between a player's call for its deletion and the deletion."),
  linkTickets: out.flag('Whether the refusal of a link that meets another player has a ticket to that player.'),
  identitiesAtDeletion: out.oneOf(IDENTITIES_AT_DELETION, {
    description: 'What becomes of the identities of a player that deletes itself.',
  }),
  clientProfile: out.oneOf(CLIENT_PROFILE, {
    description: 'Whether clients change the nickname, the region and the language of their player.',
  }),
})
export type AccountPolicy = AnswerOf<typeof accountPolicy>

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

/** Sets the policy of an environment. */
export async function setPolicy(
  { db, client }: Transaction,
  environmentId: string,
  {
    environment,
    maxSessions,
    whenFull,
    deletionDays,
    linkTickets,
    identitiesAtDeletion,
    clientProfile,
  }: AccountPolicy & { readonly environment: string },
): Promise<Change<{ readonly policy: AccountPolicy }>> {
  // Changes run one after another, so that each audit entry has the state before it.
  await lockEnvironment(client, environmentId)
  const before = await readPolicy(client, environmentId)
  const after = { maxSessions, whenFull, deletionDays, linkTickets, identitiesAtDeletion, clientProfile }
  if (isDeepStrictEqual(after, before)) return { outcome: { policy: after } }
  await db.accountPolicy.upsert({ where: { environmentId }, create: { environmentId, ...after }, update: after })
  return { outcome: { policy: after }, target: environment, before: { ...before }, after }
}
