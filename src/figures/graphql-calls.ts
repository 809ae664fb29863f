import { MAX_CALL_DAYS } from '../base/limits.ts'
import { requirePlatform } from '../callers/access.ts'
import { environment } from '../declare/common.ts'
import { builder } from '../declare/graphql/builder.ts'
import { argsOf } from '../declare/graphql/shapes.ts'
import { moment, optional, shape } from '../declare/shape.ts'
import { findEnvironment } from '../projects/projects.ts'
import { type CallsRef, MINUTE_MS, MINUTES_KEPT_DAYS, type MinuteOfCalls, readCalls } from './calls.ts'
import { readRanged } from './range.ts'

const DEFAULT_HOURS = 1

interface CallStatistics extends CallsRef {
  readonly asOf: Date
  readonly minutes: readonly MinuteOfCalls[]
}

const CallMinuteType = builder.objectRef<MinuteOfCalls>('CallMinute').implement({
  description: 'The calls of one minute.',
  fields: (t) => ({
    startsAt: t.field({ type: 'DateTime', description: 'The start of the minute.', resolve: ({ at }) => at }),
    calls: t.expose('calls', { type: 'Count', description: 'Calls that began in this minute, on all instances.' }),
  }),
})

const CallStatisticsType = builder.objectRef<CallStatistics>('CallStatistics').implement({
  description: `Calls of players over REST and GraphQL, with a valid token: reads and refused calls count, too; calls beyond the rate limit do not. A GraphQL operation counts once for each of its root fields, and a subscription when it begins. The counts are up to 5 seconds old. Minutes are kept for ${MINUTES_KEPT_DAYS} days.`,
  fields: (t) => ({
    from: t.field({
      type: 'DateTime',
      description: 'The start of the range, included.',
      resolve: ({ from }) => from,
    }),
    to: t.field({ type: 'DateTime', description: 'The end of the range, not included.', resolve: ({ to }) => to }),
    asOf: t.field({ type: 'DateTime', resolve: ({ asOf }) => asOf }),
    calls: t.field({
      type: 'Count',
      description: 'All calls of the range.',
      resolve: ({ minutes }) => minutes.reduce((sum, { calls }) => sum + calls, 0),
    }),
    minutes: t.field({
      extensions: { size: 60 },
      type: [CallMinuteType],
      description: 'Every minute that the range touches, in order.',
      resolve: everyMinute,
    }),
  }),
})

function everyMinute({ from, to, minutes }: CallStatistics): MinuteOfCalls[] {
  const calls = new Map(minutes.map((minute) => [minute.at.getTime(), minute.calls]))
  const first = Math.floor(from.getTime() / MINUTE_MS) * MINUTE_MS
  return Array.from({ length: Math.ceil((to.getTime() - first) / MINUTE_MS) }, (_, index) => {
    const at = first + index * MINUTE_MS
    return { at: new Date(at), calls: calls.get(at) ?? 0 }
  })
}

const callStatisticsRequest = shape({
  environment,
  from: optional(moment('Default: an hour before the end.')),
  to: optional(
    moment(`The end of the range, not included; at most ${MAX_CALL_DAYS} days after the start. Default: now.`),
  ),
})

builder.queryField('callStatistics', (t) =>
  t.field({
    type: CallStatisticsType,
    description: "The calls of an environment's players, by minute.",
    args: argsOf(callStatisticsRequest),
    resolve: async (_root, args, context) => {
      const { projectId, keyId } = await requirePlatform(context, 'read')
      const { environment, range } = readRanged(callStatisticsRequest, args, {
        days: DEFAULT_HOURS / 24,
        maxDays: MAX_CALL_DAYS,
      })
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const ref = { environmentId, ...range }
      const reader = context.service.reads.reader(keyId)
      return { ...ref, asOf: reader.asOf, minutes: await reader.read(({ pool }) => readCalls(pool, ref)) }
    },
  }),
)
