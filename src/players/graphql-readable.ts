import { requireCaller, requirePlatform } from '../callers/access.ts'
import type { Context } from '../declare/graphql/context.ts'
import { orNull } from '../declare/graphql/node.ts'
import { findEnvironment } from '../projects/projects.ts'
import { findPlayer } from './find-player.ts'
import { admitPlayer, type PlayerRef } from './player-status.ts'

/** A player that the caller may read: itself, or one of the operator's project. Null for any other. */
export async function findReadable(context: Context, playerId: string): Promise<PlayerRef | null> {
  const caller = await requireCaller(context)
  if (caller.kind === 'player') {
    // Checked first: every field refuses a banned player, for any id.
    await context.service.runAs(caller, admitPlayer(caller))
    if (caller.playerId !== playerId.toLowerCase()) return null
    const { environmentId, playerId: own } = caller
    return { environmentId, playerId: own }
  }
  return orNull(findPlayer(context.service.pool, caller.projectId, playerId), 'playerNotFound')
}

/** An environment of the operator's project, by its name. Null for any other. */
export async function findOwnEnvironment(context: Context, environment: string): Promise<string | null> {
  const { projectId } = await requirePlatform(context, 'viewer')
  return orNull(findEnvironment(context.service.pool, projectId, environment), 'environmentNotFound')
}
