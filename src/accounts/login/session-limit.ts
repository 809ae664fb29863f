import { Refusal } from '../../base/errors.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import type { AccountPolicy } from './account-policy.ts'
import { RefreshTokens } from './refresh-tokens.ts'

/** The limit of a player's sessions, as a login finds it. */
export interface SessionLimit {
  /** Refuses a login above the limit of sessions, where the environment refuses these. */
  require(): void
  /** Ends the oldest sessions, so that there is room for one more. */
  makeRoom(): void
}

/** Asks for the sessions of a player that is locked, if its environment limits them. */
export function* askSessionLimit(
  group: Group,
  player: PlayerRef,
  { maxSessions, whenFull }: AccountPolicy,
): Steps<SessionLimit | undefined> {
  if (maxSessions === null) return undefined
  const tokens = group.of(RefreshTokens)
  const sessions = yield* group.rows(() => tokens.askLogins(player))
  const tooMany = () => Math.max(sessions().length - maxSessions + 1, 0)
  return {
    require() {
      if (whenFull === 'refuse' && tooMany() > 0) throw new Refusal('tooManySessions')
    },
    makeRoom() {
      for (const session of sessions().slice(0, tooMany())) tokens.revoke(session)
    },
  }
}
