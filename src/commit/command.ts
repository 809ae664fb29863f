import type { Json } from '../json.ts'
import type { Group, LATER } from './group.ts'
import type { PlayerRef } from './player.ts'

/** The engine that runs a command: writes of the game, its reads, reads of storage, or logins. */
export type Lane = 'game' | 'reads' | 'storage' | 'logins'

/** One call's share of a group: it asks for the rows that it needs, and decides on them. */
export interface Command<Outcome> {
  /** Default: `game`. */
  readonly lane?: Lane
  /** The player whose rows it decides on. Commands of one player are decided one after another. */
  readonly player?: PlayerRef
  /** The player must be locked, since the command writes more than rows of declared tables. */
  readonly locks?: true
  /** The command must have a group of its own. */
  readonly apart?: true
  /** Rough number of bytes that it sends to the database, if large. A group takes up to a few megabytes. */
  readonly bytes?: number
  /** How it answers a repeated idempotency key. */
  readonly once?: Once<Outcome>
  /**
   * Asks the group for rows, decides on them and records the changes. Answers `LATER` when the group waits for rows,
   * and is called again when they are in memory. It must throw a `Refusal` or answer `LATER` before it changes
   * anything.
   */
  decide(group: Group): Outcome | typeof LATER
}

/** How a command answers a repeated key: with the stored answer, or with a refusal when the request differs. */
export interface Once<Outcome> {
  readonly operation: string
  /** 1 to 255 characters; without one the command just runs. */
  readonly key: string | null | undefined
  /** The request. The same key with another request is refused. */
  readonly request: Json
  /** Refuses callers that must not even get a stored answer. Answers `LATER` while it waits for rows. */
  admit?(group: Group): typeof LATER | undefined
  /** Whether the outcome took effect. Only then is it stored: after a refusal the same key may be tried again. */
  tookEffect?(outcome: Outcome): boolean
  /** The answer when the key was used for another request. Default: a 422. */
  reused?(): Outcome
}
