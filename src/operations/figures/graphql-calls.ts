import { builder } from '../../declare/graphql/builder.ts'
import { type CallStatistics, MINUTE_MS, MINUTES_KEPT_DAYS, type MinuteOfCalls } from './calls.ts'
import { datedRef } from './graphql-range.ts'

const CallMinuteType = builder.objectRef<MinuteOfCalls>('CallMinute').implement({
  description: 'The calls of one minute.',
  fields: (t) => ({
    startsAt: t.field({ type: 'DateTime', description: 'The start of the minute.', resolve: ({ at }) => at }),
    calls: t.expose('calls', { type: 'Count', description: 'Calls that began in this minute, on all instances.' }),
  }),
})

datedRef<CallStatistics>('CallStatistics', (figures) => figures).implement({
  description: `Calls of players over REST and GraphQL, with a valid token: reads and refused calls count, too; calls beyond the rate limit do not. A GraphQL operation counts once for each of its root fields, and a subscription when it begins. The counts are up to 5 seconds old. Minutes are kept for ${MINUTES_KEPT_DAYS} days.`,
  fields: (t) => ({
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
