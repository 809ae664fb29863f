import { MAX_INSIGHT_DAYS, MAX_INSIGHT_DAYS_BY_HOUR } from '../base/limits.ts'
import { requirePlatform } from '../callers/access.ts'
import { environment, scenarioId } from '../declare/common.ts'
import { builder } from '../declare/graphql/builder.ts'
import { argsOf } from '../declare/graphql/shapes.ts'
import { described, moment, optional, refuseFaults, shape } from '../declare/shape.ts'
import { findEnvironment } from '../projects/projects.ts'
import { SalesType, SUM, stepArgument, toInt64 } from './graphql.ts'
import { type PassStatistics, type PassStatisticsRef, type PassTime, readPassStatistics } from './pass-statistics.ts'
import { RECENT_HOURS_DAYS, readRanged, stepFaults } from './range.ts'

const DEFAULT_DAYS = 1

const PassTimeType = builder.objectRef<PassTime>('BattlePassTime').implement({
  description: 'An hour or a day of all battle passes, in UTC.',
  fields: (t) => ({
    startsAt: t.field({ type: 'DateTime', description: 'The start of the hour or day.', resolve: ({ at }) => at }),
    players: t.expose('players', {
      type: 'Count',
      description:
        'Players who earned xp, claimed or bought. Each counts once a day, in the hour of its first such call, so that the hours of a day add up to its players. A player of several passes counts in each.',
    }),
    newPlayers: t.expose('newPlayers', { type: 'Count', description: 'Players who began a pass.' }),
    grants: t.expose('grants', { type: 'Count', description: 'The number of grants of xp and of resets.' }),
    xp: t.field({ type: 'Int64', description: `Granted xp, minus resets. ${SUM}`, resolve: ({ xp }) => toInt64(xp) }),
    clipped: t.expose('clipped', {
      type: 'Count',
      description: 'Calls that limits of a pass granted less xp than they sent. Refused calls do not count.',
    }),
    claims: t.expose('claims', { type: 'Count', description: 'Claimed tiers, minus reset ones.' }),
    completed: t.expose('completed', { type: 'Count', description: 'Players who completed a pass.' }),
    premium: t.expose('premium', { type: 'Count', description: 'Premium bought or granted, minus revoked.' }),
    sold: t.expose('sold', { type: 'Count', description: 'Premium bought.' }),
  }),
})

const PassStatisticsType = builder
  .objectRef<PassStatistics & PassStatisticsRef & { readonly asOf: Date }>('BattlePassStatistics')
  .implement({
    description: 'Figures of all battle passes of an environment, or of one scenario, together.',
    fields: (t) => ({
      from: t.field({
        type: 'DateTime',
        description: 'The start of the range, included.',
        resolve: ({ from }) => from,
      }),
      to: t.field({ type: 'DateTime', description: 'The end of the range, not included.', resolve: ({ to }) => to }),
      asOf: t.field({ type: 'DateTime', resolve: ({ asOf }) => asOf }),
      times: t.field({
        extensions: { size: 100 },
        type: [PassTimeType],
        description: 'Every hour or day that the range touches, in order.',
        resolve: ({ times }) => [...times],
      }),
      sales: t.field({
        type: [SalesType],
        description: 'Premium bought, by currency.',
        resolve: ({ sales }) => [...sales],
      }),
    }),
  })

const passStatisticsRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'Only the passes of this scenario, current or removed.')),
  from: optional(moment('Default: a day before the end.')),
  to: optional(
    moment(`The end of the range, not included; at most ${MAX_INSIGHT_DAYS} days after the start. Default: now.`),
  ),
})

builder.queryField('battlePassStatistics', (t) =>
  t.field({
    type: PassStatisticsType,
    description: `Figures of all battle passes of an environment together, by hour or day. Hours are available for the last ${RECENT_HOURS_DAYS} days.`,
    args: { ...argsOf(passStatisticsRequest), by: t.arg(stepArgument) },
    resolve: async (_root, { by, ...args }, context) => {
      const { projectId, keyId } = await requirePlatform(context, 'read')
      const { environment, scenarioId, range } = readRanged(passStatisticsRequest, args, {
        days: DEFAULT_DAYS,
        maxDays: MAX_INSIGHT_DAYS,
      })
      refuseFaults(stepFaults(by, range, MAX_INSIGHT_DAYS_BY_HOUR, RECENT_HOURS_DAYS))
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const ref = { environmentId, scenarioId, nodeId: null, ...range }
      const reader = context.service.reads.reader(keyId)
      return { ...ref, asOf: reader.asOf, ...(await reader.read(({ pool }) => readPassStatistics(pool, ref, by))) }
    },
  }),
)
