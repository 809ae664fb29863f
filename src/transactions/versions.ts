import { arrayOf } from './columns.ts'
import type { Player } from './player.ts'
import type { Row, Statement } from './statement.ts'

export interface VersionsOptions {
  /** Whether it locks the players, in the order of the arrays. */
  readonly isLocking: boolean
  /** Takes the versions of those players that have one, and the database's clock, unless there are none. */
  readonly take: (versions: ReadonlyMap<Player, string>, clockMs: number | undefined) => void
}

/** The statement that reads the versions of players. */
export function readVersions(players: readonly Player[], { isLocking, take }: VersionsOptions): Statement {
  return {
    name: isLocking ? 'players-lock' : 'players-read',
    text: `SELECT k.n::int, v.version, extract(epoch FROM clock_timestamp()) * 1000
          FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, n) CROSS JOIN LATERAL (
            SELECT version FROM player_versions v WHERE v.environment_id = k.environment_id AND v.player_id = k.player_id
            LIMIT 1 ${isLocking ? 'FOR NO KEY UPDATE' : ''}
          ) v`,
    values: [arrayOf(players, (player) => player.environmentId), arrayOf(players, (player) => player.playerId)],
    take(rows: Row[]) {
      const versions = new Map<Player, string>()
      let clockMs: number | undefined
      for (const [n, version, clock] of rows) {
        const player = players[n - 1]
        if (player) versions.set(player, version)
        clockMs = Number(clock)
      }
      take(versions, clockMs)
    },
  }
}

/** The order in which every group locks its players, so that no two groups wait for each other. */
export function inLockOrder(a: Player, b: Player): number {
  if (a.environmentId !== b.environmentId) return a.environmentId < b.environmentId ? -1 : 1
  return a.playerId < b.playerId ? -1 : 1
}
