import { allOf } from './all-of.ts'
import { type Background, pause, repeatInBackground } from './background.ts'

// Long work on players, such as a grant job. One instance holds a piece of it at a time, by a lease in the database, and
// notes its place after some players. When it dies, another one takes the piece over and continues from that place.

/** How often an instance looks for work. */
const LOOK_EVERY_MS = 1_000
/** An instance that does not note its place for so long has died. Longer than any statement or call takes. */
export const HELD_MS = 30_000
/** Players that are read with one statement. */
export const PAGE = 1_000
/** Players who are acted on at once: a part of the calls that a group takes, so that calls of players fit beside them. */
const AT_ONCE = 64

export interface LeasedWork<Piece> {
  /** Whether there is a piece to take. */
  readonly isDue: () => Promise<boolean>
  /** Takes a piece that nobody holds. Undefined when another instance was faster. */
  readonly take: () => Promise<Piece | undefined>
  /** Ends early when another instance has the piece, or when the signal is there. */
  readonly run: (piece: Piece) => Promise<void>
  readonly release: (piece: Piece) => Promise<unknown>
}

/** Does one piece after the other, as long as some are due. */
export async function doLeased<Piece>(signal: AbortSignal, work: LeasedWork<Piece>): Promise<void> {
  while (!signal.aborted && (await work.isDue())) {
    const piece = await work.take()
    if (piece === undefined) return
    try {
      await work.run(piece)
    } finally {
      await work.release(piece)
    }
  }
}

/** Looks for such work, and does it. When it is stopped, another instance continues. */
export const repeatLeased = (
  work: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): Background => repeatInBackground({ work, onError, everyMs: LOOK_EVERY_MS })

interface Acting<Player, Outcome> {
  readonly act: (player: Player) => Promise<Outcome>
  /** Notes the place after some players. False when the piece is no longer this instance's. */
  readonly note: (last: Player, outcomes: readonly Outcome[]) => Promise<boolean>
  readonly signal: AbortSignal
  /** The pause after some players, as a multiple of the time that they took: the game continues meanwhile. */
  readonly pauseFactor: number
}

/** Acts on players, some at once, in their order. False when it ended before the last of them. */
export async function actOnEach<Player, Outcome>(
  players: readonly Player[],
  { act, note, signal, pauseFactor }: Acting<Player, Outcome>,
): Promise<boolean> {
  for (let from = 0; from < players.length; from += AT_ONCE) {
    const began = performance.now()
    const some = players.slice(from, from + AT_ONCE)
    const outcomes = await allOf(some.map(act))
    const last = some.at(-1)
    if (last === undefined || !(await note(last, outcomes))) return false
    if (!(await pause(pauseFactor * (performance.now() - began), signal))) return false
  }
  return true
}
