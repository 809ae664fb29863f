import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { type PostgresProxy, startProxy } from '../harness/proxy.ts'

// Other tests rely on this behaviour of the proxy that fails on demand.

let database: TestDatabase
let direct: pg.Client
let proxy: PostgresProxy
let client: pg.Client

beforeAll(async () => {
  database = await createDatabase()
  direct = new pg.Client({ connectionString: database.url })
  await direct.connect()
  await direct.query('CREATE TABLE notes (text text)')
})
afterEach(async () => {
  await client.end().catch(() => undefined)
  await proxy.close()
  await direct.query('TRUNCATE notes')
})
afterAll(async () => {
  await direct?.end()
  await database?.drop()
})

async function connect(options: Parameters<typeof startProxy>[1] = {}): Promise<void> {
  proxy = await startProxy(database.url, options)
  client = new pg.Client({ connectionString: proxy.url })
  // Here connections break on purpose.
  client.on('error', () => undefined)
  await client.connect()
}

const notes = async () => (await direct.query('SELECT text FROM notes ORDER BY text')).rows.map(({ text }) => text)
const write = (text: string) => client.query({ name: 'write', text: 'INSERT INTO notes VALUES ($1)', values: [text] })

describe('the proxy to Postgres', () => {
  it('swallows the answer to a write of one statement, and the write is durable', async () => {
    await connect()
    await write('before')
    proxy.swallowWrites(1)
    await client.query('SELECT text FROM notes FOR UPDATE')
    await expect(write('swallowed')).rejects.toThrow()
    expect(await notes()).toEqual(['before', 'swallowed'])
    expect(proxy.swallowed).toBe(1)
  })

  it('swallows the answer to the COMMIT of a transaction that wrote', async () => {
    await connect()
    proxy.swallowWrites(1)
    await client.query('BEGIN')
    await client.query('SELECT 1')
    await client.query('COMMIT')
    await client.query('BEGIN')
    await write('swallowed')
    expect(await notes()).toEqual([])
    await expect(client.query('COMMIT')).rejects.toThrow()
    expect(await notes()).toEqual(['swallowed'])
  })

  it.each(['sent', 'answered'] as const)('cuts a connection after a number of bytes were %s', async (direction) => {
    await connect()
    proxy.cutAfter(40, direction)
    await expect(client.query(`SELECT '${'x'.repeat(100)}'`)).rejects.toThrow()
    expect([...proxy.broken]).toHaveLength(1)
  })

  it('changes a text in statements that are prepared or sent as text, and nowhere else', async () => {
    await connect({ saboteur: { find: 'one', by: 'two', within: 'AS a' } })
    const { rows } = await client.query({ name: 'read', text: `SELECT 'one' AS a, $1 AS b`, values: ['one'] })
    expect(rows).toEqual([{ a: 'two', b: 'one' }])
    expect((await client.query(`SELECT 'one and one' AS a`)).rows).toEqual([{ a: 'two and two' }])
    expect((await client.query(`SELECT 'one' AS b`)).rows).toEqual([{ b: 'one' }])
    expect(proxy.sabotaged).toBe(3)
    await expect(startProxy(database.url, { saboteur: { find: 'one', by: 'three' } })).rejects.toThrow('length')
  })
})
