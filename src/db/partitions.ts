import type { ClientBase, Pool } from 'pg'
import { firstIdAt, timeOfId } from './ids.ts'
import { inTransaction } from './transaction.ts'

// Tables that Postgres partitions by time. The migration that makes such a table (prisma/migrations/…_baseline) makes two
// partitions: `<table>_first` has the rows of the first weeks, and `<table>_default` those that no other one takes, so that
// no insert fails for a missing partition. Partitions are made before they are needed, and dropped as a whole: a DELETE
// would read each row, write it to the log, and leave its place to a vacuum.

/** How long a partition is. It begins with a day, a Monday or a month, in UTC. */
export type Period = 'day' | 'week' | 'month'

export interface PartitionedTable {
  readonly name: string
  /** The column of the time: an id of version 7, or a moment. */
  readonly key: 'id' | 'occurred_at'
  readonly every: Period
}

export interface Partition {
  readonly name: string
  /** Null for the first one, which has no lower end. */
  readonly from: Date | null
  /** The end, not included. */
  readonly to: Date
}

/** Partitions exist until this long after now, at least. */
const AHEAD_MS = 28 * 86_400_000
/**
 * The longest wait for a lock. Calls of the game that come meanwhile wait behind it. Behind a longer reader, such as a
 * backup, it is given up, and tried again in the next round.
 */
const LOCK_TIMEOUT_MS = 300
/** The longest time in which rows move from the default partition. The game may wait for it. */
const MOVE_TIMEOUT_MS = 1_500

/** The partitions of a table but for the default one, the earliest first. Empty when the table is not partitioned. */
export async function listPartitions(
  client: Pick<ClientBase, 'query'>,
  { name, key }: PartitionedTable,
): Promise<Partition[]> {
  const { rows } = await client.query<{ name: string; bound: string }>(
    // A bound names no columns, so pg_get_expr needs no table. Given one, it would wait for the sessions that lock it.
    `SELECT c.relname AS name, pg_get_expr(c.relpartbound, 0) AS bound
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1)`,
    [name],
  )
  const at = (text: string) => (key === 'id' ? timeOfId(text) : new Date(text))
  const partitions = rows.flatMap(({ name: partition, bound }): Partition[] => {
    const [, from, to] = /^FOR VALUES FROM \((?:'(.+)'|MINVALUE)\) TO \('(.+)'\)$/.exec(bound) ?? []
    return to === undefined ? [] : [{ name: partition, from: from === undefined ? null : at(from), to: at(to) }]
  })
  return partitions.sort((a, b) => a.to.getTime() - b.to.getTime())
}

/** The end of the period that a moment is in. */
export function endOfPeriod(at: Date, every: Period): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  if (every === 'month') return new Date(Date.UTC(year, month + 1, 1))
  const days = every === 'day' ? 1 : 7 - ((at.getUTCDay() + 6) % 7)
  return new Date(Date.UTC(year, month, day + days))
}

/**
 * Makes the partitions that are missing until four weeks after `now`. Any number of instances may do it at once. A
 * partition that cannot be made is left out, and its rows stay in the default one; the error is thrown once the later
 * ones are made. Returns the names of those made.
 */
export async function makePartitions(pool: Pool, table: PartitionedTable, now: Date): Promise<string[]> {
  const made: string[] = []
  let fault: unknown
  let from = await nextFrom(pool, table)
  while (from !== null && from.getTime() < now.getTime() + AHEAD_MS) {
    const to = endOfPeriod(from, table.every)
    try {
      const name = await makePartition(pool, table, { from, to })
      // The other instance continues.
      if (name === 'at work') break
      if (name !== null) made.push(name)
    } catch (error) {
      fault ??= error
    }
    from = to
  }
  if (fault !== undefined) throw fault
  return made
}

/** The end of the last partition. Null for a table that is not partitioned. */
async function nextFrom(client: Pick<ClientBase, 'query'>, table: PartitionedTable): Promise<Date | null> {
  return (await listPartitions(client, table)).at(-1)?.to ?? null
}

/**
 * The name of the partition, or null when another instance has made it. An instance that finds it made continues with
 * the next: meanwhile it held the lock, and may have turned away the one that made it.
 */
