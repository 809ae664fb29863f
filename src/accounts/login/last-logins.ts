import type { Extension } from '../../transactions/group.ts'
import { type PlayerRef, playerKey } from '../../transactions/player.ts'
import type { Statement } from '../../transactions/statement.ts'
import { table } from '../../transactions/table.ts'

/** Each player's last login. A token refresh does not count. */
export const lastLogins = table('last_logins', {
  key: {},
  columns: {},
  computed: { logged_in_at: 'now()' },
  kind: 'state',
  isVersioned: false,
})

/** The players that a group logs in, written by one statement. */
export class LastLogins implements Extension {
  static readonly stage = 'changes'
  private readonly players = new Map<string, PlayerRef>()

  /** A player that logs in twice within a group has one row. */
  add({ environmentId, playerId }: PlayerRef): void {
    this.players.set(playerKey({ environmentId, playerId }), { environmentId, playerId })
  }

  save(): Statement[] {
    return lastLogins.save([...this.players.values()])
  }
}
