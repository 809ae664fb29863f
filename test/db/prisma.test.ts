import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createProject } from '../../src/callers/projects.ts'
import { toRefusal } from '../../src/db/failures.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createPool } from '../../src/db/pool.ts'
import { createPrisma } from '../../src/db/prisma.ts'
import { createDatabase, setOnDatabase, type TestDatabase } from '../harness/database.ts'
import { startProxy } from '../harness/proxy.ts'

let database: TestDatabase
let pool: pg.Pool
beforeEach(async () => {
  database = await createDatabase()
})
afterEach(async () => {
  await pool.end()
  await database.drop()
})

const connect = (url: string) => {
  pool = createPool({ url, connections: 2, onError: () => undefined })
  return createPrisma(pool)
}

test('Prisma reads the tables in the schema in which they were created', async () => {
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query('DROP SCHEMA public CASCADE; CREATE SCHEMA "Live games"')
  await setOnDatabase(database.url, 'search_path', '"Live games"')
  await admin.end()
  const prisma = connect(database.url)
  await migrate(pool)
  await createProject(pool, { name: 'Elsewhere', environments: ['production'] })

  expect(await prisma.project.findMany({ select: { name: true } })).toEqual([{ name: 'Elsewhere' }])
})

test('a database that is unreachable at the first query is unavailable, and is read once it is back', async () => {
  const proxy = await startProxy(database.url)
  const prisma = connect(proxy.url)
  proxy.cut({ refuse: true })
  const failures = await Promise.all([1, 2].map(() => prisma.project.findMany().catch((error) => error)))
  expect(failures.map((error) => toRefusal(error)?.kind)).toEqual(['unavailable', 'unavailable'])
  proxy.restore()
  expect(await prisma.project.findMany()).toEqual([])
  await proxy.close()
})
