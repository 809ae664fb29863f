import type { Pool } from 'pg'

const ROWS = 5_000

/** Removes rows of a table that meet a condition in SQL, a bounded number at a time; says how many. */
export async function purge(pool: Pool, table: string, condition: string): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${ROWS}))`,
  )
  return rowCount ?? 0
}
