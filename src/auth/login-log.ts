import type { Pool } from 'pg'
import { uuidv7 } from 'uuidv7'
import { columns, type Group, PART_ORDER, type Part, type Statement } from '../commit/group.ts'
import type { Command } from '../commit/group-commit.ts'
import { Tally } from '../insight/tally.ts'
import { print } from '../json.ts'
import { Standing } from '../players/standing.ts'
import { Identities, identityProvider } from './identities.ts'
import { latencyStep } from './latency.ts'
import type { Attempt } from './webhook.ts'

const KEPT_DAYS = 30
const PURGE_ROWS = 5_000

/** A login or link that asked a webhook, and what became of it. Nothing of customData or of a secret. */
export interface LoginAttempt {
  readonly environmentId: string
  readonly operation: 'login' | 'link'
  /** The provider's name, such as `default`. */
  readonly provider: string
  /** Null while the webhook has not named one. */
  readonly subject: string | null
  readonly playerId: string | null
  /** `ok`, or the code that the client received. */
  readonly outcome: string
  readonly milliseconds: number
  readonly attempts: readonly Attempt[]
}

/** The entries of a group, written with what they tell of. Logins are counted, too: the counts outlive the entries. */
export class LoginLog implements Part {
  static readonly order = PART_ORDER.loginLog
  private readonly group: Group
  private readonly entries: LoginAttempt[] = []

  constructor(group: Group) {
    this.group = group
  }

  /** Of a deleted player nothing personal is written any more, nor what its studio calls it. */
  add(entry: LoginAttempt): void {
    this.entries.push(entry.outcome === 'player_deleted' ? { ...entry, subject: null } : entry)
    if (entry.operation === 'login') this.count(entry)
  }

  /** The provider was asked, so it is one of the settings: clients cannot name what is counted. */
  private count({ environmentId, provider, outcome, milliseconds, attempts }: LoginAttempt): void {
    const place = { environmentId, scenarioId: '', nodeId: provider }
    const login = { ...place, level: latencyStep(milliseconds), detail: outcome }
    const tally = this.group.of(Tally)
    for (const measure of ['login', 'login_day'] as const) tally.add({ ...login, measure }, 1, BigInt(milliseconds))
    tally.add({ ...place, measure: 'attempts', level: attempts.length })
  }

  load(): Statement[] {
    return []
  }

  save(): Statement[] {
    if (this.entries.length === 0) return []
    const rows = this.entries.map((entry) => ({
      ...entry,
      id: uuidv7(),
      attempts: print(entry.attempts.map(({ status, milliseconds, error }) => ({ status, milliseconds, error }))),
    }))
    return [
      {
        name: 'login-log-save',
        text: `INSERT INTO login_log
            (environment_id, id, operation, provider, subject, player_id, outcome, milliseconds, attempts)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[],
            $8::int[], $9::text[])`,
        values: columns(rows, [
          'environmentId',
          'id',
          'operation',
          'provider',
          'subject',
          'playerId',
          'outcome',
          'milliseconds',
          'attempts',
        ]),
      },
    ]
  }
}

/** Writes an entry that stands alone: the webhook did not approve, so nothing else is written. */
export function logAttempt(entry: LoginAttempt): Command<void> {
  const { environmentId, provider, subject } = entry
  const identity = subject === null ? null : { environmentId, provider: identityProvider(provider), subject }
  return {
    lane: 'logins',
    needs(group) {
      if (!identity || !group.of(Identities).want(identity)) return
      const owner = group.of(Identities).ownerOf(identity)
      if (owner) group.of(Standing).want(owner)
    },
    decide(group) {
      const owner = identity && group.of(Identities).ownerOf(identity)
      const isErased = owner && group.of(Standing).statusOf(owner) === 'deleted'
      group.of(LoginLog).add(isErased ? { ...entry, subject: null } : entry)
    },
  }
}

/** Removes entries older than 30 days, a bounded number at a time; says how many. */
export async function purgeLoginLog(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM login_log WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM login_log WHERE created_at < now() - interval '${KEPT_DAYS} days' LIMIT ${PURGE_ROWS}
     ))`,
  )
  return rowCount ?? 0
}
