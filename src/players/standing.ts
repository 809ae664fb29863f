import { columns, type Group, PART_ORDER, type Part, type Statement, Wanted } from '../commit/group.ts'
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
  private readonly wanted = new Wanted<PlayerRef>()
  private readonly known = new Map<string, Status>()
  private readonly changed = new Map<string, PlayerRef & { status: Status }>()
  /** The database's clock as this group began: one clock for every instance. */
  now = new Date(0)

  constructor(group: Group) {
    this.group = group
  }

  want(player: PlayerRef): void {
    this.wanted.want(playerKey(player), player)
  }

  /** A player that this very group creates. */
  admit(player: PlayerRef): void {
    this.known.set(playerKey(player), 'active')
  }

  /** Undefined for a player that is unknown. */
  statusOf(player: PlayerRef): Status | undefined {
    return this.known.get(playerKey(player))
  }

  setStatus({ environmentId, playerId }: PlayerRef, status: Status): void {
    const player = { environmentId, playerId }
    this.known.set(playerKey(player), status)
    this.changed.set(playerKey(player), { ...player, status })
  }

  /** Refuses a player that is banned, deleted or unknown (spec 7.1). */
  require(player: PlayerRef): void {
    const status = this.known.get(playerKey(player))
    if (status === 'active') return
    if (status === 'banned') throw new Refusal('playerBanned')
    throw new Refusal(status === 'deleted' ? 'playerDeleted' : 'invalidToken')
  }

  load(): Statement[] {
    return this.wanted.read({
      name: this.group.readOnly ? 'standing-read' : 'standing-lock',
      text: `SELECT k.n::int, p.status, extract(epoch FROM clock_timestamp()) * 1000
        FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, id, n) CROSS JOIN LATERAL (
          SELECT status FROM players p WHERE p.environment_id = k.environment_id AND p.id = k.id
          LIMIT 1 ${this.group.readOnly ? '' : 'FOR NO KEY UPDATE'}
        ) p`,
      columns: ['environmentId', 'playerId'],
      // Rows are locked in the order of the arrays, which is the same in every group: two never wait for each other.
      sorted: true,
      take: (key, [, status, now]) => {
        this.known.set(key, status)
        this.now = new Date(Number(now))
      },
    })
  }

  save(): Statement[] {
    if (this.changed.size === 0) return []
    return [
      {
        name: 'standing-save',
        text: `UPDATE players p SET status = k.status
          FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS k(environment_id, id, status)
          WHERE p.environment_id = k.environment_id AND p.id = k.id`,
        values: columns([...this.changed.values()], ['environmentId', 'playerId', 'status']),
      },
    ]
  }
}

/** Reads a player's standing for calls that rest on nothing else. */
export function admitPlayer(player: PlayerRef): Command<void> {
  return {
    lane: 'reads',
    needs: (group) => group.of(Standing).want(player),
    decide: (group) => group.of(Standing).require(player),
  }
}
