import { builder } from '../../declare/graphql/builder.ts'
import type { Settlement } from './list-settlements.ts'

builder.objectRef<Settlement>('SeasonSettlement').implement({
  description:
    'A season with something to do for its players once claims have closed: earned tiers are granted, currencies end, `onSeasonEnd` is crossed. It is planned, running (`startedAt`) or done (`finishedAt`).',
  fields: (t) => ({
    scenarioId: t.exposeString('scenarioId', { description: 'The scenario.' }),
    nodeId: t.exposeString('nodeId', { description: 'The pass.' }),
    dueAt: t.expose('dueAt', { type: 'DateTime', description: 'The time at which claims close, in UTC.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which it began. Null until then.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which all players were settled. Null until then, and when claims open again.',
    }),
    players: t.field({
      type: 'Count',
      description:
        'The players to whom tiers were granted, or whose currencies ended, until now. When an instance dies, some players of its last step are not counted here. Their wallets have what happened, with the cause `SEASON_END`.',
      resolve: ({ players }) => BigInt(players),
    }),
    tiers: t.field({ type: 'Count', description: 'The granted tiers.', resolve: ({ tiers }) => BigInt(tiers) }),
    failed: t.field({
      type: 'Count',
      description:
        'Tiers, currencies and crossings that did not happen, since a balance or an amount would have passed its limit. `SeasonSettledEvent` names their players.',
      resolve: ({ failed }) => BigInt(failed),
    }),
  }),
})
