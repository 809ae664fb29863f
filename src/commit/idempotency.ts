import { createHash } from 'node:crypto'
import { Refusal } from '../errors.ts'
import { freeze, type Json, thaw } from '../json.ts'
import type { Command } from './command.ts'
import { type Group, LATER } from './group.ts'
import { keyOf } from './player.ts'
import { table, text } from './table.ts'

/** Keys live seven days: longer than any client keeps retrying. */
export const KEY_LIFETIME_DAYS = 7

/** Stored answers, by player, operation and key. Written in the transaction whose answer they hold. */
export const idempotencyKeys = table('idempotency_keys', {
  key: { operation: text, key: text },
  columns: { request: text, response: text },
  kind: 'state',
  // An expired key may still be stored: it is overwritten.
  computed: { created_at: 'now()' },
  // Expired keys count as absent even before they are removed.
  expired: `created_at < now() - interval '${KEY_LIFETIME_DAYS} days'`,
})
const storedAnswer = idempotencyKeys.one({
  where: `t.created_at > now() - interval '${KEY_LIFETIME_DAYS} days'`,
  isKept: false,
  isMostlyAbsent: true,
})

/** Decides a command, or returns the stored answer of its key. Concurrent duplicates wait for the player. */
export function decideOnce<Outcome>(group: Group, command: Command<Outcome>): Outcome | typeof LATER {
  const { once, player: ref } = command
  if (!ref || once?.key === null || once?.key === undefined) return command.decide(group)
  const { operation, key } = once
  const slot = group.player(ref).one(storedAnswer, keyOf(operation, key))
  // The command asks for its rows in any case, so that all are read together.
  if (group.waits) return command.decide(group)
  const stored = slot.value
  const request = createHash('sha256').update(freeze(once.request)).digest('base64url')
  if (stored) {
    if (once.admit?.(group) === LATER) return LATER
    if (stored.request === request) return thaw(stored.response) as Outcome
    if (once.reused) return once.reused()
    throw new Refusal('idempotencyKeyReused')
  }
  const outcome = command.decide(group)
  if (outcome === LATER) return LATER
  if (once.tookEffect?.(outcome) ?? true) slot.set({ operation, key, request, response: freeze(outcome as Json) })
  return outcome
}
