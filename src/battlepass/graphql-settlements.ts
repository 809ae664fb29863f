import type { Pool } from 'pg'
import { requirePlatform } from '../callers/access.ts'
import { environment, scenarioId } from '../declare/common.ts'
import { builder } from '../declare/graphql/builder.ts'
import { argsOf } from '../declare/graphql/shapes.ts'
import { described, optional, shape } from '../declare/shape.ts'
import { findEnvironment } from '../projects/projects.ts'

/** The latest settlements that a list has. */
const MOST = 100

interface Settlement {
  readonly scenarioId: string
  readonly nodeId: string
  readonly dueAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly players: string
  readonly tiers: string
  readonly failed: string
}

const SettlementType = builder.objectRef<Settlement>('SeasonSettlement').implement({
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

const settlementsRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'Only seasons of this scenario.')),
})

builder.queryField('seasonSettlements', (t) =>
  t.field({
    type: [SettlementType],
    description: `The settlements of seasons in an environment, the latest first: the last ${MOST}.`,
    args: argsOf(settlementsRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'read')
      const { environment, scenarioId } = settlementsRequest.readInput(args)
      const { pool, operatorPool } = context.service
      return listSettlements(operatorPool, await findEnvironment(pool, projectId, environment), scenarioId)
    },
  }),
)

async function listSettlements(pool: Pool, environmentId: string, scenarioId: string | null): Promise<Settlement[]> {
  const { rows } = await pool.query<Settlement>(
    `SELECT scenario_id AS "scenarioId", node_id AS "nodeId", due_at AS "dueAt", started_at AS "startedAt",
       finished_at AS "finishedAt", players, tiers, failed
     FROM season_settlements WHERE environment_id = $1 AND ($2::text IS NULL OR scenario_id = $2)
     ORDER BY due_at DESC, scenario_id, node_id LIMIT ${MOST}`,
    [environmentId, scenarioId],
  )
  return rows
}
