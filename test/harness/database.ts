import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { execute } from './sql.ts'

const ATTEMPTS = 50
const BACKOFF_MS = 20
/** object_in_use: a session, often autovacuum, is connected to the template. */
const IN_USE = '55006'

export interface TestDatabase {
  readonly url: string
  /** Ends the remaining sessions and removes the database. */
  drop(): Promise<void>
}

/** Creates a database for one test: a migrated one, or an empty one of `template0`. */
export async function createDatabase(template = inject('postgres').template): Promise<TestDatabase> {
  const { url: admin } = inject('postgres')
  const name = `tierway_test_${randomBytes(8).toString('hex')}`
  await persist(admin, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  const url = new URL(admin)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => persist(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** Changes a setting of a database for later sessions. */
export async function setOnDatabase(url: string, name: string, value: string): Promise<void> {
  const database = pg.escapeIdentifier(new URL(url).pathname.slice(1))
  await persist(url, `ALTER DATABASE ${database} SET ${name} = ${value}`)
}

/** Retries while a session is connected to the template. */
async function persist(url: string, sql: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await execute(url, sql)
      return
    } catch (error) {
      if ((error as { code?: string }).code !== IN_USE || attempt === ATTEMPTS) throw error
      await new Promise((resolve) => setTimeout(resolve, BACKOFF_MS * Math.random() * Math.min(attempt, 10)))
    }
  }
}
