// The game's time of an environment for tests, which may be ahead of or behind the real time, or run faster. Pure;
// `game/clock/game-clock.ts` has the same rule in SQL.

/** A clock that is not the real one. Times are in milliseconds since 1970. */
export interface GameClock {
  /** The game's time at the real time `setAt`. */
  readonly at: number
  readonly setAt: number
  /** How many times as fast the game's time runs: an integer from 1. */
  readonly rate: number
}

/** The game's time stops here: texts of later times would have more than four digits of the year. */
export const LAST_GAME_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** The game's time at a real time, in milliseconds. Null is the real clock. */
export const gameTimeAt = (clock: GameClock | null, real: number): number =>
  clock === null ? real : Math.min(LAST_GAME_TIME, clock.at + Math.trunc((real - clock.setAt) * clock.rate))

/** How many real milliseconds pass while the game's time goes from one moment to a later one, rounded up. */
export const realMsBetween = (clock: GameClock | null, from: number, to: number): number =>
  clock === null ? to - from : Math.ceil((to - from) / clock.rate)
