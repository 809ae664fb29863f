import type { Pool } from 'pg'
import type { Config } from '../base/config.ts'
import { databaseNow } from '../db/ids.ts'
import { createPool } from '../db/pool.ts'
import { createPrisma, openPrisma } from '../db/prisma.ts'
import { createReplica, type Reads, type Replica, readsOf } from '../db/replica.ts'
import { createRefusedWrites } from './refused-writes.ts'
import type { Reports } from './reports.ts'

/**
 * Shares of the connections: one for operators and for lists in GraphQL, which can be slow, and one for groups of
 * commands.
 */
const OPERATORS_SHARE = 0.3
const GROUPS_SHARE = 0.3

export type Database = ReturnType<typeof openDatabase>

/** The connections to Postgres: pools by who waits for them, Prisma, and the replica where there is one. */
export function openDatabase(config: Config, reports: Reports, databaseUrl: string) {
  const refusedWrites = createRefusedWrites()
  const connect = (connections: number, { isForGroups = false, url = databaseUrl } = {}) =>
    createPool({
      url,
      ca: config.databaseCa,
      connections,
      isForGroups,
      onError: (error) => reports.warn(error, 'a database connection was lost'),
      onWriteRefused: refusedWrites.note,
    })
  const forOperators = Math.floor(config.databaseConnections * OPERATORS_SHARE)
  const forGroups = Math.max(2, Math.floor(config.databaseConnections * GROUPS_SHARE))
  const pools = {
    game: connect(forGroups, { isForGroups: true }),
    service: connect(config.databaseConnections - forOperators - forGroups),
    operators: connect(forOperators),
    numbers: connect(1, { isForGroups: true }),
    // Readiness waits for no other statement: a slow or locked table must not take every instance out of the balancer.
    probes: connect(1),
  }
  const { prisma, transact } = openPrisma(pools.operators)
  const primary = { pool: pools.operators, prisma }
  const url = config.databaseReplicaUrl
  const replica =
    url === null
      ? null
      : openReplica(config, reports, {
          primary,
          primaryPool: pools.service,
          readPool: connect(forOperators, { url }),
          checkPool: connect(1, { url }),
        })
  const reads: Reads = replica ?? readsOf(primary, databaseNow)

  async function close(): Promise<void> {
    await replica?.close()
    await prisma.$disconnect()
    await pools.operators.end()
    await pools.game.end()
    await pools.numbers.end()
    await pools.probes.end()
    await pools.service.end()
  }

  return { pools, prisma, transact, reads, replica, refusedWrites, close }
}

interface ReplicaPools {
  readonly primary: Parameters<typeof readsOf>[0]
  readonly primaryPool: Pool
  readonly readPool: Pool
  readonly checkPool: Pool
}

/** The replica, with connections of its own. */
function openReplica(
  { replicaMaxAge }: Config,
  { log, metrics, warn }: Reports,
  { primary, primaryPool, readPool, checkPool }: ReplicaPools,
): Replica & { readonly pool: Pool; close(): Promise<void> } {
  const source = { pool: readPool, prisma: createPrisma(readPool) }
  const replica = createReplica({
    primary,
    replica: source,
    primaryPool,
    checkPool,
    maxAgeMs: replicaMaxAge * 1000,
    now: databaseNow,
    onRead: (place, reason) => metrics.replicaReads.inc({ place, reason }),
    onChange: (fault) =>
      fault === null
        ? log.info(`a read replica serves lists, figures, exports and previews, up to ${replicaMaxAge} s old`)
        : log.warn(`the read replica is not used, and the primary serves its reads: ${fault}`),
    onError: (error) => warn(error, 'a read failed on the replica, and ran on the primary'),
  })
  return {
    ...replica,
    pool: readPool,
    async close() {
      await replica.stop()
      await source.prisma.$disconnect()
      await readPool.end()
      await checkPool.end()
    },
  }
}
