import { type Group, PART_ORDER, type Part, type Row, type Statement } from '../commit/group.ts'
import type { Command } from '../commit/group-commit.ts'
import { Refusal } from '../errors.ts'

/** Who a player is, on every table and in every token. */
export interface PlayerRef {
  readonly environmentId: string
  readonly playerId: string
}

export type Status = 'active' | 'banned' | 'deleted'

export const playerKey = ({ environmentId, playerId }: PlayerRef): string => `${environmentId}/${playerId}`

/**
 * The players of a group, locked in the order of their keys. Whoever changes anything of a player holds its row
 * first, so nothing else of a player needs a lock, and a ban or deletion counts from the moment that it is committed.
 */
export class Standing implements Part {
  static readonly order = PART_ORDER.standing
  private readonly group: Group
  private readonly wanted = new Map<string, PlayerRef>()
  private readonly known = new Map<string, Status | undefined>()
  /** The database's clock as this group began: one clock for every instance. */
  now = new Date(0)

  constructor(group: Group) {
    this.group = group
  }

  want(player: PlayerRef): void {
    const key = playerKey(player)
    if (!this.known.has(key)) this.wanted.set(key, player)
  }

  /** Refuses a player that is banned, deleted or unknown (spec 7.1). */
  require(player: PlayerRef): void {
    const status = this.known.get(playerKey(player))
    if (status === 'active') return
    if (status === 'banned') throw new Refusal('playerBanned')
    throw new Refusal(status === 'deleted' ? 'playerDeleted' : 'invalidToken')
  }

  load(): Statement[] {
    if (this.wanted.size === 0) return []
    // Rows are locked in the order of the array, which is the same in every group: two never wait for each other.
    const players = [...this.wanted].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, player]) => player)
    for (const key of this.wanted.keys()) this.known.set(key, undefined)
    this.wanted.clear()
    return [
      {
        name: this.group.readOnly ? 'standing-read' : 'standing-lock',
        text: `SELECT p.environment_id, p.id, p.status, extract(epoch FROM clock_timestamp()) * 1000
          FROM unnest($1::uuid[], $2::uuid[]) AS k(environment_id, id) CROSS JOIN LATERAL (
            SELECT * FROM players p WHERE p.environment_id = k.environment_id AND p.id = k.id
            LIMIT 1 ${this.group.readOnly ? '' : 'FOR NO KEY UPDATE'}
          ) p`,
        values: [players.map((player) => player.environmentId), players.map((player) => player.playerId)],
        take: (rows: Row[]) => {
          for (const [environmentId, playerId, status, now] of rows) {
            this.known.set(playerKey({ environmentId, playerId }), status)
            this.now = new Date(Number(now))
          }
        },
      },
    ]
  }

  save(): Statement[] {
    return []
  }
}

/** Reads a player's standing for calls that rest on nothing else. */
export function admitPlayer(player: PlayerRef): Command<void> {
  return {
    needs: (group) => group.of(Standing).want(player),
    decide: (group) => group.of(Standing).require(player),
  }
}
