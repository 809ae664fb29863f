import type { Pool } from 'pg'
import { print } from '../../../base/json.ts'
import { databaseNow, firstIdAt, newId } from '../../../db/ids.ts'
import { purge } from '../../../db/purge.ts'
import { Tally } from '../../../events/tally.ts'
import { askStatus } from '../../../players/player-status.ts'
import { type Column, int, nullable, text, uuid } from '../../../transactions/columns.ts'
import type { Command } from '../../../transactions/command.ts'
import type { Extension, Group } from '../../../transactions/group.ts'
import type { Statement } from '../../../transactions/statement.ts'
import { table } from '../../../transactions/table.ts'
import { withoutValues } from '../../webhook/excerpt.ts'
import type { WebhookAttempt } from '../../webhook/webhook.ts'
import type { LoginNote } from '../../webhook/webhook-answer.ts'
import { askOwner, identityProvider } from '../identities.ts'
import { latencyStep } from './latency.ts'

/** How long entries are listed. They are removed within a week from then. */
export const LOGIN_LOG_DAYS = 30

/** Entries stay a little longer than they are listed, until their partition is dropped. */
export const isListed = () => ({ id: { gte: firstIdAt(databaseNow() - LOGIN_LOG_DAYS * 86_400_000) } })

export const loginLog = table('login_log', {
  owner: null,
  key: { environmentId: uuid, id: uuid },
  columns: {
    operation: text as Column<LoginAttempt['operation']>,
    provider: text,
    subject: nullable(text),
    playerId: nullable(uuid),
    outcome: text,
    milliseconds: int,
    attempts: text,
    notes: text,
  },
  kind: 'append',
})
const first = `${loginLog.name}_first`

/**
 * Removes old entries of the first partition, which has those of many weeks, a bounded number at a time. Returns how many.
 * Later partitions are dropped as a whole.
 */
export async function purgeFirstLogins(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [first])
  if (!rows[0]?.exists) return 0
  return purge(pool, first, `created_at < now() - interval '${LOGIN_LOG_DAYS} days'`)
}

export const LOGIN_OPERATIONS = ['login', 'link'] as const

/** The result of a login or link: `ok`, or the code that the client receives. Results after an approval come last. */
export const LOGIN_OUTCOMES = [
  'ok',
  'custom_auth_disabled',
  'custom_auth_rejected',
  'custom_auth_invalid_response',
  'custom_auth_unavailable',
  'custom_auth_invalid_data',
  'sign_in_disabled',
  'id_token_rejected',
  'ticket_rejected',
  'sign_in_unavailable',
  'player_banned',
  'player_deleted',
  'identity_already_linked',
  'too_many_sessions',
  'invalid_sdk_key',
  'invalid_token',
] as const
export type LoginOutcome = (typeof LOGIN_OUTCOMES)[number]

/** A login or link that called a webhook, and its outcome. It holds no secret, and no text that `excerptOf` removes. */
export interface LoginAttempt {
  readonly environmentId: string
  readonly operation: (typeof LOGIN_OPERATIONS)[number]
  /** The provider's name, such as `default`, `google` or `oidc:studio`. */
  readonly provider: string
  /** Null unless the webhook named one. */
  readonly subject: string | null
  readonly playerId: string | null
  /** `ok`, or the code that the client received. */
  readonly outcome: string
  readonly milliseconds: number
  readonly attempts: readonly WebhookAttempt[]
  readonly notes: readonly LoginNote[]
}

/** The entries of a group, written with its changes. Logins are also counted; the counts are kept longer. */
export class LoginLog implements Extension {
  static readonly stage = 'records'
  private readonly group: Group
  private readonly entries: LoginAttempt[] = []

  constructor(group: Group) {
    this.group = group
  }

  /** The entry of a deleted player has no subject: nothing personal is logged. */
  add(entry: LoginAttempt): void {
    this.entries.push(entry.outcome === 'player_deleted' ? { ...entry, subject: null } : entry)
    if (entry.operation === 'login') this.count(entry)
  }

  /** The provider was called, so it is in the settings: clients cannot invent names to count. */
  private count({ environmentId, provider, outcome, milliseconds, attempts }: LoginAttempt): void {
    const scope = { environmentId, scenarioId: '', nodeId: provider }
    const login = { ...scope, level: latencyStep(milliseconds), detail: outcome }
    const tally = this.group.of(Tally)
    for (const measure of ['login', 'login_day'] as const)
      tally.add(null, { ...login, measure }, 1, BigInt(milliseconds))
    tally.add(null, { ...scope, measure: 'attempts', level: attempts.length })
  }

  save(): Statement[] {
    const rows = this.entries.map((entry) => ({
      ...entry,
      id: newId(),
      attempts: print(
        entry.attempts.map(({ status, milliseconds, error, cause, excerpt, replacedSecrets }) => ({
          status,
          milliseconds,
          error,
          cause,
          replacedSecrets,
          excerpt: status === 200 && excerpt !== null ? withoutValues(excerpt) : excerpt,
        })),
      ),
      notes: print(entry.notes),
    }))
    return loginLog.save(rows)
  }
}

/** Attempts, the last one with a cause. */
export function explain(
  attempts: readonly WebhookAttempt[],
  why: Partial<Pick<WebhookAttempt, 'cause' | 'excerpt'>>,
): WebhookAttempt[] {
  return attempts.map((attempt, index) => (index === attempts.length - 1 ? { ...attempt, ...why } : attempt))
}

/** Writes a single entry: the webhook did not approve, so nothing else is written. */
export function logAttempt(entry: LoginAttempt): Command<void> {
  const { environmentId, provider, subject } = entry
  const identity = subject === null ? null : { environmentId, provider: identityProvider(provider), subject }
  return {
    engine: 'logins',
    fresh: true,
    *decide(group) {
      const standing = yield* group.rows(() => {
        const owner = identity && askOwner(group, identity)
        return owner && askStatus(group.player(owner))
      })
      const isErased = standing?.value?.status === 'deleted'
      group.of(LoginLog).add(isErased ? { ...entry, subject: null } : entry)
    },
  }
}
