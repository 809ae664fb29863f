import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyInto, copyLine } from '../../src/dev/copy.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('CREATE TABLE copied (n int, flag boolean, big bigint, text text)')
})
afterAll(async () => {
  await client?.end()
  await database?.drop()
})

describe('copied rows', () => {
  test('arrive unchanged, with any text', async () => {
    const texts = [
      '',
      '\\N',
      'a\tb',
      'a\nb',
      'a\r\nb',
      '\\',
      '\\\\t',
      "'; DROP",
      '{"a":"\\u0041\\n"}',
      'さくら 🦊',
      '\\.',
      null,
    ]
    const rows = texts.map((text, n) => ({ n, flag: n % 2 === 0, big: 9_223_372_036_854_775_807n - BigInt(n), text }))
    const lines = rows.map(({ n, flag, big, text }) => copyLine([n, flag, big, text]))
    await copyInto(client, 'copied', 'n, flag, big, text', lines)
    const { rows: found } = await client.query('SELECT n, flag, big, text FROM copied ORDER BY n')
    expect(found).toEqual(rows.map((row) => ({ ...row, big: String(row.big) })))
  })

  test('all arrive when they are many, and an empty list sends no statement', async () => {
    await client.query('TRUNCATE copied')
    const many = Array.from({ length: 25_001 }, (_, n) => copyLine([n, true, n, `row ${n}`]))
    await copyInto(client, 'copied', 'n, flag, big, text', many)
    await copyInto(client, 'copied', 'n, flag, big, text', [])
    await copyInto(client, 'no_such_table', 'n', [])
    const { rows } = await client.query('SELECT count(*)::int AS count, sum(n)::int AS sum FROM copied')
    expect(rows).toEqual([{ count: 25_001, sum: (25_000 * 25_001) / 2 }])
  })

  test('are all refused with the cause when one is wrong, and the connection stays usable', async () => {
    await client.query('TRUNCATE copied')
    const bad = [copyLine([1, true, 1, 'good']), copyLine(['not a number', true, 1, 'bad'])]
    await expect(copyInto(client, 'copied', 'n, flag, big, text', bad)).rejects.toThrow(/invalid input syntax/)
    await expect(copyInto(client, 'no_such_table', 'n', ['1'])).rejects.toThrow(/no_such_table/)
    const { rows } = await client.query('SELECT count(*)::int AS count FROM copied')
    expect(rows).toEqual([{ count: 0 }])
  })
})
