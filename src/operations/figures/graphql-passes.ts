import { builder } from '../../declare/graphql/builder.ts'
import { SalesType, SUM, toInt64 } from './graphql.ts'
import { datedRef } from './graphql-range.ts'
import type { PassFigures, PassTime } from './pass-statistics.ts'

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

datedRef<PassFigures>('BattlePassStatistics', (figures) => figures).implement({
  description: 'Figures of all battle passes of an environment, or of one scenario, together.',
  fields: (t) => ({
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
