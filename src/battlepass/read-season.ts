import { Refusal } from '../base/errors.ts'
import { type AnswerOf, answer, out } from '../declare/answer.ts'
import { EXAMPLE_PASS, inScenario } from '../declare/common.ts'
import { playerCall } from '../declare/player-call.ts'
import { type RequestOf, shape } from '../declare/shape.ts'
import { askStatus, requireActive } from '../players/player-status.ts'
import { requireScenario, Scenarios } from '../scenario/scenarios.ts'
import { PHASES, seasonAt } from '../scenario/season.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { findPass } from './passes.ts'

const MAX_INT32 = 2 ** 31 - 1

export const seasonRequest = shape(inScenario, { name: 'SeasonRequest', example: EXAMPLE_PASS })

const moment = (description: string) => out.orNull(out.time(description))

export const seasonAnswer = answer(
  'The dates of the season of a battle pass, and where it stands now.',
  {
    phase: out.oneOf(PHASES, {
      description:
        'Before the season: `planned`, then `announced`. While xp counts: `running`, then `ending`. Afterwards: `ended` while tiers can be claimed, then `closed`.',
    }),
    announcedAt: moment('The time at which the season is announced, in UTC. Null when it is not.'),
    startsAt: moment('The time at which the season starts, in UTC. Null when it has always run.'),
    endingAt: moment('The time from which the season is about to end, in UTC. Null without one.'),
    endsAt: moment('The first time without xp and premium, in UTC. Null when the season does not end.'),
    claimUntil: moment('The first time without claims, in UTC. Null when claims stay open.'),
    nextPhase: out.orNull(out.oneOf(PHASES, { description: 'The phase that comes next. Null when none does.' })),
    nextPhaseAt: moment('The time at which the next phase begins, in UTC. Null when none does.'),
    secondsToNextPhase: out.orNull(
      out.int32(
        `In how many seconds the next phase begins, by the clock of the database, rounded up. At most ${MAX_INT32}. Null when none does.`,
      ),
    ),
    now: out.time('The time of the answer, by the clock of the database, in UTC.'),
  },
  {
    name: 'SeasonResponse',
    example: {
      phase: 'running',
      announcedAt: '2026-11-20T00:00:00.000Z',
      startsAt: '2026-12-01T00:00:00.000Z',
      endingAt: '2027-01-29T00:00:00.000Z',
      endsAt: '2027-02-01T00:00:00.000Z',
      claimUntil: '2027-02-08T00:00:00.000Z',
      nextPhase: 'ending',
      nextPhaseAt: '2027-01-29T00:00:00.000Z',
      secondsToNextPhase: 1_209_600,
      now: '2027-01-15T00:00:00.000Z',
    },
  },
)
export type Season = AnswerOf<typeof seasonAnswer>

/** Reads where the season of a pass stands. All players of an environment have the same season. */
export function readSeason(ref: PlayerRef, input: RequestOf<typeof seasonRequest>): Command<Season> {
  return {
    engine: 'reads',
    player: ref,
    *decide(group) {
      const { player, found } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        return {
          player,
          found: group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId: input.scenarioId }),
        }
      })
      requireActive(player)
      const pass = findPass(requireScenario(found), input.nodeId)
      if (!pass) throw new Refusal('nodeNotFound')
      const { node } = pass
      const { now } = group
      const { phase, next } = seasonAt(node, now)
      const print = (at: Date | null): string | null => at?.toISOString() ?? null
      return {
        phase,
        announcedAt: print(node.announcedAt),
        startsAt: print(node.startsAt),
        endingAt: print(node.endingAt),
        endsAt: print(node.endsAt),
        claimUntil: print(node.claimUntil),
        nextPhase: next?.phase ?? null,
        nextPhaseAt: print(next?.at ?? null),
        secondsToNextPhase: next && Math.min(MAX_INT32, Math.ceil((next.at.getTime() - now.getTime()) / 1000)),
        now: now.toISOString(),
      }
    },
  }
}

export const seasonCall = playerCall({
  request: seasonRequest,
  command: readSeason,
  contract: {
    id: 'readSeason',
    tag: 'Battle pass',
    summary: 'Read the dates of the season of a pass, and where it stands.',
    answer: seasonAnswer,
    refusals: ['scenarioNotFound', 'nodeNotFound'],
  },
})
