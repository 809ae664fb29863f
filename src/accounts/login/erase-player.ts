import { playerBoosts } from '../../game/boosts/player-boosts.ts'
import { inboxMessages } from '../../game/inbox/messages.ts'
import { profiles } from '../../players/create-player.ts'
import { playerNotes } from '../../players/notes.ts'
import { setStatus } from '../../players/player-status.ts'
import { storage } from '../../players/storage.ts'
import type { Extension, Group } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import type { Statement } from '../../transactions/statement.ts'
import { identities } from './identities.ts'
import { lastLogins } from './last-logins.ts'
import { loginLog } from './log/login-log.ts'
import { plannedDeletions } from './planned-deletions.ts'
import { RefreshTokens } from './refresh-tokens.ts'

/**
 * Deletes a player permanently: erases its name, picture, storage, inbox, boosts, notes and sessions. The books stay. Its
 * identities stay, too, unless they are freed: a login with one of them answers that the player is deleted (contract 7.1).
 */
export function erasePlayer(
  group: Group,
  player: Player,
  { freesIdentities }: { readonly freesIdentities: boolean },
): void {
  setStatus(player, 'deleted')
  group.of(RefreshTokens).revokeAll(player)
  group.of(Erasures).add(player, freesIdentities)
}

/** The players of a group whose personal data is erased: profile, storage, and their traces in logs and events. */
class Erasures implements Extension {
  static readonly stage = 'erases'
  private readonly players: PlayerRef[] = []
  private readonly freed: PlayerRef[] = []

  add({ environmentId, playerId }: PlayerRef, freesIdentities: boolean): void {
    this.players.push({ environmentId, playerId })
    if (freesIdentities) this.freed.push({ environmentId, playerId })
  }

  save(): Statement[] {
    if (this.players.length === 0) return []
    const { players } = this
    const values = [players.map(({ environmentId }) => environmentId), players.map(({ playerId }) => playerId)]
    const these = 'unnest($1::uuid[], $2::uuid[]) AS k(environment_id, player_id)'
    return [
      ...profiles.update(players, [], {
        name: 'erase',
        set: 'nickname = NULL, avatar_url = NULL, region = NULL, language = NULL',
      }),
      ...storage.remove(players, []),
      ...inboxMessages.remove(players, []),
      ...playerNotes.remove(players, []),
      ...playerBoosts.remove(players, []),
      ...lastLogins.remove(players, []),
      ...plannedDeletions.remove(players, []),
      ...loginLog.remove(players, ['environmentId', 'playerId']),
      {
        name: 'erase-login-log-by-subject',
        // Includes attempts without a player: an invalid answer of the webhook, a link of another player.
        text: `DELETE FROM login_log l USING ${these} JOIN identities i USING (environment_id, player_id)
          WHERE l.environment_id = i.environment_id AND l.subject = i.subject
            AND l.provider = CASE WHEN i.provider = 'custom' THEN 'default' ELSE regexp_replace(i.provider, '^custom:', '') END`,
        values,
      },
      {
        // First, since an event without a position may get one meanwhile.
        name: 'erase-unnumbered-events',
        text: `UPDATE unnumbered_events e SET data = '{"nickname":null,"provider":null}' FROM ${these}
          WHERE e.environment_id = k.environment_id AND e.player_id = k.player_id AND e.type = 'player.created'`,
        values,
      },
      {
        name: 'erase-events',
        // The event stays, since its stream has no gaps. The player's name is removed.
        text: `UPDATE events e SET data = '{"nickname":null,"provider":null}' FROM ${these}
          WHERE e.environment_id = k.environment_id AND e.player_id = k.player_id AND e.type = 'player.created'`,
        values,
      },
      // Last, since the login log is found by them.
      ...identities.remove(this.freed, ['environmentId', 'playerId']),
    ]
  }
}
