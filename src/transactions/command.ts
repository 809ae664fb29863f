import { hash } from 'node:crypto'
import { Refusal } from '../base/errors.ts'
import { freeze, thaw } from '../base/frozen-json.ts'
import type { Json } from '../base/json.ts'
import { json, nullable, text, writeOnly } from './columns.ts'
import type { Group, Steps } from './group.ts'
import { keyOf, type One, type Player, type PlayerRef } from './player.ts'
import { table } from './table.ts'

/** The engine that runs a command: writes of the game, its reads, reads of storage, or logins. */
export type Engine = 'game' | 'reads' | 'storage' | 'logins'

/** One call's share of a group: it asks for the rows that it needs, and decides on them. */
export interface Command<Outcome> {
  /** Default: `game`. */
  readonly engine?: Engine
  /** The player whose rows it decides on. Commands of one player are decided one after another. */
  readonly player?: PlayerRef
  /**
   * It takes the path of a transaction, which reads all rows again: it writes more than rows of versioned tables, or reads
   * rows that are not remembered.
   */
  readonly fresh?: true
  /** The command must have a group of its own. */
  readonly apart?: true
  /** Rough number of bytes that it sends to the database, if large. A group takes up to a few megabytes. */
  readonly bytes?: number
  /** How it answers a repeated idempotency key. */
  readonly once?: Once<Outcome>
  /**
   * Asks for rows, refuses, and then changes: `yield* group.rows(() => …)` gives the rows, a `Refusal` that is thrown is
   * the answer, and the last part records the changes. The engine fails a command that waits or refuses after a change.
   * A `Refusal` that is returned is the answer, too, and the changes are kept: it has reported something.
   * A decision that could not be proven is made again from its beginning.
   */
  decide(group: Group): Steps<Outcome | Refusal>
}

/** How a command answers a repeated key: with the stored answer, or with a refusal when the request differs. */
export interface Once<Outcome> {
  readonly operation: string
  /** 1 to 255 characters; without one the command just runs. */
  readonly key: string | null | undefined
  /** The request. The same key with another request is refused. */
  readonly request: Json
  /** Refuses callers that must not even get a stored answer. */
  admit?(group: Group): Steps<unknown>
  /** Whether the outcome took effect. If not, it is not stored, and the same key can be tried again. */
  tookEffect?(outcome: Outcome): boolean
  /** The answer when the key was used for another request. Default: a 422. */
  reused?(): Outcome
  /** What the answer is about. An undo of it forgets the answer: see `forgetAnswers`. */
  about?(outcome: Outcome, group: Group): About
}

/** Names, such as those of a scenario, a pass of it and a tier. */
export type About = readonly string[]

/** Keys live seven days: longer than any client keeps retrying. */
const KEY_LIFETIME_DAYS = 7

/** Stored answers, by player, operation and key. Written in the transaction whose answer they hold. */
const idempotencyKeys = table('idempotency_keys', {
  key: { operation: text, key: text },
  columns: { request: text, response: text, about: writeOnly(nullable(json<About>())) },
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

type StoredAnswer = NonNullable<ReturnType<typeof storedAnswer.decode>>

const answersOf = idempotencyKeys.many(['operation'], ({ key }) => key, { columns: ['key', 'about'], isKept: false })

/** Asks for a player's stored answers of these operations. */
export const askAnswers = (player: Player, operations: readonly string[]) =>
  operations.map((operation) => player.many(answersOf, operation))

/**
 * Forgets the stored answers of what a command undoes, so that their keys do not repeat a success that no longer holds.
 * Ask for the answers first, in a transaction, as rows are removed. Answers that are about nothing stay.
 */
export function forgetAnswers(
  player: Player,
  operations: readonly string[],
  isUndone: (about: About) => boolean,
): void {
  for (const answers of askAnswers(player, operations))
    for (const { key, about } of answers.values()) if (about && isUndone(about)) answers.set(key, null)
}

/** Decides a command, or returns the stored answer of its key. Concurrent duplicates wait for the player. */
export function decideOnce<Outcome>(group: Group, command: Command<Outcome>): Steps<Outcome | Refusal> {
  const { once, player } = command
  if (!player || !once || once.key === null || once.key === undefined) return command.decide(group)
  return decideKeyed(group, { command, player, once, key: once.key })
}

interface Keyed<Outcome> {
  readonly command: Command<Outcome>
  readonly player: PlayerRef
  readonly once: Once<Outcome>
  readonly key: string
}

function* decideKeyed<Outcome>(group: Group, { command, player, once, key }: Keyed<Outcome>): Steps<Outcome | Refusal> {
  const { operation } = once
  const decision = command.decide(group)
  const place = keyOf(operation, key)
  const { slot, formers } = yield* group.rowsBefore(decision, () => ({
    slot: group.player(player).one(storedAnswer, place),
    formers: player.formers && askFormers(group, player, place),
  }))
  const request = hash('sha256', freeze(once.request), 'base64url')
  const stored = slot.value
  if (stored) {
    if (once.admit) yield* once.admit(group)
    if (stored.request === request) return thaw(stored.response) as Outcome
    if (once.reused) return once.reused()
    throw new Refusal('idempotencyKeyReused')
  }
  if (formers?.some(({ value }) => value !== null)) {
    if (once.admit) yield* once.admit(group)
    const message = 'had another player when the key was used'
    throw new Refusal('idempotencyKeyReused', { faults: [{ path: 'player', message }] })
  }
  const outcome = yield* decision
  if (outcome instanceof Refusal) return outcome
  if (once.tookEffect?.(outcome) ?? true) {
    const about = once.about?.(outcome, group) ?? null
    slot.set({ operation, key, request, response: freeze(outcome as Json), about })
    // A call that found the player by its identity before may still be on its way: its key is used, by another request.
    for (const former of formers ?? []) former.set({ operation, key, request: '', response: 'null', about: null })
  }
  return outcome
}

/** Asks for the answers that players who had the identity before have stored under a key: in a transaction, with their locks. */
function askFormers(group: Group, { environmentId, formers = [] }: PlayerRef, place: string): One<StoredAnswer>[] {
  group.askTransaction()
  if (group.path === 'memory') return []
  return formers.map((playerId) => group.player({ environmentId, playerId }).one(storedAnswer, place))
}
