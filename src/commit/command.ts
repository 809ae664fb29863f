import type { Json } from '../json.ts'
import type { Group, LATER } from './group.ts'
import type { PlayerRef } from './player.ts'

/** Which engine runs a command: the writes of the game, its reads, reads of storage, or logins. */
export type Lane = 'game' | 'reads' | 'storage' | 'logins'

/** One call's share of a group: it names the rows that it needs, and decides on them. */
export interface Command<Outcome> {
  /** `game` unless given. */
  readonly lane?: Lane
  /** Whose rows it decides on. Commands of one player are decided one after the other. */
  readonly player?: PlayerRef
  /** It needs its player locked, since it writes more than rows of tables that are declared. */
  readonly locks?: true
  /** It goes in a group of its own. */
  readonly apart?: true
  /** Bytes that it carries to the database, roughly, where they may be many. A group takes up to a few megabytes. */
  readonly bytes?: number
  /** How it answers a key that comes again. */
  readonly once?: Once<Outcome>
  /**
   * Asks the group for its rows, then decides on them and records the changes. Answers `LATER` when the group waits for
   * rows: it is asked again with them in memory. Throws a `Refusal`, or answers `LATER`, before it changes anything.
   */
  decide(group: Group): Outcome | typeof LATER
}

/** How a command answers a key that comes again: the stored answer, or a refusal when something else is asked. */
export interface Once<Outcome> {
  readonly operation: string
  /** 1 to 255 characters; without one the command just runs. */
  readonly key: string | null | undefined
  /** The request. The same key with another request is refused. */
  readonly request: Json
  /** Refuses callers to whom not even a stored answer is given. Answers `LATER` while it waits for rows. */
  admit?(group: Group): typeof LATER | undefined
  /** Only what took effect is stored: after a refusal the same key may be tried again. */
  tookEffect?(outcome: Outcome): boolean
  /** The answer to a key that came back with another request; a 422 unless the operation has its own. */
  reused?(): Outcome
}
