import { MAX_CALL_DAYS, MAX_INSIGHT_DAYS, MAX_INSIGHT_DAYS_BY_HOUR } from '../../base/limits.ts'
import { out } from '../../declare/answer.ts'
import { environment, nodeId, scenarioId } from '../../declare/common.ts'
import { operatorRead } from '../../declare/operator-read.ts'
import {
  type RangeLimits,
  RECENT_HOURS_DAYS,
  rangeEnd,
  rangeFaults,
  rangeOf,
  STEPS,
  stepFaults,
} from '../../declare/range.ts'
import { defaulted, described, moment, oneOf, optional, shape } from '../../declare/shape.ts'
import { type CallStatistics, readCalls } from './calls.ts'
import { type Insight, openInsight } from './insight.ts'
import { type PassFigures, readPassStatistics } from './pass-statistics.ts'
import { findPass } from './read-insight.ts'

const CALLS: RangeLimits = { days: 1 / 24, maxDays: MAX_CALL_DAYS }
const PASSES: RangeLimits = { days: 1, maxDays: MAX_INSIGHT_DAYS }
const INSIGHT: RangeLimits = { days: 7, maxDays: MAX_INSIGHT_DAYS, inDays: true }

const callStatisticsRequest = shape({
  environment,
  from: optional(moment('Default: an hour before the end.')),
  to: rangeEnd(`The end of the range, not included; at most ${MAX_CALL_DAYS} days after the start. Default: now.`),
})
const passStatisticsRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'Only the passes of this scenario, current or removed.')),
  from: optional(moment('Default: a day before the end.')),
  to: rangeEnd(`The end of the range, not included; at most ${MAX_INSIGHT_DAYS} days after the start. Default: now.`),
  by: defaulted(
    oneOf('Times by hour or by day. Hours or days count as a whole when the range touches them.', STEPS),
    'hour',
  ),
})
const insightRequest = shape({
  environment,
  scenarioId,
  nodeId: described(nodeId, 'A battle-pass node of the published version.'),
  from: optional(moment(`Default: the start of the first of the ${INSIGHT.days} days in UTC up to the end.`)),
  to: rangeEnd('The end of the range, not included. Default: now.'),
})

export const figureReads = [
  operatorRead({
    name: 'callStatistics',
    summary: "The calls of an environment's players, by minute.",
    request: callStatisticsRequest,
    check: (asked) => rangeFaults(asked, CALLS),
    right: 'read',
    cost: 50,
    answer: out.ofType<CallStatistics>('CallStatistics'),
    async read({ caller, service }, { environmentId, ...asked }) {
      const ref = { environmentId, ...rangeOf(asked, CALLS) }
      const reader = service.reads.reader(caller.keyId)
      return { ...ref, asOf: reader.asOf, minutes: await reader.read(({ pool }) => readCalls(pool, ref)) }
    },
  }),
  operatorRead({
    name: 'battlePassStatistics',
    summary: `Figures of all battle passes of an environment together, by hour or day. Hours are available for the last ${RECENT_HOURS_DAYS} days.`,
    request: passStatisticsRequest,
    check: (asked) => [
      ...rangeFaults(asked, PASSES),
      ...stepFaults(asked.by, rangeOf(asked, PASSES), MAX_INSIGHT_DAYS_BY_HOUR, RECENT_HOURS_DAYS),
    ],
    right: 'read',
    cost: 50,
    answer: out.ofType<PassFigures>('BattlePassStatistics'),
    async read({ caller, service }, { environmentId, scenarioId, by, ...asked }) {
      const ref = { environmentId, scenarioId, nodeId: null, ...rangeOf(asked, PASSES) }
      const reader = service.reads.reader(caller.keyId)
      return { ...ref, asOf: reader.asOf, ...(await reader.read(({ pool }) => readPassStatistics(pool, ref, by))) }
    },
  }),
  operatorRead({
    name: 'battlePassInsight',
    summary: 'Figures of one battle pass of a scenario, over a range of time.',
    request: insightRequest,
    check: (asked) => rangeFaults(asked, INSIGHT),
    right: 'read',
    cost: 50,
    answer: out.orNull(out.ofType<Insight>('BattlePassInsight')),
    async read({ caller, service }, { environmentId, scenarioId, nodeId, ...asked }) {
      const place = { environmentId, scenarioId, nodeId }
      const ref = { place, pass: await service.run(findPass(place)), range: rangeOf(asked, INSIGHT) }
      return openInsight(ref, service.reads.reader(caller.keyId))
    },
  }),
]
