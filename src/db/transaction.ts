import type { Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction on one connection. Any error rolls all of it back. */
export function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return run(pool, 'BEGIN', work)
}

/** Runs reads on one moment of the database: what is written or removed meanwhile is in none of them. */
export function inSnapshot<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return run(pool, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work)
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
