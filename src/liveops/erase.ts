import { lastLogins } from '../auth/last-logins.ts'
import { loginLog } from '../auth/login-log.ts'
import type { Part } from '../commit/group.ts'
import type { PlayerRef } from '../commit/player.ts'
import type { Statement } from '../commit/statement.ts'
import { profiles } from '../players/create-player.ts'
import { storage } from '../players/storage.ts'

/** The players of a group whose personal data is erased: profile, storage, and their traces in logs and events. */
export class Erasures implements Part {
  static readonly stage = 'erases'
  private readonly players: PlayerRef[] = []

  add({ environmentId, playerId }: PlayerRef): void {
    this.players.push({ environmentId, playerId })
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
      ...lastLogins.remove(players, []),
      ...loginLog.remove(players, ['environmentId', 'playerId']),
      {
        name: 'erase-login-log-by-subject',
        // Includes attempts without a player: an invalid answer of the webhook, a link of another player.
        text: `DELETE FROM login_log l USING ${these} JOIN identities i USING (environment_id, player_id)
          WHERE l.environment_id = i.environment_id AND l.subject = i.subject
            AND l.provider = CASE i.provider WHEN 'custom' THEN 'default' ELSE substr(i.provider, 8) END`,
        values,
      },
      {
        name: 'erase-events',
        // The event stays, since its stream has no gaps. The player's name is removed.
        text: `UPDATE events e SET data = '{"nickname":null,"provider":null}' FROM ${these}
          WHERE e.environment_id = k.environment_id AND e.player_id = k.player_id AND e.type = 'player.created'`,
        values,
      },
    ]
  }
}
