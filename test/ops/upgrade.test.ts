import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VERSION } from '../../src/base/version.ts'
import { COMPATIBILITY } from '../../src/db/compatibility.ts'
import { migrate } from '../../src/db/migrate.ts'
import { startCommandLine } from '../harness/command-line.ts'
import { createDatabase } from '../harness/database.ts'
import { season } from '../harness/definitions.ts'
import { type MigrationTexts, NEXT, offlineParts, ownMigrations, writeMigrations } from '../harness/next-migrations.ts'
import { createNextVersion, type NextVersion } from '../harness/next-version.ts'
import {
  post,
  type Service,
  spawnService,
  startService,
  stopService,
  type World,
  type WorldPlayer,
} from '../harness/service.ts'
import { execute, openPool } from '../harness/sql.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

const PLAYERS = 4
/** The pause of a player between two calls. */
const REST_MS = 10
const { first, online } = await ownMigrations()
const place = { scenarioId: 'season', nodeId: 'pass' }

let world: World
let next: NextVersion
/** The instances that a load balancer sends calls to. */
let instances: Service[] = []
const started: Service[] = []

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season', season({ levels: [0, 100, 200, 100_000] }))
  next = await createNextVersion(NEXT)
})
afterAll(async () => {
  for (const service of started) await stopService(service)
  await next?.remove()
  await world?.close()
})

async function start(env: Readonly<Record<string, string>> = {}, root?: string): Promise<Service> {
  const service = await startService({ ...world.env, ...env }, root)
  started.push(service)
  return service
}

/** A session that has read every table and goes on, as pg_dump does. */
async function openReader(url: string): Promise<pg.Client> {
  const reader = new pg.Client({ connectionString: url, application_name: 'pg_dump' })
  // When a test fails, its database is dropped before the session has ended.
  reader.on('error', () => undefined)
  await reader.connect()
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  const { rows } = await reader.query(
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
  )
  await reader.query(`LOCK TABLE ${rows.map(({ name }) => name).join(', ')} IN ACCESS SHARE MODE`)
  return reader
}

async function readiness({ baseUrl }: Service): Promise<{ status: number; reason?: string }> {
  const answer = await fetch(`${baseUrl}/readyz`)
  return { ...(await answer.json()), status: answer.status }
}

const isReady = async (service: Service): Promise<boolean> => (await readiness(service)).status === 200

/** Takes an instance out of the balancer's list, and ends it as an orchestrator does. */
async function replace(service: Service): Promise<void> {
  instances = instances.filter((one) => one !== service)
  service.kill('SIGTERM')
  expect(await service.exited).toEqual({ code: 0, signal: null })
}

/** Plays a game until `stop` is called. The calls go to the instances in turn. */
function play(player: WorldPlayer) {
  let isOver = false
  let count = 0
  const answers: { status: number; body: unknown }[] = []
  async function call(path: string, body: Record<string, string | number>) {
    await pause(REST_MS)
    const service = instances[count++ % instances.length] as Service
    const { status, body: answer } = await post(service, `/sdk/v1/battlepass/${path}`, player.token, {
      ...place,
      runId: player.runId,
      ...body,
    })
    answers.push({ status, body: answer })
    return answer
  }
  const played = (async () => {
    while (!isOver) {
      const { level } = await call('xp', { amount: 7, source: 'match' })
      for (const reached of [2, 3]) if (level >= reached) await call('claim', { level: reached, track: 'free' })
      await call('progress', {})
    }
  })()
  // A test that fails early does not await this promise.
  played.catch(() => undefined)
  return {
    player,
    answers,
    get calls() {
      return answers.length
    },
    async stop() {
      isOver = true
      await played
    },
  }
}

