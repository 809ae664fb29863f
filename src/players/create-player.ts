import { uuidv7 } from 'uuidv7'
import { columns, PART_ORDER, type Part, type Statement } from '../commit/group.ts'
import type { Command } from '../commit/group-commit.ts'
import { Stream } from '../events/append.ts'
import type { PlayerRef } from './standing.ts'

interface NewPlayer extends PlayerRef {
  readonly nickname: string | null
}

/** The players that a group creates. */
class NewPlayers implements Part {
  static readonly order = PART_ORDER.standing
  private readonly players: NewPlayer[] = []

  add(player: NewPlayer): void {
    this.players.push(player)
  }

  load(): Statement[] {
    return []
  }

  save(): Statement[] {
    if (this.players.length === 0) return []
    return [
      {
        name: 'players-create',
        text: 'INSERT INTO players (environment_id, id, nickname) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[])',
        values: columns(this.players, ['environmentId', 'playerId', 'nickname']),
      },
    ]
  }
}

/** Creates a player and tells it to the environment's stream, in one transaction (spec 6). */
export function createPlayer(environmentId: string, nickname: string | null): Command<PlayerRef> {
  return {
    needs() {},
    decide(group) {
      const player = { environmentId, playerId: uuidv7() }
      group.of(NewPlayers).add({ ...player, nickname })
      group.of(Stream).append({
        environmentId,
        type: 'player.created',
        handle: null,
        playerId: player.playerId,
        scenarioId: null,
        nodeId: null,
        runId: null,
        data: { nickname },
      })
      return player
    },
  }
}
