import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { removeAbandoned, removeDataDir } from './data-dir.ts'
import { execute } from './sql.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: {
      /** The URL of a superuser, who can create databases. */
      readonly url: string
      /** The migrated database that every test database is a copy of. */
      readonly template: string
    }
  }
}

// The data of tests does not have to survive a crash.
const SETTINGS = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=450',
  'shared_buffers=128MB',
  // Commit timestamps give the order of the writes.
  'track_commit_timestamp=on',
]
const PREFIX = 'tierway-test-'
const MEMORY = '/dev/shm'
const MIN_FREE_BYTES = 4 * 2 ** 30

/** One Postgres for the whole run: a fresh one, or the one at `TEST_DATABASE_URL`, whose user must be a superuser. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = process.env.TEST_DATABASE_URL ? foreignServer(process.env.TEST_DATABASE_URL) : await ownServer()
  const template = `tierway_template_${randomBytes(6).toString('hex')}`
  const teardown = async () => {
    try {
      await execute(server.url, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`)
    } finally {
      await server.stop()
    }
  }
  try {
    await execute(server.url, `CREATE DATABASE ${template}`)
    const url = new URL(server.url)
    url.pathname = `/${template}`
    await migrate(url.href)
  } catch (error) {
    await teardown()
    throw error
  }
  provide('postgres', { url: server.url, template })
  return teardown
}

interface Server {
  readonly url: string
  stop(): Promise<void>
}

const foreignServer = (url: string): Server => ({ url, stop: async () => {} })

async function ownServer(): Promise<Server> {
  const parent = await findParent()
  await removeAbandoned(parent, PREFIX)
  const dataDir = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`))
  // Under root, Postgres runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o711)
  const { url, stop } = await startEmbeddedPostgres({ dataDir, settings: SETTINGS })
  const admin = new URL(url)
  admin.pathname = '/postgres'
  // Otherwise each of the suite's thousands of connections would hash the password 4,096 times.
  await execute(admin.href, `SET scram_iterations = 1; ALTER ROLE CURRENT_USER PASSWORD '${admin.password}'`)
  return {
    url: admin.href,
    stop: async () => {
      await stop()
      await removeDataDir(dataDir)
    },
  }
}

/**
 * A folder in memory, when there is enough: each test database has some 1,300 files, which can take thirty times as
 * long to create on a disk.
 */
async function findParent(): Promise<string> {
  if (process.platform !== 'linux' || process.env.TMPDIR) return tmpdir()
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return free >= MIN_FREE_BYTES ? MEMORY : tmpdir()
}
