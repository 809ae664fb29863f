import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { nodeId, scenarioId } from '../../declare/common.ts'
import { playerCall } from '../../declare/player-call.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import { playerRequest } from '../../players/requests.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { askBegun, type BegunPass, levelOf } from '../battlepass/passes.ts'
import type { Definition } from '../definition/definition.ts'
import { PHASES, seasonAt } from '../definition/season.ts'
import { Scenarios } from '../runs/scenarios.ts'

export const seasonProgress = answer(
  'What a player has reached in a season: on a battle pass that it has begun. The phase, dates and top level are null when the current version of the scenario no longer has the pass.',
  {
    scenarioId: out.text(scenarioId.description),
    nodeId: out.text(nodeId.description),
    phase: out.orNull(out.oneOf(PHASES, { description: 'Where the season stands now.' })),
    startsAt: out.orNull(out.time('The time at which the season starts, in UTC. Null when it has always run.')),
    endsAt: out.orNull(out.time('The first time without xp and premium, in UTC. Null when the season does not end.')),
    claimUntil: out.orNull(out.time('The first time without claims, in UTC. Null when claims stay open.')),
    level: out.int32(
      'The level by the current version of the scenario; 0 below the first. A pass that the current version no longer has keeps its last level.',
    ),
    topLevel: out.orNull(out.int32('The highest level of the pass.')),
    xp: out.int64('The current xp.'),
    premiumOwned: out.flag('Whether the player owns the premium track.'),
    claimed: out.int32('The number of tiers that the player has claimed.'),
  },
  { name: 'SeasonProgress' },
)
export type SeasonProgress = AnswerOf<typeof seasonProgress>

export const seasonsAnswer = answer(
  "A player's seasons: one for each battle pass that it has begun, also those that are over.",
  {
    seasons: out.list(
      seasonProgress,
      'The last started season first. Seasons without a start are the last ones. Those of the same start are in the order of their scenarios and nodes.',
    ),
  },
  {
    name: 'SeasonsResponse',
    example: {
      seasons: [
        {
          scenarioId: 'season-2',
          nodeId: 'pass',
          phase: 'running',
          startsAt: '2027-03-01T00:00:00.000Z',
          endsAt: '2027-05-01T00:00:00.000Z',
          claimUntil: '2027-05-08T00:00:00.000Z',
          level: 3,
          topLevel: 30,
          xp: 1450,
          premiumOwned: false,
          claimed: 2,
        },
        {
          scenarioId: 'season-1',
          nodeId: 'pass',
          phase: 'closed',
          startsAt: '2026-12-01T00:00:00.000Z',
          endsAt: '2027-02-01T00:00:00.000Z',
          claimUntil: '2027-02-08T00:00:00.000Z',
          level: 30,
          topLevel: 30,
          xp: 21_600,
          premiumOwned: true,
          claimed: 58,
        },
      ],
    },
  },
)

/** Lists the seasons of a player at one moment, with what it has reached in each. */
export function listSeasons(ref: PlayerRef): Command<AnswerOf<typeof seasonsAnswer>> {
  return {
    engine: 'reads',
    // The list of passes is not remembered.
    fresh: true,
    player: ref,
    *decide(group) {
      const { player, found } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const scenarios = group.of(Scenarios)
        const found = askBegun(player).map((pass) => ({
          pass,
          definition: scenarios.find({ environmentId: ref.environmentId, scenarioId: pass.scenarioId }),
          now: scenarios.now({ environmentId: ref.environmentId, scenarioId: pass.scenarioId }),
        }))
        return { player, found }
      })
      requireActive(player)
      return { seasons: found.map(({ pass, definition, now }) => progressOn(pass, definition, now)).sort(byStart) }
    },
  }
}

function progressOn(pass: BegunPass, definition: Definition | null | undefined, now: Date): SeasonProgress {
  const { scenarioId, nodeId, xp, premiumOwned, claimed } = pass
  const found = definition?.nodes.get(nodeId)
  const node = found?.type === 'battle-pass' ? found : null
  return {
    scenarioId,
    nodeId,
    phase: node && seasonAt(node, now).phase,
    startsAt: node?.startsAt?.toISOString() ?? null,
    endsAt: node?.endsAt?.toISOString() ?? null,
    claimUntil: node?.claimUntil?.toISOString() ?? null,
    level: levelOf(node, pass),
    topLevel: node?.topLevel ?? null,
    xp,
    premiumOwned,
    claimed,
  }
}

function byStart(a: SeasonProgress, b: SeasonProgress): number {
  const [start, other] = [startOf(a), startOf(b)]
  if (start !== other) return start < other ? 1 : -1
  return compare(a.scenarioId, b.scenarioId) || compare(a.nodeId, b.nodeId)
}

const startOf = ({ startsAt }: SeasonProgress): number =>
  startsAt === null ? Number.NEGATIVE_INFINITY : Date.parse(startsAt)

/** By code units: the order does not depend on a language. */
function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

export const seasonsCall = playerCall({
  request: playerRequest,
  command: listSeasons,
  contract: {
    id: 'listSeasons',
    tag: 'Battle pass',
    summary: 'List the seasons of the calling player, with what it has reached in each.',
    answer: seasonsAnswer,
  },
})
