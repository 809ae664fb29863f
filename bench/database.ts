import type pg from 'pg'
import { createPool } from '../src/db/pool.ts'
import type { CallBytes } from './report.ts'

/** Runs `work` on a connection of its own, without the time limits of the service's connections. */
export async function withClient<T>(url: string, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const pool = createPool({ url, connections: 1, onError: () => {} })
  pool.options.query_timeout = 120_000
  const client = await pool.connect()
  try {
    await client.query('SET statement_timeout = 0')
    return await work(client)
  } finally {
    client.release()
    await pool.end()
  }
}

/** What Postgres has written to its log so far, and the size of the service's ledgers and events. */
export async function bytesOf(pool: Pick<pg.Pool, 'query'>): Promise<CallBytes> {
  const { rows } = await pool.query<CallBytes>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS log, sum(pg_total_relation_size(inhrelid))::float8 AS kept
     FROM pg_inherits WHERE inhparent IN ('xp_ledger'::regclass, 'wallet_ledger'::regclass, 'events'::regclass)`,
  )
  return rows[0] ?? { log: 0, kept: 0 }
}
