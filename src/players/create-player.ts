import { newId } from '../db/ids.ts'
import { Stream } from '../events/append.ts'
import { boolean, nullable, text, writeOnly } from '../transactions/columns.ts'
import type { Command } from '../transactions/command.ts'
import type { Extension, Group } from '../transactions/group.ts'
import { type Player, type PlayerRef, playerKey } from '../transactions/player.ts'
import type { Statement } from '../transactions/statement.ts'
import { table } from '../transactions/table.ts'
import { admitNew } from './player-status.ts'

export const profiles = table('players', {
  owner: ['environment_id', 'id'],
  key: {},
  columns: {
    nickname: nullable(text),
    avatarUrl: nullable(text),
    region: nullable(text),
    language: nullable(text),
    awaitsLogin: writeOnly(boolean),
  },
  kind: 'append',
  // A change of the profile gives the player no new version: nothing of it is remembered.
  isVersioned: false,
})

const languageOf = profiles.one({ columns: ['language'] })

const nicknameOf = profiles.one({ columns: ['nickname'] })

/** Asks for the nickname of a player's profile. */
export const askNickname = (player: Player) => player.one(nicknameOf)

/** Asks for the language of a player's profile. */
export const askLanguage = (player: Player) => player.one(languageOf)

export interface NewProfile {
  readonly nickname: string | null
  readonly avatarUrl: string | null
  readonly region: string | null
  readonly language: string | null
}

/** The changes of a later login, or of the player itself. Null or absent leaves a field as it is. */
export type ProfileChange = Partial<NewProfile>

class NewPlayers implements Extension {
  static readonly stage = 'creates'
  readonly rows: (PlayerRef & NewProfile & { readonly awaitsLogin: boolean })[] = []

  save(): Statement[] {
    return profiles.save(this.rows)
  }
}

/** The changes of a group to profiles of players. */
export class Profiles implements Extension {
  static readonly stage = 'changes'
  private readonly changes = new Map<string, PlayerRef & NewProfile>()

  change({ environmentId, playerId }: PlayerRef, change: ProfileChange): void {
    const key = playerKey({ environmentId, playerId })
    const before = this.changes.get(key)
    const changed = {
      nickname: change.nickname ?? before?.nickname ?? null,
      avatarUrl: change.avatarUrl ?? before?.avatarUrl ?? null,
      region: change.region ?? before?.region ?? null,
      language: change.language ?? before?.language ?? null,
    }
    if (Object.values(changed).every((value) => value === null)) return
    this.changes.set(key, { environmentId, playerId, ...changed })
  }

  save(): Statement[] {
    return profiles.update([...this.changes.values()], [], {
      name: 'change',
      set: `nickname = coalesce(r.nickname, t.nickname), avatar_url = coalesce(r.avatar_url, t.avatar_url),
        region = coalesce(r.region, t.region), language = coalesce(r.language, t.language)`,
      // Most logins change nothing here, and then nothing is written.
      where: `(coalesce(r.nickname, t.nickname), coalesce(r.avatar_url, t.avatar_url), coalesce(r.region, t.region),
        coalesce(r.language, t.language)) IS DISTINCT FROM (t.nickname, t.avatar_url, t.region, t.language)`,
      further: ['nickname', 'avatarUrl', 'region', 'language'],
    })
  }
}

/** What listeners learn of a new player. */
interface Created {
  readonly nickname: string | null
  /** The provider's name in identities. Null for a player without a login. */
  readonly provider: string | null
}

/** Adds a player to the writes of a group, and its event to the environment's stream (contract 6). */
export function addPlayer(
  group: Group,
  { environmentId, provider }: { environmentId: string; provider: string | null },
  profile: NewProfile,
): Player {
  const player = insertPlayer(group, environmentId, profile, false)
  publishCreated(group, player, { nickname: profile.nickname, provider })
  return player
}

/** Adds a player that has not begun to play. Its first login publishes its event. */
export const addAwaitedPlayer = (group: Group, environmentId: string, profile: NewProfile): Player =>
  insertPlayer(group, environmentId, profile, true)

function insertPlayer(group: Group, environmentId: string, profile: NewProfile, awaitsLogin: boolean): Player {
  const player = group.create({ environmentId, playerId: newId() })
  admitNew(player, awaitsLogin)
  group.of(NewPlayers).rows.push({ environmentId, playerId: player.playerId, ...profile, awaitsLogin })
  return player
}

/** Adds the event of a new player to the environment's stream (contract 6). */
export function publishCreated(group: Group, { environmentId, playerId }: PlayerRef, data: Created): void {
  group.of(Stream).append({
    environmentId,
    type: 'player.created',
    handle: null,
    playerId,
    scenarioId: null,
    nodeId: null,
    runId: null,
    byClient: false,
    data: { nickname: data.nickname, provider: data.provider },
  })
}

/** Creates a player without a login: for development and tests. */
export function createPlayer(environmentId: string, nickname: string | null): Command<PlayerRef> {
  return {
    fresh: true,
    *decide(group) {
      // Its turn: the calls before it may wait for rows.
      yield* group.rows(() => undefined)
      const profile = { nickname, avatarUrl: null, region: null, language: null }
      const { playerId } = addPlayer(group, { environmentId, provider: null }, profile)
      return { environmentId, playerId }
    },
  }
}
