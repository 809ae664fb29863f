/** The return of a feed after its connection was lost. */
export interface Resumption {
  readonly awayMs: number
  /** Events that were missed meanwhile, as far as they have arrived. Null when their number could not be read. */
  readonly caughtUp: number | null
  readonly isDone: boolean
}

/**
 * Counts the events that a feed missed while it was disconnected: those up to the end of the stream at its return. It
 * compares cursors, since the clocks of two computers differ.
 */
export class CatchUp {
  readonly #awayMs: number
  readonly #last: string | undefined
  /** The number of events that had arrived at each cursor, until the end is known. */
  #arrived = new Map<string, number>()
  #count = 0
  #end: string | undefined
  #caughtUp: number | null | undefined

  /** `last` is the cursor of the last event before the connection was lost. */
  constructor(awayMs: number, last: string | undefined) {
    this.#awayMs = awayMs
    this.#last = last
  }

  get resumption(): Resumption {
    const isDone = this.#caughtUp !== undefined
    return { awayMs: this.#awayMs, caughtUp: this.#caughtUp === undefined ? this.#count : this.#caughtUp, isDone }
  }

  add(cursor: string): void {
    if (this.#caughtUp !== undefined) return
    this.#count += 1
    if (this.#end === undefined) this.#arrived.set(cursor, this.#count)
    else if (this.#end === cursor) this.#caughtUp = this.#count
  }

  /** Sets the cursor of the last event of the stream. Undefined when there is none. */
  endAt(cursor: string | undefined): void {
    this.#end = cursor
    this.#caughtUp = cursor === undefined || cursor === this.#last ? 0 : this.#arrived.get(cursor)
    this.#arrived = new Map()
  }

  /** Called when the end of the stream could not be read. A later end would count events that were not missed. */
  giveUp(): void {
    this.#caughtUp = null
    this.#arrived = new Map()
  }
}
