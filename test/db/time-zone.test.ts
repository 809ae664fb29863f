import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { createPool } from '../../src/db/pool.ts'
import { createDatabase, setOnDatabase, type TestDatabase } from '../harness/database.ts'
import { type Instance, startInstance } from '../harness/game.ts'

// A server's Postgres, or an embedded one on a laptop, can have a local time zone.

/** Sets the time zone for a database, and returns the URL to connect with. */
type Setting = (url: string) => Promise<string>

const byDatabase: Setting = async (url) => {
  await setOnDatabase(url, 'timezone', "'America/New_York'")
  return url
}

const byUrl: Setting = async (url) => {
  const target = new URL(url)
  target.searchParams.set('options', '-c timezone=Asia/Kolkata -c work_mem=7MB')
  return target.href
}

describe.each([
  ['by its configuration', byDatabase],
  ['by DATABASE_URL', byUrl],
])('on a Postgres whose time zone is set %s', (_how, set) => {
  let database: TestDatabase
  let instance: Instance
  let key: string
  beforeAll(async () => {
    database = await createDatabase()
    instance = await startInstance(await set(database.url), {})
    const { projectId } = await createProject(instance.app.pool, { name: 'Far away', environments: ['production'] })
    key = (await createPlatformKey(instance.app.pool, projectId, 'admin')).key
  })
  afterAll(async () => {
    await instance?.stop()
    await database?.drop()
  })

  async function ask(query: string, variables: Record<string, unknown> = {}) {
    const response = await fetch(`${instance.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = await response.json()
    expect(errors).toBeUndefined()
    return data
  }

  it('times are shown and searched for correctly', async () => {
    const before = Date.now()
    await ask(`mutation { createEnvironment(input: { name: "staging", reason: "a test" }) { environment { id } } }`)
    const after = Date.now()
    const from = new Date(before - 1_000).toISOString()
    const to = new Date(after + 1_000).toISOString()
    const { environments, auditLog } = await ask(
      `query ($from: DateTime!, $to: DateTime!) {
        environments { name createdAt }
        auditLog(from: $from, to: $to, action: "environment.create") { edges { node { target occurredAt } } }
      }`,
      { from, to },
    )
    expect(auditLog.edges).toHaveLength(1)
    const staging = environments.find(({ name }: { name: string }) => name === 'staging')
    for (const moment of [staging.createdAt, auditLog.edges[0].node.occurredAt]) {
      // Postgres and the test have clocks of one machine, read to the microsecond and the millisecond.
      expect(Date.parse(moment)).toBeGreaterThanOrEqual(before - 1)
      expect(Date.parse(moment)).toBeLessThanOrEqual(after + 1)
    }
  })
})

it('a pool keeps the other settings of DATABASE_URL', async () => {
  const database = await createDatabase()
  const pool = createPool({ url: await byUrl(database.url), connections: 1, onError: () => undefined })
  try {
    const { rows } = await pool.query(
      `SELECT current_setting('work_mem') AS memory, current_setting('plan_cache_mode') AS plans`,
    )
    expect(rows).toEqual([{ memory: '7MB', plans: 'force_generic_plan' }])
  } finally {
    await pool.end()
    await database.drop()
  }
})
