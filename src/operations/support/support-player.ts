import { erasePlayer } from '../../accounts/login/erase-player.ts'
import { askIdentities, askOwner, type IdentityRef, removeIdentity } from '../../accounts/login/identities.ts'
import { askDeletion } from '../../accounts/login/planned-deletions.ts'
import { RefreshTokens } from '../../accounts/login/refresh-tokens.ts'
import { Refusal } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import { askStatus, type Ban, ban, banOf, type Standing, setStatus, statusOf } from '../../players/player-status.ts'
import type { StorageValues } from '../../players/requests.ts'
import { askKeys, bytesOf, putWithinLimits, removeValues } from '../../players/storage.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import type { Player } from '../../transactions/player.ts'
import { act, type Recorded, type SupportAction, type SupportCall } from './support-action.ts'

/**
 * Bans a player: its next call is refused, on every instance and with any token. A ban of logins refuses its logins and
 * refreshes. Replaces the ban that the player has. A deletion that the player has asked for waits for its end.
 */
export const banPlayer = (call: SupportCall, asked: Ban = PLAIN): Command<Recorded> =>
  changeStanding(call, 'ban', (_group, player) => ban(player, asked), asked)

const PLAIN: Ban = { kind: 'everything', until: null, reason: null }

export const unbanPlayer = (call: SupportCall): Command<Recorded> =>
  changeStanding(call, 'unban', (_group, player) => setStatus(player, 'active'))

/**
 * Deletes a player permanently. Erases its name, picture, storage and sessions. The books stay. Its identities stay, so
 * that a login with one of them answers that the player is deleted (contract 7.1).
 */
export const deletePlayer = (call: SupportCall): Command<Recorded> =>
  changeStanding(call, 'delete', (group, player) => erasePlayer(group, player, { freesIdentities: false }))

function changeStanding(
  call: SupportCall,
  name: SupportAction,
  change: (group: Group, player: Player) => void,
  asked: Ban = PLAIN,
): Command<Recorded> {
  return act(call, {
    name,
    request: aboutBan(asked),
    ask: askDeletion,
    decide(player, group) {
      const standing = askStatus(player)
      const before = aboutStanding(standing.value)
      change(group, player)
      const { deleteAt } = (name === 'ban' && askDeletion(player).value) || {}
      const after = { ...aboutStanding(standing.value), ...(deleteAt && { deleteAt: deleteAt.toISOString() }) }
      return { outcome: {}, before, after }
    },
  })
}

/** For the audit log. The past status of a ban that has ended is `active`. */
function aboutStanding(standing: Standing | null): { readonly [name: string]: Json } {
  if (!standing) return { status: null }
  const found = banOf(standing)
  return { status: statusOf(standing), ...(found && aboutBan(found)) }
}

/** What a ban has beyond the plain one, which has no members. */
const aboutBan = ({ kind, until, reason }: Ban): { readonly [name: string]: Json } => ({
  ...(kind !== PLAIN.kind && { kind }),
  ...(until && { until: until.toISOString() }),
  ...(reason !== null && { publicReason: reason }),
})

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

/** Merges values into the player's storage, within the limits of contract 8. */
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
