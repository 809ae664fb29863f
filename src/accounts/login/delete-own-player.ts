import type { Pool } from 'pg'
import { AuditLog } from '../../audit/audit-log.ts'
import { invalidRequest } from '../../base/errors.ts'
import type { PlayerCaller } from '../../callers/callers.ts'
import { newId } from '../../db/ids.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import type { RequestOf } from '../../declare/shape.ts'
import { askStatus, banOf, IS_BANNED, requireMayLogIn } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import type { GroupCommit } from '../../transactions/group-commit.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import { type AccountPolicy, askPolicy } from './account-policy.ts'
import { erasePlayer } from './erase-player.ts'
import { askDeletion, planDeletion } from './planned-deletions.ts'
import { RefreshTokens } from './refresh-tokens.ts'
import type { deletePlayerRequest } from './requests.ts'

// The deletion that a player asks for, and the job that makes it when its time has come.

export const deletionAnswer = answer(
  'The deletion that the player has asked for.',
  { deleteAt: out.time('The time from which on the player is deleted, in UTC. A login before then cancels it.') },
  { name: 'PlannedDeletion', example: { deleteAt: '2026-12-04T09:30:00.000Z' } },
)

const DAY_MS = 86_400_000

/**
 * Plans the deletion of the calling player after the delay of its environment, and ends all of its sessions. Without a
 * delay it is deleted at once. Asking again does not move it. A player with any ban is refused: its identities would be
 * free.
 */
export function deleteOwnPlayer(
  caller: PlayerCaller,
  { playerId }: RequestOf<typeof deletePlayerRequest>,
): Command<AnswerOf<typeof deletionAnswer>> {
  return {
    engine: 'logins',
    fresh: true,
    *decide(group) {
      const { player, policy, requireLogin } = yield* group.rows(() => {
        const player = group.player(caller)
        askStatus(player)
        askDeletion(player)
        return {
          player,
          policy: askPolicy(group, caller),
          requireLogin: group.of(RefreshTokens).askLogin(caller),
        }
      })
      requireMayLogIn(player)
      requireLogin()
      if (playerId !== null && playerId.toLowerCase() !== caller.playerId)
        throw invalidRequest({ path: 'playerId', message: 'must be the id of the calling player' })
      const decided = policy()
      const { deletionDays } = decided
      const before = askDeletion(player).value
      const deleteAt = before?.deleteAt ?? new Date(group.now.getTime() + deletionDays * DAY_MS)
      if (deletionDays === 0) deleteByPlayer(group, player, caller.projectId, decided)
      else {
        if (!before) planDeletion(player, deleteAt)
        group.of(RefreshTokens).revokeAll(caller)
      }
      return { deleteAt: deleteAt.toISOString() }
    },
  }
}

/** Deletes a player by its own wish. The environment decides whether its owner can begin anew. */
function deleteByPlayer(
  group: Group,
  player: Player,
  projectId: string,
  { identitiesAtDeletion }: AccountPolicy,
): void {
  const { environmentId, playerId } = player
  const { status } = askStatus(player).value ?? {}
  erasePlayer(group, player, { freesIdentities: identitiesAtDeletion === 'free' })
  const entry = { environmentId, action: 'player.delete', target: playerId }
  const actor = { kind: 'player', projectId, environmentId, playerId } as const
  group.of(AuditLog).add(actor, { ...entry, before: { status: status ?? null }, after: { status: 'deleted' } }, newId())
}

/** Number of deletions looked up at a time. */
const BATCH = 100

/** Deletes some of the players whose time has come. One that is banned stays until its ban has ended. Returns their number. Several instances may do so at once. */
export async function deletePlanned(pool: Pool, run: GroupCommit['run'], signal: AbortSignal): Promise<number> {
  const { rows } = await pool.query<PlayerRef & { projectId: string }>({
    name: 'due-deletions',
    text: `SELECT d.environment_id AS "environmentId", d.player_id AS "playerId", e.project_id AS "projectId"
      FROM planned_deletions d JOIN environments e ON e.id = d.environment_id
      JOIN players p ON (p.environment_id, p.id) = (d.environment_id, d.player_id)
      WHERE d.delete_at <= now() AND NOT (${IS_BANNED}) ORDER BY d.delete_at LIMIT ${BATCH}`,
  })
  for (const { projectId, ...ref } of rows) if (!signal.aborted) await run(deleteWhenDue(ref, projectId))
  return rows.length
}

/** Deletes a player unless its deletion was cancelled, or made by another instance, since it was looked up. */
function deleteWhenDue(ref: PlayerRef, projectId: string): Command<void> {
  return {
    fresh: true,
    player: ref,
    *decide(group) {
      const { player, policy } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        askDeletion(player)
        return { player, policy: askPolicy(group, ref) }
      })
      const deletion = askDeletion(player).value
      const { value: standing } = askStatus(player)
      if (!deletion || deletion.deleteAt > group.now || !standing || banOf(standing)) return
      deleteByPlayer(group, player, projectId, policy())
    },
  }
}
