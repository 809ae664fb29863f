import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { Refusal } from '../errors.ts'
import { freeze, type Json, thaw } from '../json.ts'
import { columns, type Group, PART_ORDER, type Part, type Statement, Wanted } from './group.ts'
import type { Command } from './group-commit.ts'

/** Keys live seven days: longer than any client keeps retrying. */
export const KEY_LIFETIME_DAYS = 7
const PURGE_ROWS = 5_000

interface KeyRef {
  readonly environmentId: string
  readonly playerId: string
  readonly operation: string
  readonly key: string
}

interface Stored {
  readonly request: string
  readonly response: string
}

const refKey = (ref: KeyRef): string => `${ref.environmentId}/${ref.playerId}/${ref.operation}/${ref.key}`

/** Stored answers, by player, operation and key. Written in the transaction whose answer they hold. */
export class StoredAnswers implements Part {
  static readonly order = PART_ORDER.idempotency
  private readonly wanted = new Wanted<KeyRef>()
  private readonly known = new Map<string, Stored>()
  private readonly added = new Map<string, KeyRef & Stored>()

  want(ref: KeyRef): void {
    this.wanted.want(refKey(ref), ref)
  }

  get(ref: KeyRef): Stored | undefined {
    return this.known.get(refKey(ref))
  }

  add(ref: KeyRef, stored: Stored): void {
    this.known.set(refKey(ref), stored)
    this.added.set(refKey(ref), { ...ref, ...stored })
  }

  load(): Statement[] {
    return this.wanted.read({
      name: 'idempotency-load',
      text: `SELECT k.n::int, i.request, i.response
        FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
          WITH ORDINALITY AS k(environment_id, player_id, operation, key, n)
        CROSS JOIN LATERAL (
          SELECT * FROM idempotency_keys i WHERE i.environment_id = k.environment_id AND i.player_id = k.player_id
            AND i.operation = k.operation AND i.key = k.key
            AND i.created_at > now() - interval '${KEY_LIFETIME_DAYS} days' LIMIT 1
        ) i`,
      columns: ['environmentId', 'playerId', 'operation', 'key'],
      take: (key, [, request, response]) => this.known.set(key, { request, response }),
    })
  }

  save(): Statement[] {
    if (this.added.size === 0) return []
    const rows = [...this.added.values()]
    return [
      {
        name: 'idempotency-save',
        // An expired key may still lie there: its place is taken over.
        text: `INSERT INTO idempotency_keys (environment_id, player_id, operation, key, request, response)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])
          ON CONFLICT (environment_id, player_id, operation, key)
          DO UPDATE SET request = excluded.request, response = excluded.response, created_at = now()`,
        values: columns(rows, ['environmentId', 'playerId', 'operation', 'key', 'request', 'response']),
      },
    ]
  }
}

interface Idempotent<Outcome> {
  readonly player: { readonly environmentId: string; readonly playerId: string }
  readonly operation: string
  /** Refuses callers to whom not even a stored answer is given. */
  readonly admit: (group: Group) => void
  /** 1 to 255 characters; without one the command just runs. */
  readonly key: string | null | undefined
  /** What was asked. The same key with anything else is refused. */
  readonly request: Json
  /** Only what took effect is stored: after a refusal the same key may be tried again. */
  readonly tookEffect: (outcome: Outcome) => boolean
  /** The answer to a key that came back with another request; a 422 unless the operation has its own. */
  readonly reused?: () => Outcome
}

/**
 * Makes a command answer the same to the same key: the stored answer is in the transaction that caused it, and
 * duplicates that race wait for the player's lock.
 */
export function idempotent<Outcome>(command: Command<Outcome>, rule: Idempotent<Outcome>): Command<Outcome> {
  const { key } = rule
  if (key === null || key === undefined) return command
  const ref: KeyRef = { ...rule.player, operation: rule.operation, key }
  const request = createHash('sha256').update(freeze(rule.request)).digest('base64url')
  return {
    needs(group) {
      group.of(StoredAnswers).want(ref)
      command.needs(group)
    },
    decide(group) {
      rule.admit(group)
      const answers = group.of(StoredAnswers)
      const stored = answers.get(ref)
      if (stored && stored.request !== request) {
        if (rule.reused) return rule.reused()
        throw new Refusal('idempotencyKeyReused')
      }
      if (stored) return thaw(stored.response) as Outcome
      const outcome = command.decide(group)
      if (rule.tookEffect(outcome)) answers.add(ref, { request, response: freeze(outcome as Json) })
      return outcome
    },
  }
}

/** Removes keys past their lifetime, a bounded number at a time; says how many. They count as absent even before. */
export async function purgeExpiredKeys(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM idempotency_keys WHERE created_at < now() - interval '${KEY_LIFETIME_DAYS} days' LIMIT ${PURGE_ROWS}
     ))`,
  )
  return rowCount ?? 0
}
