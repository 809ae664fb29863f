import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import type { PlayerCaller } from '../../callers/callers.ts'
import { answer, out } from '../../declare/answer.ts'
import { IDENTITY_PROVIDER } from '../../declare/common.ts'
import { askStatus, refuseStanding, requireMayLogIn, STANDING, type Standing } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { askIdentities, askOwner, type IdentityRef, removeIdentity } from './identities.ts'
import { RefreshTokens } from './refresh-tokens.ts'

// The player's own identities.

const ownIdentity = answer('An identity of the calling player.', {
  provider: out.text(IDENTITY_PROVIDER),
  subject: out.text("The provider's own id of the player. Of a device, a hash of its id."),
  createdAt: out.time('The time at which it was linked, in UTC.'),
})
export const ownIdentities = answer(
  'The identities of the calling player.',
  { identities: out.list(ownIdentity, 'By provider and subject.') },
  {
    name: 'OwnIdentities',
    example: {
      identities: [
        { provider: 'device', subject: 'mG3j0…', createdAt: '2026-11-20T09:30:00.000Z' },
        { provider: 'google', subject: '110169484474', createdAt: '2026-11-21T18:02:11.000Z' },
      ],
    },
  },
)

/** Reads the identities that log a player in. Refuses a banned, deleted or unknown player. */
export async function readOwnIdentities(pool: Pool, { environmentId, playerId }: PlayerRef) {
  const { rows } = await pool.query<
    Standing & {
      readonly provider: string | null
      readonly subject: string
      readonly created_at: Date
    }
  >({
    name: 'own-identities',
    text: `SELECT ${STANDING}, i.provider, i.subject, i.created_at
      FROM players p LEFT JOIN identities i ON (i.environment_id, i.player_id) = (p.environment_id, p.id)
      WHERE p.environment_id = $1 AND p.id = $2
      ORDER BY i.provider COLLATE "C", i.subject COLLATE "C"`,
    values: [environmentId, playerId],
  })
  refuseStanding(rows[0])
  return {
    identities: rows.flatMap(({ provider, subject, created_at: at }) =>
      provider === null ? [] : [{ provider, subject, createdAt: at.toISOString() }],
    ),
  }
}

/**
 * Removes an identity from the calling player, so that its subject is free. The last one stays: without one, the player
 * could not log in again. Logins go on.
 */
export function unlinkOwnIdentity(
  caller: PlayerCaller,
  { provider, subject }: Omit<IdentityRef, 'environmentId'>,
): Command<void> {
  const ref = { environmentId: caller.environmentId, provider, subject }
  return {
    engine: 'logins',
    fresh: true,
    // No other command of its group may change the player's identities.
    apart: true,
    *decide(group) {
      // The subject is locked before the player, as in a login.
      const { owner, player, identities, requireLogin } = yield* group.rowsFrom(
        () => askOwner(group, ref),
        (owner) => {
          const player = group.player(caller)
          askStatus(player)
          return {
            owner,
            player,
            identities: askIdentities(group, caller),
            requireLogin: group.of(RefreshTokens).askLogin(caller),
          }
        },
      )
      requireMayLogIn(player)
      requireLogin()
      if (owner?.playerId !== caller.playerId) throw new Refusal('notFound')
      if (identities.keys().length === 1) throw new Refusal('lastIdentity')
      removeIdentity(group, ref)
    },
  }
}