function makePartition(
  pool: Pool,
  table: PartitionedTable,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<string | null | 'at work'> {
  return inTransaction(pool, async (client) => {
    if (!(await takeTable(client, table))) return 'at work'
    const last = await nextFrom(client, table)
    if (last !== null && last > from) return null
    const name = `${table.name}_${from.toISOString().slice(0, 10).replaceAll('-', '')}`
    const others = `${table.name}_default`
    // The copy has the indexes that the partition needs, also those that the parent does not have.
    await client.query(`CREATE TABLE ${name} (LIKE ${others} INCLUDING ALL)`)
    const isOwn = `${table.key} >= ${boundOf(table, from)} AND ${table.key} < ${boundOf(table, to)}`
    const { rowCount } = await client.query(`SELECT FROM ${others} WHERE ${isOwn} LIMIT 1`)
    if (rowCount === 1) {
      await client.query(`SET LOCAL statement_timeout = ${MOVE_TIMEOUT_MS}; LOCK TABLE ${others}`)
      await client.query(
        `WITH moved AS (DELETE FROM ${others} WHERE ${isOwn} RETURNING *) INSERT INTO ${name} SELECT * FROM moved`,
      )
    }
    const range = `FROM (${boundOf(table, from)}) TO (${boundOf(table, to)})`
    await client.query(`ALTER TABLE ${table.name} ATTACH PARTITION ${name} FOR VALUES ${range}`)
    return name
  })
}

const boundOf = ({ key }: PartitionedTable, at: Date): string =>
  `'${key === 'id' ? firstIdAt(at.getTime()) : at.toISOString()}'`

/** One instance at a time changes the partitions of a table. False when another one does. */
async function takeTable(client: ClientBase, { name }: PartitionedTable): Promise<boolean> {
  await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`)
  const { rows } = await client.query<{ isTaken: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtextextended('partitions of ' || $1, 0)) AS "isTaken"`,
    [name],
  )
  return rows[0]?.isTaken ?? false
}

/**
 * The moment as of which partitions may be dropped: `now`, where the partition that ended last has rows. Otherwise the
 * clock may run months ahead, and would drop all of them: it is the beginning of the last partition with rows, and null
 * where that has none. A table without such rows has nothing to lose.
 */
export async function trustedNow(pool: Pool, table: PartitionedTable, now: Date): Promise<Date | null> {
  const ended = (await listPartitions(pool, table)).filter(({ to }) => to <= now)
  for (const { name, from } of [...ended].reverse()) {
    const { rowCount } = await pool.query(`SELECT FROM ONLY ${name} LIMIT 1`)
    if (rowCount === 1) return name === ended.at(-1)?.name ? now : from
  }
  return now
}

/**
 * Drops the partitions that ended before a moment, the earliest first, each after `keep` has resolved. What is left has no
 * gap. Returns the names of those dropped.
 */
export async function dropPartitions(
  pool: Pool,
  table: PartitionedTable,
  before: Date,
  keep: (partition: Partition) => Promise<void> = async () => {},
): Promise<string[]> {
  const dropped: string[] = []
  for (const partition of await listPartitions(pool, table)) {
    if (partition.to > before) break
    await keep(partition)
    const isDropped = await inTransaction(pool, async (client) => {
      if (!(await takeTable(client, table))) return false
      await client.query(`DROP TABLE IF EXISTS ${partition.name}`)
      return true
    })
    if (!isDropped) break
    dropped.push(partition.name)
  }
  return dropped
}

export interface PartitionsState {
  /** From now to the end of the last partition, in milliseconds. */
  readonly aheadMs: number
  /** Whether the default partition has rows: no other one takes them. */
  readonly hasOthers: boolean
}

/** Undefined for a table that is not partitioned. */
export async function lookAtPartitions(
  pool: Pool,
  table: PartitionedTable,
  now: Date,
): Promise<PartitionsState | undefined> {
  const last = await nextFrom(pool, table)
  if (last === null) return undefined
  const { rowCount } = await pool.query(`SELECT FROM ${table.name}_default LIMIT 1`)
  return { aheadMs: last.getTime() - now.getTime(), hasOthers: rowCount === 1 }
}
