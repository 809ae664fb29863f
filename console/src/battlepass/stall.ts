export interface ReachedLevel {
  readonly level: number
  readonly reached: number
}

export interface Stall {
  /** The players have reached this level and not the next. */
  readonly level: number
  readonly players: number
  /** The share of the players who reached the level, 0 to 1. */
  readonly share: number
}

/** Fewer players who stop, or a smaller share, say little about a level. */
const MIN_PLAYERS = 10
const MIN_SHARE = 0.05

/**
 * The level where the largest share of players has not gone on. Levels that few players have reached do not count, nor
 * does the last level. Undefined when few players stop at any level.
 */
export function findStall(levels: readonly ReachedLevel[]): Stall | undefined {
  const first = levels[0]?.reached ?? 0
  const enough = Math.max(MIN_PLAYERS, first * 0.05)
  const stalls = levels.slice(0, -1).flatMap(({ level, reached }, index): Stall[] => {
    const players = reached - (levels[index + 1]?.reached ?? 0)
    const share = players / reached
    return reached >= enough && players >= MIN_PLAYERS && share >= MIN_SHARE ? [{ level, players, share }] : []
  })
  return stalls.reduce<Stall | undefined>(
    (most, one) => (most === undefined || one.share > most.share ? one : most),
    undefined,
  )
}
