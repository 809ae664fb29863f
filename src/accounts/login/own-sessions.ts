import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import type { PlayerCaller } from '../../callers/callers.ts'
import { timeOfId } from '../../db/ids.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { askStatus, refuseStanding, requireActive, STANDING, type Standing } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { RefreshTokens } from './refresh-tokens.ts'
import { ALL_SESSIONS, OTHER_SESSIONS } from './requests.ts'

// The player's own sessions. A session is a login and its refreshes: the family of its refresh tokens.

export const session = answer('A session of a player: a login and its refreshes.', {
  sessionId: out.id('Its id. The `jti` of its access tokens begins with it.'),
  device: out.orNull(out.text('The name of the device, as its client gave it at the login.')),
  createdAt: out.time('The time of the login, in UTC.'),
  lastUsedAt: out.time('The time of its last refresh, or of the login, in UTC.'),
  isCurrent: out.flag('Whether the call came from this session.'),
})
export const ownSessions = answer(
  'The sessions of the calling player.',
  { sessions: out.list(session, 'The last used first.') },
  {
    name: 'OwnSessions',
    example: {
      sessions: [
        {
          sessionId: '019aa4c5-7a53-7c1e-a8d2-0d9bd0b3e5f1',
          device: 'Pixel 9',
          createdAt: '2026-11-20T09:30:00.000Z',
          lastUsedAt: '2026-11-21T18:02:11.000Z',
          isCurrent: true,
        },
      ],
    },
  },
)
export const endedSessions = answer(
  'How many sessions have ended by the call.',
  { ended: out.int32('0 when they had ended before.') },
  { name: 'EndedSessions', example: { ended: 2 } },
)

/** Reads the sessions of the calling player. Refuses a banned, deleted or unknown player. */
export async function readOwnSessions(pool: Pool, caller: PlayerCaller): Promise<AnswerOf<typeof ownSessions>> {
  const { rows } = await pool.query<Standing>({
    name: 'own-status',
    text: `SELECT ${STANDING} FROM players p WHERE p.environment_id = $1 AND p.id = $2`,
    values: [caller.environmentId, caller.playerId],
  })
  refuseStanding(rows[0])
  return { sessions: await readSessions(pool, caller) }
}

interface Row {
  readonly family_id: string
  readonly device_name: string | null
  readonly created_at: Date
}

/** Reads the logins of a player that can still be refreshed, the last used first. `familyId` is that of the call. */
export async function readSessions(
  pool: Pool,
  { environmentId, playerId, familyId }: PlayerRef & Pick<PlayerCaller, 'familyId'>,
): Promise<AnswerOf<typeof session>[]> {
  const { rows } = await pool.query<Row>({
    name: 'sessions-of-player',
    text: `SELECT family_id, device_name, created_at FROM refresh_tokens
      WHERE environment_id = $1 AND player_id = $2
        AND rotated_at IS NULL AND revoked_at IS NULL AND expires_at > now()
      ORDER BY created_at DESC, family_id DESC`,
    values: [environmentId, playerId],
  })
  return rows.map(({ family_id: sessionId, device_name: device, created_at: lastUsedAt }) => ({
    sessionId,
    device,
    createdAt: timeOfId(sessionId).toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    isCurrent: sessionId === familyId,
  }))
}

/**
 * Ends sessions of the calling player: one by its id, all others, or all. Their refresh tokens end at once, their access
 * tokens and sockets within two seconds. Refuses the id of a session that the player never had.
 */
export function endOwnSessions(caller: PlayerCaller, asked: string): Command<AnswerOf<typeof endedSessions>> {
  const { environmentId, playerId, familyId } = caller
  const sessionId = asked === OTHER_SESSIONS || asked === ALL_SESSIONS ? null : asked.toLowerCase()
  return {
    engine: 'logins',
    fresh: true,
    *decide(group) {
      const tokens = group.of(RefreshTokens)
      const { player, logins, isKnown, requireLogin } = yield* group.rows(() => {
        const player = group.player(caller)
        askStatus(player)
        return {
          player,
          logins: tokens.askLogins(caller),
          isKnown: sessionId === null ? () => true : tokens.askKnown({ environmentId, playerId, familyId: sessionId }),
          requireLogin: tokens.askLogin(caller),
        }
      })
      requireActive(player)
      requireLogin()
      if (!isKnown()) throw new Refusal('notFound')
      const ending = logins().filter((login) =>
        sessionId === null ? asked === ALL_SESSIONS || login.familyId !== familyId : login.familyId === sessionId,
      )
      for (const login of ending) tokens.revoke(login)
      return { ended: ending.length }
    },
  }
}
