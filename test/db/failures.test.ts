import { createServer } from 'node:net'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Refusal } from '../../src/base/errors.ts'
import { sqlState, toRefusal } from '../../src/db/failures.ts'
import { createPool } from '../../src/db/pool.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { startProxy } from '../harness/proxy.ts'
import { openPool } from '../harness/sql.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

/** The error of a statement, or of its connection. */
async function failureOf(url: string, sql: string, options: pg.PoolConfig = {}): Promise<unknown> {
  const pool = openPool(url, options)
  try {
    return await pool.query(sql).catch((error) => error)
  } finally {
    await pool.end()
  }
}

describe('a failure of the database', () => {
  const away: [what: string, sql: string, state: string | undefined][] = [
    ['a statement that took too long', "SET statement_timeout = '5ms'; SELECT pg_sleep(1)", '57014'],
    ['a lock that was not available', "DO $$ BEGIN RAISE EXCEPTION 'no' USING errcode = '55P03'; END $$", '55P03'],
    ['a full disk', "DO $$ BEGIN RAISE EXCEPTION 'no' USING errcode = '53100'; END $$", '53100'],
    ['a deadlock', "DO $$ BEGIN RAISE EXCEPTION 'no' USING errcode = '40P01'; END $$", '40P01'],
    ['a server that takes no writes', 'BEGIN READ ONLY; CREATE TABLE refused ()', '25006'],
    ['a session that an administrator ended', 'SELECT pg_terminate_backend(pg_backend_pid())', undefined],
  ]
  for (const [what, sql, state] of away) {
    it(`is unavailable: ${what}`, async () => {
      const error = await failureOf(database.url, sql)
      expect(sqlState(error)).toBe(state)
      expect(toRefusal(error)).toMatchObject({ kind: 'unavailable', cause: error })
    })
  }

  it('is unavailable: nothing listens', async () => {
    const server = createServer()
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address() as { port: number }
        server.close(() => resolve(port))
      })
    })
    expect(toRefusal(await failureOf(`postgres://nobody@127.0.0.1:${port}/none`, 'SELECT'))?.kind).toBe('unavailable')
  })

  it('is unavailable: an unknown name, or another error of the network', () => {
    for (const code of ['EAI_AGAIN', 'ENOTFOUND', 'ENETUNREACH', 'EHOSTUNREACH', 'ECONNRESET']) {
      expect(toRefusal(Object.assign(new Error('getaddrinfo'), { code }))?.kind).toBe('unavailable')
    }
  })

  it('is unavailable: a session that the server ended, with a message in any language', () => {
    for (const code of ['57P01', '25P03', '25P04']) {
      const error = Object.assign(new Error('сеанс завершён'), { code, severity: 'ВАЖНО' })
      expect(sqlState(error)).toBeUndefined()
      expect(toRefusal(error)?.kind).toBe('unavailable')
    }
  })

  it('is unavailable: a statement of the pool that a frozen server does not answer', async () => {
    const proxy = await startProxy(database.url)
    const pool = createPool({ url: proxy.url, connections: 1, onError: () => undefined })
    await pool.query('SELECT')
    proxy.pause()
    expect(toRefusal(await pool.query('SELECT').catch((error) => error))?.kind).toBe('unavailable')
    proxy.resume()
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await pool.end()
    await proxy.close()
  })

  it('is a bug: an invalid statement, and any error outside the database', async () => {
    const wrong = await failureOf(database.url, 'SELECT nothing FROM nowhere')
    expect(sqlState(wrong)).toBe('42P01')
    for (const error of [wrong, new TypeError('a bug'), 'text', undefined, null])
      expect(toRefusal(error)).toBeUndefined()
  })

  it('is unchanged when it is a refusal', () => {
    const refusal = new Refusal('seasonClosed')
    expect(toRefusal(refusal)).toBe(refusal)
  })
})
