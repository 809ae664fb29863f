import pg from 'pg'

/**
 * A pool for the statements of a test. It ignores errors: the database can be dropped before an ended connection is
 * closed.
 */
export function openPool(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Runs one statement in its own session. A session that is ended early fails the statement, not the test's process. */
export async function execute(url: string, sql: string, values?: readonly unknown[]): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await client.query(sql, values && [...values])
  } finally {
    await client.end()
  }
}
