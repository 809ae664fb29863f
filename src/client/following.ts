import type { Signal } from './platform.ts'
import type { Crossing, LevelUp } from './session-events.ts'

/** A crossing as listeners hear it. */
export interface Told {
  readonly crossing: Crossing
  readonly details: LevelUp | null
}

/** One or more followers of a session, who share a stream of events. */
export interface Following {
  readonly followers: Set<{ readonly onError?: (error: unknown) => unknown }>
  readonly ending: { readonly signal: Signal; abort(): void }
  /** While the stream begins, calls wait for this. */
  gate?: Promise<unknown>
  /** Crossings are told from events. Before, they are told from the answers of calls. */
  isLive: boolean
}

/**
 * Finds the two accounts of each crossing of the session's own calls: its event and its answer, whichever is first.
 * Crossings are told by event while the session follows, so that they are in order with those of other devices.
 */
export class Accounts {
  /** Answered, but not told: the event will tell it. */
  readonly #owed: Told[] = []
  /** Told from an event, while calls are under way whose answers may have it, too. */
  readonly #seen: string[] = []

  /** Whether an answer's crossing is to be told now. */
  answered(told: Told, isLive: boolean): boolean {
    if (remove(this.#seen, (key) => key === keyOf(told))) return false
    if (isLive) this.#owed.push(told)
    return !isLive
  }

  /** Notes that an event's crossing is told. */
  seen(told: Told, mayBeAnswered: boolean): void {
    const key = keyOf(told)
    if (!remove(this.#owed, (owed) => keyOf(owed) === key) && mayBeAnswered) this.#seen.push(key)
  }

  /** No call is under way. */
  settle(): void {
    this.#seen.length = 0
  }

  /** The events have ended: returns the crossings that are still to be told. */
  end(): readonly Told[] {
    return this.#owed.splice(0)
  }
}

/** Level-ups of a pass differ in their xp. Other crossings of a handle are alike: as many are told as there were. */
const keyOf = ({ crossing: { nodeId, handle }, details }: Told): string =>
  JSON.stringify([nodeId, handle, `${details?.xp}`])

function remove<Item>(items: Item[], isIt: (item: Item) => boolean): boolean {
  const index = items.findIndex(isIt)
  if (index >= 0) items.splice(index, 1)
  return index >= 0
}
