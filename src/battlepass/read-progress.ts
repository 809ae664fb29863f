import { playerCall } from '../players/player-call.ts'
import { askStatus, requireActive } from '../players/player-status.ts'
import { inScenario } from '../request/common.ts'
import { type RequestOf, shape } from '../request/shape.ts'
import { readTierKey, type Track } from '../scenario/definition.ts'
import { requireScenario, Scenarios } from '../scenario/scenarios.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { levelAt } from './decide.ts'
import { askPass, requirePass } from './passes.ts'

/** The progress request of spec 2.1. */
export const progressRequest = shape(inScenario)

/** The progress response of spec 2.2. */
export type Progress = {
  readonly level: number
  readonly xp: bigint
  readonly premiumOwned: boolean
  readonly claimedTiers: readonly { readonly level: number; readonly track: Track }[]
}

/** Reads the player's pass at one moment (spec 4.1). Claimed tiers come in order of level, the free track first. */
export function readProgress(ref: PlayerRef, input: RequestOf<typeof progressRequest>): Command<Progress> {
  return {
    engine: 'reads',
    player: ref,
    *decide(group) {
      const { player, definition, asked } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const definition = group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId: input.scenarioId })
        return { player, definition, asked: askPass(player, definition, input)?.askClaims() }
      })
      requireActive(player)
      requireScenario(definition)
      const pass = requirePass(asked)
      const { xp, premiumOwned } = pass.current
      return {
        level: levelAt(pass.node, xp),
        xp,
        premiumOwned,
        claimedTiers: pass.claimed.map(readTierKey).sort((a, b) => a.level - b.level || a.track.localeCompare(b.track)),
      }
    },
  }
}

export const progressCall = playerCall({ request: progressRequest, command: readProgress })
