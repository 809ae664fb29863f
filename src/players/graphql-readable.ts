import { orNull } from '../base/errors.ts'
import { requirePlatform, requireReader } from '../callers/access.ts'
import { findEnvironment } from '../callers/projects.ts'
import type { Context } from '../declare/graphql/context.ts'
import { findPlayers } from './find-player.ts'
import { admitPlayer, type PlayerRef } from './player-status.ts'

/** A player that the caller may read: itself, or one of the operator's project. Null for any other. */
export async function findReadable(context: Context, playerId: string): Promise<PlayerRef | null> {
  const found = await findReadables(context, [playerId])
  return found.get(playerId.toLowerCase()) ?? null
}

/** Those of some players that the caller may read, by their ids in lower case. */
export async function findReadables(
  context: Context,
  playerIds: readonly string[],
): Promise<ReadonlyMap<string, PlayerRef>> {
  const caller = await requireReader(context)
  if (caller.kind === 'platform') return findPlayers(context.service.pool, caller.projectId, playerIds)
  // Checked first: every field refuses a banned player, for any id.
  await context.service.runAs(caller, admitPlayer(caller))
  const { environmentId, playerId: own } = caller
  return new Map(playerIds.some((id) => id.toLowerCase() === own) ? [[own, { environmentId, playerId: own }]] : [])
}

/** An environment of the operator's project, by its name. Null for any other. */
export async function findOwnEnvironment(context: Context, environment: string): Promise<string | null> {
  const { projectId } = await requirePlatform(context, 'read')
  return orNull(findEnvironment(context.service.pool, projectId, environment), 'environmentNotFound')
}
