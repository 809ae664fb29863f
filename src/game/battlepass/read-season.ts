import { Refusal } from '../../base/errors.ts'
import { type GameClock, realMsBetween } from '../../base/game-clock.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_PASS, inScenario } from '../../declare/common.ts'
import { playerCall } from '../../declare/player-call.ts'
import { type RequestOf, shape } from '../../declare/shape.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { runsAt } from '../boosts/percent.ts'
import { withOwn } from '../boosts/player-boosts.ts'
import { AUDIENCES, type Boost } from '../boosts/stored.ts'
import { PHASES, type SeasonDates, seasonAt } from '../definition/season.ts'
import { requireScenario, Scenarios } from '../runs/scenarios.ts'
import { findPass } from './passes.ts'

const MAX_INT32 = 2 ** 31 - 1

export const seasonRequest = shape(inScenario, { name: 'SeasonRequest', example: EXAMPLE_PASS })

export const seasonBoost = answer(
  'More xp for a time, which runs now.',
  {
    percent: out.int32('The percentage that is added to each xp. Boosts that run at the same time are added.'),
    startsAt: out.time('The time at which it started, in UTC.'),
    endsAt: out.time('The first time without it, in UTC. An operator may end it earlier.'),
    secondsLeft: out.int32(
      `In how many seconds it ends, by the clock of the environment, rounded up. At most ${MAX_INT32}.`,
    ),
    audience: out.oneOf(AUDIENCES, {
      description: 'The players who get it: `everybody`, or with `premium` the owners of premium of the pass.',
    }),
    sources: out.list(out.text(), 'The sources of xp that it is for. Empty for all.'),
    personal: out.optional(out.flag('True for a boost that the player alone has. Absent for any other.')),
  },
  { name: 'SeasonBoost' },
)

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
        `In how many seconds the next phase begins, by the clock of the environment, rounded up. At most ${MAX_INT32}. Null when none does.`,
      ),
    ),
    boosts: out.list(
      seasonBoost,
      "The boosts of the scenario and the player's own that run now, the first to end first.",
      { size: 2 },
    ),
    now: out.time('The time of the answer, by the clock of the environment, in UTC.'),
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
      boosts: [
        {
          percent: 100,
          startsAt: '2027-01-14T18:00:00.000Z',
          endsAt: '2027-01-18T06:00:00.000Z',
          secondsLeft: 280_800,
          audience: 'everybody',
          sources: [],
        },
      ],
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
      const scenario = { environmentId: ref.environmentId, scenarioId: input.scenarioId }
      const { player, found, boosts, clock, now } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const scenarios = group.of(Scenarios)
        const clock = scenarios.clock(scenario)
        return {
          player,
          found: scenarios.find(scenario),
          boosts: withOwn(scenarios.boosts(scenario), player, clock),
          clock,
          now: scenarios.now(scenario),
        }
      })
      requireActive(player)
      const pass = findPass(requireScenario(found), input.nodeId)
      if (!pass) throw new Refusal('nodeNotFound')
      return {
        ...datesOf(pass.node),
        ...phaseAt(pass.node, clock, now),
        boosts: runningBoosts(boosts, clock, now),
        now: now.toISOString(),
      }
    },
  }
}

const print = (at: Date | null): string | null => at?.toISOString() ?? null

export const datesOf = ({ announcedAt, startsAt, endingAt, endsAt, claimUntil }: SeasonDates) => ({
  announcedAt: print(announcedAt),
  startsAt: print(startsAt),
  endingAt: print(endingAt),
  endsAt: print(endsAt),
  claimUntil: print(claimUntil),
})

/** The phase of a season at a game's time, and the next one. */
export function phaseAt(dates: SeasonDates, clock: GameClock | null, now: Date) {
  const { phase, next } = seasonAt(dates, now)
  return {
    phase,
    nextPhase: next?.phase ?? null,
    nextPhaseAt: print(next?.at ?? null),
    secondsToNextPhase: next && secondsTo(clock, now, next.at.getTime()),
  }
}

/** Real seconds, which is what a game counts down. */
const secondsTo = (clock: GameClock | null, now: Date, at: number): number =>
  Math.min(MAX_INT32, Math.ceil(realMsBetween(clock, now.getTime(), at) / 1000))

export const runningBoosts = (boosts: readonly Boost[], clock: GameClock | null, now: Date): Season['boosts'] =>
  boosts
    .filter((boost) => runsAt(boost, now))
    .sort((a, b) => a.endsAt - b.endsAt)
    .map(({ percent, startsAt, endsAt, audience, sources, isPersonal }) => ({
      percent: Number(percent),
      startsAt: new Date(startsAt).toISOString(),
      endsAt: new Date(endsAt).toISOString(),
      secondsLeft: secondsTo(clock, now, endsAt),
      audience,
      sources,
      ...(isPersonal && { personal: true }),
    }))

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
