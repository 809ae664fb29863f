import type { Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction on one connection. Any error rolls all of it back. */
export function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return run(pool, 'BEGIN', work)
}

/** Runs reads on one snapshot of the database. */
export function inSnapshot<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return run(pool, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work)
}

/**
 * Runs a statement that may exceed the pool's time limit, in a transaction. The server ends it first, so that the
 * connection remains usable.
 */
export async function queryWithin<Row extends object>(
  client: PoolClient,
  timeoutMs: number,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  await client.query("SELECT set_config('statement_timeout', $1, true)", [String(timeoutMs)])
  const query = { text, values, query_timeout: timeoutMs + 500 }
  return (await client.query<Row>(query)).rows
}

async function run<T>(pool: Pool, begin: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    await client.query(begin)
    try {
      const result = await work(client)
      await client.query('COMMIT')
      broken = false
      return result
    } catch (error) {
      await client.query('ROLLBACK')
      broken = false
      throw error
    }
  } finally {
    client.release(broken)
  }
}
