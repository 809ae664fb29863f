import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type pg from 'pg'
import { openClient } from './pool.ts'

const ROWS = 2_000

/**
 * Runs `work` with a connection of its own and without limits of time, unless another instance is at the archive of this
 * table. Returns false then. The end of the connection ends its turn.
 */
export async function withArchive(
  pool: pg.Pool,
  table: string,
  work: (client: pg.ClientBase) => Promise<void>,
): Promise<boolean> {
  const client = await openClient({ ...pool.options, query_timeout: 0 })
  try {
    await client.query(
      "SELECT set_config('statement_timeout', '0', false), set_config('idle_in_transaction_session_timeout', '0', false)",
    )
    const { rows } = await client.query<{ isTaken: boolean }>(
      `SELECT pg_try_advisory_lock(hashtextextended('archive of ' || $1, 0)) AS "isTaken"`,
      [table],
    )
    if (!rows[0]?.isTaken) return false
    await work(client)
    return true
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Writes all rows of a table to `<directory>/<name>.ndjson.gz`: one JSON object a line, with integers of 64 bits as they
 * are. The file has its name once all of it is on the disk; what an interrupted run left is written again. Returns the
 * number of rows.
 */
export async function writeArchive(client: pg.ClientBase, name: string, directory: string): Promise<number> {
  await mkdir(directory, { recursive: true })
  const file = join(directory, `${name}.ndjson.gz`)
  const partial = `${file}.${process.pid}.partial`
  let count = 0
  async function* lines(): AsyncGenerator<string> {
    for (;;) {
      const { rows } = await client.query<{ line: string }>(`FETCH ${ROWS} FROM archived`)
      if (rows.length === 0) return
      count += rows.length
      yield `${rows.map(({ line }) => line).join('\n')}\n`
    }
  }
  const handle = await open(partial, 'w', 0o600)
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await client.query(
      `DECLARE archived NO SCROLL CURSOR FOR SELECT row_to_json(t)::text AS line FROM ONLY ${name} AS t`,
    )
    await pipeline(Readable.from(lines()), createGzip(), async (compressed: AsyncIterable<Buffer>) => {
      for await (const chunk of compressed) await handle.writeFile(chunk)
    })
    await client.query('COMMIT')
    await handle.sync()
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  } finally {
    await handle.close()
  }
  await rename(partial, file)
  const folder = await open(directory)
  await folder.sync().finally(() => folder.close())
  return count
}
