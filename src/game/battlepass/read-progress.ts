import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_PASS, inScenario } from '../../declare/common.ts'
import { playerCall } from '../../declare/player-call.ts'
import { type RequestOf, shape } from '../../declare/shape.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { byLevel, CLAIM_TRACKS, readTierKey } from '../definition/definition.ts'
import { requireScenario, Scenarios } from '../runs/scenarios.ts'
import { levelAt } from './decide.ts'
import { askPass, requirePass } from './passes.ts'

export const progressRequest = shape(inScenario, { name: 'ProgressRequest', example: EXAMPLE_PASS })

export const claimedTier = answer(
  'A claimed tier.',
  {
    level: out.int32('The level of the tier; for a bonus tier its number.'),
    track: out.oneOf(CLAIM_TRACKS, { description: 'The track of the tier. Only a pass with bonus tiers has `bonus`.' }),
  },
  { name: 'ClaimedTier' },
)

export const progressAnswer = answer(
  "A player's progress on a battle pass: the state after all calls that were answered.",
  {
    level: out.int32('The current level; 0 below the first.'),
    xp: out.int64('The current xp.'),
    premiumOwned: out.flag('Whether the player owns the premium track.'),
    claimedTiers: out.list(claimedTier, 'Claimed tiers, by level, then by track: free, premium, bonus.', { size: 100 }),
  },
  {
    name: 'ProgressResponse',
    example: { level: 2, xp: 1200, premiumOwned: false, claimedTiers: [{ level: 2, track: 'free' }] },
  },
)
export type Progress = AnswerOf<typeof progressAnswer>

/** Reads the player's pass at one moment (contract 4.1). Claimed tiers come in order of level, then of track. */
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
        claimedTiers: pass.claimed.map(readTierKey).sort(byLevel),
      }
    },
  }
}

export const progressCall = playerCall({
  request: progressRequest,
  command: readProgress,
  contract: {
    id: 'readProgress',
    tag: 'Battle pass',
    summary: "Read the player's progress on a pass.",
    answer: progressAnswer,
    refusals: ['scenarioNotFound', 'nodeNotFound'],
  },
})
