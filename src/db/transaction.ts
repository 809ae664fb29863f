import type { Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction on one connection. Any error rolls all of it back. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    await client.query('BEGIN')
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
