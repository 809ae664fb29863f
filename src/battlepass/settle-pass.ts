import { Stream } from '../events/append.ts'
import { askStatus } from '../players/player-status.ts'
import type { Granted, PassNode } from '../scenario/definition.ts'
import { askActiveRun } from '../scenario/runs.ts'
import { Scenarios } from '../scenario/scenarios.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { askAllTiers, claimEarned } from './claim-tier.ts'
import { NO_RUN, type NodeInput } from './passes.ts'

/** What was granted to a player at the end of a season. */
export interface Settled {
  readonly tiers: number
  /** Tiers whose rewards would have passed the limit of a balance or an amount. */
  readonly failed: number
}

const NOTHING: Settled = { tiers: 0, failed: 0 }

/** Whether what was not claimed is granted now. An edit may have moved the end, or have taken it away. */
export const isSettledAt = ({ atEnd, endsAt, claimUntil }: PassNode, now: Date): boolean =>
  atEnd === 'grant' && endsAt !== null && claimUntil !== null && now >= claimUntil

/**
 * Grants the tiers of a pass that a player has earned and not claimed, once claims have closed, and tells it in one event.
 * Each tier is granted once, however often this runs. In an active run it crosses what the claims would have crossed. A
 * banned player keeps what it has earned, a deleted one gets nothing. Null when the season is not settled now.
 */
export function settlePass(ref: PlayerRef, { scenarioId, nodeId }: NodeInput): Command<Settled | null> {
  return {
    player: ref,
    // The players of a whole season would displace those who play from memory.
    fresh: true,
    *decide(group) {
      const active = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
        return askActiveRun(player, scenarioId)
      })
      const input = { scenarioId, nodeId, runId: active.value?.runId ?? NO_RUN }
      const { rows, asked: pass } = yield* group.rows(() => askAllTiers(group, ref, input))
      const { player, definition } = rows
      const status = askStatus(player).value?.status
      if (!definition || !pass || !isSettledAt(pass.node, group.now)) return null
      if (!pass.stored || status === undefined || status === 'deleted') return NOTHING

      const { tiers, granted, failed } = yield* claimEarned(group, pass, { definition, run: rows.run }, 'season end')
      if (tiers > 0 || failed > 0)
        group.of(Stream).append({
          ...{ environmentId: ref.environmentId, playerId: ref.playerId, scenarioId, nodeId },
          ...{ type: 'season.settled', handle: null, byClient: false, runId: active.value?.runId ?? null },
          data: { tiers, failed, granted: sumOf(granted) },
        })
      return { tiers, failed }
    },
  }
}

/** The rewards in all, each currency and item once, in the order in which they came. */
function sumOf(rewards: readonly Granted[]): Granted[] {
  const sums = new Map<string, Granted>()
  for (const reward of rewards) {
    const key = `${reward.currency ?? ''}\0${reward.itemId ?? ''}`
    const amount = BigInt(sums.get(key)?.amount ?? 0) + BigInt(reward.amount)
    sums.set(key, { ...reward, amount })
  }
  return [...sums.values()]
}
