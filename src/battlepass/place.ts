import type { Group } from '../commit/group.ts'
import { Refusal } from '../errors.ts'
import type { PlayerRef } from '../players/standing.ts'
import type { Definition, LevelNode, PassNode } from '../scenario/definition.ts'
import { newPass, type Pass } from './decide.ts'
import { Passes, type PassRef } from './passes.ts'

/** Where in a scenario a battle pass call goes. */
export interface NodeInput {
  readonly scenarioId: string
  readonly nodeId: string
}

/** The pass that a node stands for: its own, or for a level node the one that it is a view on. */
export interface Place {
  readonly node: PassNode
  readonly levelNode: LevelNode | null
}

export function findPlace(definition: Definition, nodeId: string): Place | undefined {
  const node = definition.nodes.get(nodeId)
  if (node?.type === 'battle-pass') return { node, levelNode: null }
  if (node?.type !== 'battle-pass-level') return undefined
  const pass = definition.nodes.get(node.passNodeId)
  return pass?.type === 'battle-pass' ? { node: pass, levelNode: node } : undefined
}

/** Refuses a node that is not there, or that no battle pass call can go to. */
export function requirePlace(definition: Definition, nodeId: string): Place {
  const place = findPlace(definition, nodeId)
  if (!place) throw new Refusal('nodeNotFound')
  return place
}

export function passRef(player: PlayerRef, scenarioId: string, { node }: Place): PassRef {
  return { environmentId: player.environmentId, playerId: player.playerId, scenarioId, nodeId: node.id }
}

/** The pass as this group sees it. */
export function passAt(group: Group, ref: PassRef, node: PassNode): Pass {
  const passes = group.of(Passes)
  const stored = passes.stored(ref)
  return { ...(stored ?? newPass(node)), claimed: { has: (tier) => passes.claimedTiers(ref).has(tier) } }
}
