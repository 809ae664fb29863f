import { uuidv7 } from 'uuidv7'
import type { Command } from '../commit/command.ts'
import { type Group, LATER, type Part } from '../commit/group.ts'
import { type Player, type PlayerRef, playerKey } from '../commit/player.ts'
import type { Statement } from '../commit/statement.ts'
import { columns } from '../commit/wanted.ts'
import { Stream } from '../events/append.ts'
import { admitNew } from './standing.ts'

/** What is known of a player when it is created. */
export interface NewProfile {
  readonly nickname: string | null
  readonly avatarUrl: string | null
  readonly region: string | null
  readonly language: string | null
}

/** What a later login changes. Null leaves a field alone. */
export type ProfileChange = Pick<NewProfile, 'nickname' | 'avatarUrl'>

/** The players that a group creates. */
class NewPlayers implements Part {
  static readonly stage = 'creates'
  private readonly players: (PlayerRef & NewProfile)[] = []

  add(player: PlayerRef & NewProfile): void {
    this.players.push(player)
  }

  save(): Statement[] {
    if (this.players.length === 0) return []
    return [
      {
        name: 'players-create',
        text: `INSERT INTO players (environment_id, id, nickname, avatar_url, region, language)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])`,
        values: columns(this.players, ['environmentId', 'playerId', 'nickname', 'avatarUrl', 'region', 'language']),
      },
    ]
  }
}

/** The changes of a group to what players are called and look like. */
export class Profiles implements Part {
  static readonly stage = 'changes'
  private readonly changes = new Map<string, PlayerRef & ProfileChange>()

  change({ environmentId, playerId }: PlayerRef, { nickname, avatarUrl }: ProfileChange): void {
    if (nickname === null && avatarUrl === null) return
    const key = playerKey({ environmentId, playerId })
    const before = this.changes.get(key)
    this.changes.set(key, {
      environmentId,
      playerId,
      nickname: nickname ?? before?.nickname ?? null,
      avatarUrl: avatarUrl ?? before?.avatarUrl ?? null,
    })
  }

  save(): Statement[] {
    if (this.changes.size === 0) return []
    return [
      {
        name: 'profiles-save',
        // Most logins say what is there already, and then nothing is written.
        text: `UPDATE players p
          SET nickname = coalesce(k.nickname, p.nickname), avatar_url = coalesce(k.avatar_url, p.avatar_url)
          FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS k(environment_id, id, nickname, avatar_url)
          WHERE p.environment_id = k.environment_id AND p.id = k.id
            AND (coalesce(k.nickname, p.nickname), coalesce(k.avatar_url, p.avatar_url))
              IS DISTINCT FROM (p.nickname, p.avatar_url)`,
        values: columns([...this.changes.values()], ['environmentId', 'playerId', 'nickname', 'avatarUrl']),
      },
    ]
  }
}

/** Adds a player to what a group writes, and tells it to the environment's stream (spec 6). */
export function addPlayer(
  group: Group,
  { environmentId, provider }: { environmentId: string; provider: string | null },
  profile: NewProfile,
): Player {
  const player = group.create({ environmentId, playerId: uuidv7() })
  admitNew(player)
  group.of(NewPlayers).add({ environmentId, playerId: player.playerId, ...profile })
  group.of(Stream).append({
    environmentId,
    type: 'player.created',
    handle: null,
    playerId: player.playerId,
    scenarioId: null,
    nodeId: null,
    runId: null,
    data: { nickname: profile.nickname, provider },
  })
  return player
}

/** Creates a player without a login: for development and tests. */
export function createPlayer(environmentId: string, nickname: string | null): Command<PlayerRef> {
  return {
    locks: true,
    decide(group) {
      if (group.waits) return LATER
      const profile = { nickname, avatarUrl: null, region: null, language: null }
      const { playerId } = addPlayer(group, { environmentId, provider: null }, profile)
      return { environmentId, playerId }
    },
  }
}
