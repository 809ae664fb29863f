import type { Group } from '../../transactions/group.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { allRewards, type Definition, type PassNode, type Reward, type RewardNode } from '../definition/definition.ts'
import { askPaid } from '../runs/reward-payments.ts'
import { askRunRows } from '../runs/runs.ts'
import { askHoldings, oneOfEachHolding } from '../wallet/holdings.ts'
import { bonusOffer } from './beyond.ts'
import { askPass, type NodeInput, type PassHandle } from './passes.ts'

/** Several claims are decided together, so the rows that a completion may need are asked for before the first. */
export function askAllTiers(group: Group, ref: PlayerRef, input: NodeInput & { readonly runId: string }) {
  const rows = askRunRows(group, ref, input)
  const { player, definition } = rows
  const asked = askPass(player, definition, input)?.askClaims()
  if (asked && definition) askEveryTier(asked, definition, rows.run?.key ?? null)
  return { rows, asked }
}

/** Asks for what claims of any tiers of a pass may need, with the completions that they cause. */
export function askEveryTier(pass: PassHandle, definition: Definition, runId: string | null): void {
  const { player, scenarioId, node } = pass.askClaims()
  const { rewards, nodes } = claimableOf(node, definition)
  askHoldings(player, rewards)
  for (const { id, repeat } of nodes) askPaid(player, scenarioId, { nodeId: id, repeat }, runId)
}

/** What claims of any tiers of a pass may give: one reward of each holding, and the reward nodes that they may lead to. */
interface Everything {
  readonly rewards: readonly Reward[]
  readonly nodes: readonly RewardNode[]
}

/** By the pass, which belongs to one definition: a pass with `autoClaim` needs it in each call. */
const claimable = new WeakMap<PassNode, Everything>()

function claimableOf(node: PassNode, definition: Definition): Everything {
  const known = claimable.get(node)
  if (known) return known
  const nodes = [...definition.nodes.values()].filter((other) => other.type === 'reward')
  const offers = [...node.tiers.values(), bonusOffer(node, 1)]
  const all = [
    ...offers.flatMap((offer) => (offer ? allRewards(offer) : [])),
    ...nodes.flatMap(({ rewards }) => rewards),
  ]
  const everything = { rewards: oneOfEachHolding(all), nodes }
  claimable.set(node, everything)
  return everything
}
