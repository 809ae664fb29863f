import type pg from 'pg'
import { createPool } from '../src/db/pool.ts'

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
