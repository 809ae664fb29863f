import type { Command } from '../commit/group-commit.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import type { Track } from '../scenario/definition.ts'
import { Scenarios } from '../scenario/scenarios.ts'
import { levelAt } from './levels.ts'
import { Passes } from './passes.ts'
import { findPlace, type NodeInput, passAt, passRef, requirePlace } from './place.ts'

/** The progress response of spec 2.2. */
export type Progress = {
  readonly level: number
  readonly xp: bigint
  readonly premiumOwned: boolean
  readonly claimedTiers: readonly { readonly level: number; readonly track: Track }[]
}

/** Reads the player's pass at one moment (spec 4.1). Claimed tiers come in order of level, the free track first. */
export function readProgress(player: PlayerRef, { scenarioId, nodeId }: NodeInput): Command<Progress> {
  const scenario = { environmentId: player.environmentId, scenarioId }
  return {
    lane: 'reads',
    needs(group) {
      group.of(Standing).want(player)
      group.of(Scenarios).want(scenario)
      const definition = group.of(Scenarios).expected(scenario)
      const place = definition && findPlace(definition, nodeId)
      if (!place) return
      const ref = passRef(player, scenarioId, place)
      group.of(Passes).want(ref)
      group.of(Passes).wantClaims(ref)
    },
    decide(group) {
      group.of(Standing).require(player)
      const place = requirePlace(group.of(Scenarios).require(scenario), nodeId)
      const ref = passRef(player, scenarioId, place)
      const pass = passAt(group, ref, place.node)
      return {
        level: levelAt(place.node, pass.xp),
        xp: pass.xp,
        premiumOwned: pass.premiumOwned,
        claimedTiers: [...group.of(Passes).claimedTiers(ref)]
          .map((key) => {
            const [track, level] = key.split(':')
            return { level: Number(level), track: track as Track }
          })
          .sort((a, b) => a.level - b.level || a.track.localeCompare(b.track)),
      }
    },
  }
}
