import type { Command } from '../commit/group-commit.ts'
import { Refusal } from '../errors.ts'
import type { PlayerRef } from '../players/standing.ts'
import { SERVER_HANDLES } from './definition.ts'
import type { ExecutionPlan } from './plan.ts'
import { cross, openSession, type RunInput, wantSession } from './session.ts'

export interface CrossHandle extends RunInput {
  readonly nodeId: string
  readonly handle: string
}

export type CrossResult = { readonly plan: ExecutionPlan | null }

/**
 * Crosses a handle of a node that the client runs and that is active. What the service runs, and the handles that only
 * the service crosses, are refused: a client cannot reach a level by saying so.
 */
export function crossHandle(player: PlayerRef, input: CrossHandle): Command<CrossResult> {
  const { nodeId, handle } = input
  return {
    needs: (group) => wantSession(group, player, input),
    decide(group) {
      const session = openSession(group, player, input)
      const node = session.definition.nodes.get(nodeId)
      if (!node) throw new Refusal('nodeNotFound')
      if (node.type !== 'client' || SERVER_HANDLES.includes(handle)) throw new Refusal('handleServerOwned')
      if (!session.run.active.includes(nodeId)) throw new Refusal('nodeNotActive')
      return { plan: cross(group, session, [{ nodeId, handle, data: {} }]) }
    },
  }
}
