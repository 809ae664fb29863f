import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
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
 * Writes all rows of a table to `<directory>/<name>.<database>.ndjson.gz`: one JSON object a line, with integers of 64
 * bits as they are. `<database>` differs between databases, so that several can have one folder. The file has its name
 * once all of it is on the disk; what an interrupted run left is removed, and written again. A table without rows has no
 * file. Returns the number of rows.
 */
export async function writeArchive(client: pg.ClientBase, name: string, directory: string): Promise<number> {
  await mkdir(directory, { recursive: true })
  const begin = `${name}.${await databaseId(client)}.ndjson.gz`
  for (const left of await readdir(directory))
    if (left.startsWith(`${begin}.`) && left.endsWith('.partial')) await rm(join(directory, left), { force: true })
  const file = join(directory, begin)
  const partial = `${file}.${randomUUID()}.partial`
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
  if (count === 0) {
    await rm(partial)
    return 0
  }
  await rename(partial, file)
  const folder = await open(directory)
  await folder.sync().finally(() => folder.close())
  return count
}

/** Eight characters that name a database among those of all servers. A copy of it has others. */
async function databaseId(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT left(md5(c.system_identifier || '/' || d.oid), 8) AS id
     FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()`,
  )
  return rows[0]?.id ?? 'unknown'
}
