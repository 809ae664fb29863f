import type { Pool } from 'pg'

const ROWS = 5_000

/** Removes a bounded number of rows that meet a condition in SQL. Returns how many. */
export async function purge(pool: Pool, table: string, condition: string): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${ROWS}))`,
  )
  return rowCount ?? 0
}
