import type { PlatformCaller } from '../../callers/callers.ts'
import { askKey } from '../../callers/keys.ts'
import { addAwaitedPlayer, type NewProfile } from '../../players/create-player.ts'
import type { Command } from '../../transactions/command.ts'
import { addIdentity, askOwner, type IdentityRef } from './identities.ts'

/** Whether an imported player is new: false for a subject that has a player already. */
export type Imported = boolean

/**
 * Adds a player of the studio's former service, with the identity by which it will log in. A subject that has a player
 * stays as it is, so that an import can be repeated. Its event follows with its first login.
 */
export function importPlayer(caller: PlatformCaller, identity: IdentityRef, profile: NewProfile): Command<Imported> {
  return {
    engine: 'logins',
    fresh: true,
    *decide(group) {
      // The subject is locked before it is read, as in a login.
      const { owner, requireKey } = yield* group.rows(() => ({
        owner: askOwner(group, identity),
        requireKey: askKey(group, caller),
      }))
      requireKey()
      if (owner) return false
      addIdentity(group, identity, addAwaitedPlayer(group, identity.environmentId, profile))
      return true
    },
  }
}
