import { Refusal } from '../base/errors.ts'
import { askIdentities, askOwner, type IdentityRef, removeIdentity } from '../login/identities.ts'
import { lastLogins } from '../login/last-logins.ts'
import { loginLog } from '../login/log/login-log.ts'
import { RefreshTokens } from '../login/refresh-tokens.ts'
import { profiles } from '../players/create-player.ts'
import { askStatus, type Status, setStatus } from '../players/player-status.ts'
import type { StorageValues } from '../players/requests.ts'
import { askKeys, bytesOf, putWithinLimits, removeValues, storage } from '../players/storage.ts'
import type { Command } from '../transactions/command.ts'
import type { Extension, Group } from '../transactions/group.ts'
import type { PlayerRef } from '../transactions/player.ts'
import type { Statement } from '../transactions/statement.ts'
import { act, type Recorded, type SupportAction, type SupportCall } from './support-action.ts'

/** Bans a player: its next call is refused, on every instance and with any token. */
export const banPlayer = (call: SupportCall): Command<Recorded> => changeStatus(call, 'ban', 'banned')

export const unbanPlayer = (call: SupportCall): Command<Recorded> => changeStatus(call, 'unban', 'active')

/**
 * Deletes a player permanently. Erases its name, picture, storage and sessions. The books stay. Its identities stay, so
 * that a login with one of them answers that the player is deleted (spec 7.1).
 */
export const deletePlayer = (call: SupportCall): Command<Recorded> =>
  changeStatus(call, 'delete', 'deleted', (group) => {
    group.of(Erasures).add(call.player)
    group.of(RefreshTokens).revokeAll(call.player)
  })

function changeStatus(
  call: SupportCall,
  name: SupportAction,
  status: Status,
  more?: (group: Group) => void,
): Command<Recorded> {
  return act(call, {
    name,
    request: {},
    decide(player, group) {
      const before = askStatus(player).value?.status ?? null
      setStatus(player, status)
      more?.(group)
      return { outcome: {}, before: { status: before }, after: { status } }
    },
  })
}

/**
 * Ends all logins of a player: refresh tokens at once, access tokens and sockets within two seconds. The player can log
 * in again.
 */
export function endSessions(call: SupportCall): Command<Recorded> {
  return act(call, {
    name: 'end_sessions',
    request: {},
    decide(_player, group) {
      group.of(RefreshTokens).revokeAll(call.player)
      return { outcome: {}, before: null, after: null }
    },
  })
}

/**
 * Removes an identity from a player, so that its subject is free. Ends all logins of the player, as a login does not
 * record its identity. The last identity stays unless `allowLast` is true: without one, nobody can log in as the player.
 * Runs on the engine of logins, since it takes the same locks.
 */
export function unlinkIdentity(
  call: SupportCall,
  { provider, subject, allowLast }: Omit<IdentityRef, 'environmentId'> & { readonly allowLast: boolean },
): Command<Recorded> {
  const ref = { environmentId: call.player.environmentId, provider, subject }
  const command = act(call, {
    name: 'unlink_identity',
    request: { provider, subject },
    ask: (_player, group) => askIdentities(group, call.player),
    decide(_player, group, { asked: identities }) {
      if (askOwner(group, ref)?.playerId !== call.player.playerId) throw new Refusal('notFound')
      if (!allowLast && identities.keys().length === 1) throw new Refusal('lastIdentity')
      removeIdentity(group, ref)
      group.of(RefreshTokens).revokeAll(call.player)
      return { outcome: {}, before: { provider, subject }, after: null }
    },
  })
  return {
    ...command,
    engine: 'logins',
    // No other command of its group may change the player's identities.
    apart: true,
    *decide(group) {
      // The subject is locked before the player, as in a login.
      yield* group.rows(() => askOwner(group, ref))
      return yield* command.decide(group)
    },
  }
}

/** Merges values into the player's storage, within the limits of spec 8. */
export function setPlayerStorage(call: SupportCall, values: StorageValues): Command<Recorded> {
  const command = act(call, {
    name: 'set_storage',
    request: [...values].map((entry) => [...entry]),
    ask: askKeys,
    decide(player) {
      putWithinLimits(player, values)
      const keys = [...values.keys()]
      return { outcome: {}, before: null, after: { keys } }
    },
  })
  return { ...command, bytes: bytesOf(values) }
}

export function deletePlayerStorage(call: SupportCall, keys: readonly string[]): Command<Recorded> {
  return act(call, {
    name: 'delete_storage',
    request: [...keys],
    ask: askKeys,
    decide(player) {
      removeValues(player, keys)
      return { outcome: {}, before: { keys }, after: null }
    },
  })
}

/** The players of a group whose personal data is erased: profile, storage, and their traces in logs and events. */
class Erasures implements Extension {
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
    ]
  }
}
