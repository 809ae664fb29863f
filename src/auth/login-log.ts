import type { Pool } from 'pg'
import { uuidv7 } from 'uuidv7'
import type { Command } from '../commit/command.ts'
import { type Group, LATER, type Part } from '../commit/group.ts'
import type { Statement } from '../commit/statement.ts'
import { columns } from '../commit/wanted.ts'
import { purge } from '../db/purge.ts'
import { Tally } from '../insight/tally.ts'
import { print } from '../json.ts'
import { askStanding } from '../players/standing.ts'
import { Identities, identityProvider } from './identities.ts'
import { latencyStep } from './latency.ts'
import type { Attempt } from './webhook.ts'

const KEPT_DAYS = 30

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
  static readonly stage = 'records'
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
    for (const measure of ['login', 'login_day'] as const)
      tally.add(null, { ...login, measure }, 1, BigInt(milliseconds))
    tally.add(null, { ...place, measure: 'attempts', level: attempts.length })
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
    locks: true,
    decide(group) {
      const owner = identity && group.of(Identities).askOwner(identity)
      const standing = owner && askStanding(group.player(owner))
      if (group.waits) return LATER
      const isErased = standing?.value?.status === 'deleted'
      group.of(LoginLog).add(isErased ? { ...entry, subject: null } : entry)
    },
  }
}

/** Removes entries older than 30 days, a bounded number at a time; says how many. */
export const purgeLoginLog = (pool: Pool): Promise<number> =>
  purge(pool, 'login_log', `created_at < now() - interval '${KEPT_DAYS} days'`)
