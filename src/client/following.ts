import type { Signal } from './platform.ts'
import type { Crossing, LevelUp } from './session-events.ts'

/** A crossing as listeners hear it. */
export interface Report {
  readonly crossing: Crossing
  readonly details: LevelUp | null
}

/** One or more followers of a session, who share a stream of events. */
export interface Following {
  readonly followers: Set<{ readonly onError?: (error: unknown) => unknown }>
  readonly ending: { readonly signal: Signal; abort(): void }
  /** While the stream begins, calls wait for this. */
  gate?: Promise<unknown>
  /** Crossings are reported from events. Before, they are reported from the answers of calls. */
  isLive: boolean
}

/**
 * Finds the two accounts of each crossing of the session's own calls: its event and its answer, whichever is first.
 * Crossings are reported by event while the session follows, so that they are in order with those of other devices.
 */
export class Accounts {
  /** Answered, but not reported: the event will report it. */
  readonly #owed: Report[] = []
  /** Reported from an event, while calls are under way whose answers may have it, too. */
  readonly #seen: string[] = []

  /** Whether an answer's crossing is to be reported now. */
  answered(report: Report, isLive: boolean): boolean {
    if (remove(this.#seen, (key) => key === keyOf(report))) return false
    if (isLive) this.#owed.push(report)
    return !isLive
  }

  /** Notes that an event's crossing is reported. */
  seen(report: Report, mayBeAnswered: boolean): void {
    const key = keyOf(report)
    if (!remove(this.#owed, (owed) => keyOf(owed) === key) && mayBeAnswered) this.#seen.push(key)
  }

  /** No call is under way. */
  settle(): void {
    this.#seen.length = 0
  }

  /** The events have ended: returns the crossings that are still to be reported. */
  end(): readonly Report[] {
    return this.#owed.splice(0)
  }
}

/** Level-ups of a pass differ in their xp. Other crossings of a handle are alike: each is reported. */
const keyOf = ({ crossing: { nodeId, handle }, details }: Report): string =>
  JSON.stringify([nodeId, handle, `${details?.xp}`])

function remove<Item>(items: Item[], isIt: (item: Item) => boolean): boolean {
  const index = items.findIndex(isIt)
  if (index >= 0) items.splice(index, 1)
  return index >= 0
}