describe('an update, instance by instance (docs/operations.md, Updates)', () => {
  it('fails no call while a later version waits for a backup and says so, migrates, serves beside this one, and is rolled back', async () => {
    const before = await start()
    instances = [before]
    const games = await Promise.all(
      Array.from({ length: PLAYERS }, async () => play(await world.player('season', { gems: 1_000n }))),
    )
    /** Waits until every game has made more calls. */
    const goesOn = async () => {
      const then = games.map(({ calls }) => calls)
      await until('every game goes on', () => games.every(({ calls }, index) => calls > (then[index] ?? 0) + 20))
    }
    const reader = await openReader(world.env.DATABASE_URL)
    const after = spawnService(world.env, next.root)
    started.push(after)
    const waits = () => [...after.output.matchAll(/waits for (passes), held by (pg_dump) of role/g)]
    await until('the migration has waited twice', () => waits().length >= 2)
    await goesOn()
    expect(after.baseUrl).toBe('')
    await reader.end()
    await until('the later version is ready', () => after.baseUrl !== '')
    for (const name of Object.keys(NEXT)) expect(after.output).toContain(`migrated ${name}`)
    instances = [before, after]
    await goesOn()
    expect(await Promise.all(instances.map(isReady))).toEqual([true, true])
    await replace(before)
    await goesOn()

    const back = await start()
    expect(back.output).not.toContain('migrated')
    instances = [after, back]
    await goesOn()
    await replace(after)
    await goesOn()
    expect(await isReady(back)).toBe(true)
    for (const game of games) await game.stop()

    for (const { answers, player } of games) {
      expect(answers.filter(({ status }) => status !== 200)).toEqual([])
      const granted = answers.filter(({ body }) => 'leveledUp' in (body as object)).length
      const { body } = await post(back, '/sdk/v1/battlepass/progress', player.token, place)
      expect(body).toMatchObject({ xp: granted * 7, level: 3 })
    }
    // Each tier was paid once, and each wallet is the sum of its ledger.
    const { rows } = await world.pool.query(
      `SELECT w.balance::int, sum(l.amount)::int AS ledger FROM wallets w
       JOIN wallet_ledger l USING (environment_id, player_id, currency)
       WHERE w.currency = 'gold' GROUP BY w.environment_id, w.player_id, w.currency, w.balance`,
    )
    expect(rows).toEqual(Array.from({ length: PLAYERS }, () => ({ balance: 50, ledger: 50 })))
  })

  it('waits for `npx tierway migrate` with MIGRATE_ON_START=false, and is then ready without a restart', async () => {
    const behind = await createDatabase()
    const env = { ...world.env, DATABASE_URL: behind.url }
    try {
      const service = await start({ ...env, MIGRATE_ON_START: 'false' }, next.root)
      expect(await readiness(service)).toEqual({
        status: 503,
        reason: 'migrations are pending: run `npx tierway migrate`',
      })
      const migrations = [1, 2].map(() => startCommandLine(['migrate'], env, next.root))
      expect(await Promise.all(migrations.map(({ exited }) => exited))).toEqual([
        [0, null],
        [0, null],
      ])
      expect(migrations.map(({ output }) => output.out).join('')).toContain(Object.keys(NEXT)[0])
      await until('it is ready', () => isReady(service))
      await stopService(service)
    } finally {
      await behind.drop()
    }
  })
})

/** It does not start, whether it would migrate or not, nor migrate. */
async function expectRefused(env: Readonly<Record<string, string>>, reason: string): Promise<void> {
  for (const MIGRATE_ON_START of ['true', 'false']) {
    const refused = spawnService({ ...env, MIGRATE_ON_START })
    expect(await refused.exited).toEqual({ code: 1, signal: null })
    const last = refused.output.trim().split('\n').at(-1) ?? ''
    expect(JSON.parse(last).msg).toBe(`Tierway could not start: ${reason}`)
  }
  const { exited, output } = startCommandLine(['migrate'], env)
  expect([await exited, output]).toEqual([[1, null], { out: '', error: `${reason}\n` }])
}

describe('a version that must not run on the database (docs/operations.md, Rolling back)', () => {
  it('is not ready in words once a later version has migrated, does not start, and does not migrate', async () => {
    const changed = await createDatabase()
    const env = { ...world.env, DATABASE_URL: changed.url }
    const raised = `INSERT INTO "compatibility" VALUES (${COMPATIBILITY + 1}, '9.1.0');`
    const later = await createNextVersion({ ...NEXT, '20991231000700_raised': raised }, COMPATIBILITY + 1)
    try {
      const running = await start(env)
      expect(await readiness(running)).toEqual({ status: 200 })
      const beside = await start(env, later.root)
      expect(await readiness(beside)).toEqual({ status: 200 })
      const reason = `this is Tierway ${VERSION}, and the database needs 9.1.0 or later: start that version, or restore a backup from before the update`
      expect(await readiness(running)).toEqual({ status: 503, reason })
      await until('the log says so', () =>
        running.output.includes('not ready: a later version has changed the database'),
      )
      await expectRefused(env, reason)
      await stopService(beside)
    } finally {
      await changed.drop()
      await later.remove()
    }
  })

  it('refuses the database of a build before 0.2.0 in one sentence, at its start and as it migrates', async () => {
    const old = await createDatabase()
    const env = { ...world.env, DATABASE_URL: old.url }
    try {
      await execute(old.url, "UPDATE _prisma_migrations SET migration_name = '20261121000000_init'")
      const reason =
        'the database was made by a build before 0.2.0, and no version can migrate it: set DATABASE_URL to an empty one'
      await expectRefused(env, reason)
    } finally {
      await old.drop()
    }
  })

  it('says that migrations are pending before it says that it must not run', async () => {
    const changed = await createDatabase()
    const env = { ...world.env, DATABASE_URL: changed.url }
    try {
      const running = await start(env)
      await execute(
        changed.url,
        `INSERT INTO compatibility VALUES (${COMPATIBILITY + 1}, '9.1.0'); DELETE FROM _prisma_migrations`,
      )
      expect(await readiness(running)).toEqual({
        status: 503,
        reason: 'migrations are pending: run `npx tierway migrate`',
      })
      expect(running.output).not.toContain('a later version has changed the database')
    } finally {
      await changed.drop()
    }
  })
})

const WRITES_EVERY_MS = 50

/** Applies migrations to the first schema, one by one, each beside a backup that ends once it was waited for. */
async function updateBehindBackups(migrations: MigrationTexts): Promise<void> {
  const { url, drop } = await createDatabase()
  const pool = openPool(url)
  const folder = await mkdtemp(join(tmpdir(), 'tierway-online-'))
  let reader: pg.Client | undefined
  const apply = async (name: string, sql: string, onWait?: () => void): Promise<string[]> => {
    const directory = join(folder, name)
    await writeMigrations(directory, { [name]: sql })
    return migrate(url, { directory, ...(onWait && { onWait }) })
  }
  try {
    await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    for (const [name, sql] of Object.entries(first)) await apply(name, sql)
    for (const [name, sql] of Object.entries(migrations)) {
      const tables = await pool.query(
        "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'",
      )
      // Writes need the same lock of a table whatever they write: these change no row.
      const writes = tables.rows.map(({ name: table }) => `DELETE FROM ${table} WHERE false; COMMIT; BEGIN;`).join(' ')
      let isOver = false
      const write = async (): Promise<void> => {
        while (!isOver) {
          await pool.query(`SET lock_timeout = '2s'; BEGIN; ${writes} COMMIT`)
          await pause(WRITES_EVERY_MS)
        }
      }
      const load = write().catch((cause) => {
        throw new Error(`${name} keeps a write waiting`, { cause })
      })
      // A failure is reported once the migration has ended.
      load.catch(() => undefined)
      const backup = await openReader(url)
      reader = backup
      expect(await apply(name, sql, () => void backup.end())).toEqual([name])
      await backup.end()
      isOver = true
      await load
    }
  } finally {
    await reader?.end().catch(() => undefined)
    await pool.end()
    await drop()
    await rm(folder, { recursive: true })
  }
}

describe('migrations after the first one, and made-up ones', () => {
  it('each keep no write waiting for two seconds behind a backup', () => updateBehindBackups({ ...online, ...NEXT }))

  it('fail this check when they hold a lock for longer', async () => {
    const slow = { '20991231000000_slow': 'ALTER TABLE "passes" ADD COLUMN "streak" INTEGER; SELECT pg_sleep(3);' }
    await expect(updateBehindBackups(slow)).rejects.toThrow('20991231000000_slow keeps a write waiting')
  })

  it.each(Object.entries({ ...online, ...NEXT }))(
    'change at most one table that existed before, build its indexes concurrently, and take nothing away: %s',
    (_name, sql) => {
      expect(offlineParts(sql)).toEqual([])
    },
  )

  it.each([
    ['CREATE INDEX "passes_xp_idx" ON "passes" ("xp");', ['builds an index that blocks writes of passes']],
    [
      'ALTER TABLE "passes" ADD COLUMN "a" INTEGER; CREATE TABLE "b" ("id" UUID REFERENCES "players" ("id"));',
      ['changes several tables: passes, players'],
    ],
    ['ALTER TABLE "passes" DROP COLUMN "xp";', ['takes away what earlier releases use: DROP COLUMN']],
    ['ALTER TABLE "passes" RENAME TO "p";', ['takes away what earlier releases use: RENAME']],
    ['DROP TABLE "passes";', ['takes away what earlier releases use: DROP TABLE']],
  ])('fail this check otherwise: %s', (sql, parts) => {
    expect(offlineParts(sql)).toEqual(parts)
  })
})
