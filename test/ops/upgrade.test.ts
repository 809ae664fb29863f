import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
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

/** Changes that a later release can make to tables that this one reads and writes all the time. */
const SQL = `
ALTER TABLE "passes" ADD COLUMN "streak" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "players" ADD COLUMN "clan" TEXT;
ALTER TABLE "wallets" ADD COLUMN "held" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "streams" ADD COLUMN "shard" INTEGER;
CREATE INDEX "players_clan_idx" ON "players" ("environment_id", "clan");
CREATE TABLE "clans" ("environment_id" UUID NOT NULL, "name" TEXT NOT NULL, PRIMARY KEY ("environment_id", "name"));
`
const PLAYERS = 4
const DIRECTORY = new URL('../../prisma/migrations/', import.meta.url)
const names = (await readdir(DIRECTORY)).filter((name) => !name.endsWith('.toml'))
const sqlOf = (name: string): Promise<string> => readFile(new URL(`${name}/migration.sql`, DIRECTORY), 'utf8')
const place = { scenarioId: 'season', nodeId: 'pass' }

let world: World
let next: NextVersion
/** The instances that a load balancer sends calls to. */
let instances: Service[] = []
const started: Service[] = []

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season', season({ levels: [0, 100, 200, 100_000] }))
  next = await createNextVersion(SQL)
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
  it('fails no call while a later version migrates, serves beside this one, and is rolled back', async () => {
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
    await goesOn()

    const after = await start({}, next.root)
    expect(after.output).toContain(`migrated ${next.migration}`)
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
    const later = await createNextVersion('CREATE TABLE "guilds" ("id" UUID PRIMARY KEY);')
    try {
      await world.pool.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [later.migration])
      const service = await start({ MIGRATE_ON_START: 'false' }, later.root)
      expect(await readiness(service)).toEqual({
        status: 503,
        reason: 'migrations are pending: run `npx tierway migrate`',
      })
      const migrations = [1, 2].map(() => startCommandLine(['migrate'], world.env, later.root))
      expect(await Promise.all(migrations.map(({ exited }) => exited))).toEqual([
        [0, null],
        [0, null],
      ])
      expect(migrations.map(({ output }) => output.out).join('')).toContain(later.migration)
      await until('it is ready', () => isReady(service))
      await stopService(service)
    } finally {
      await later.remove()
    }
  })
})

describe('a version that must not run on the database (docs/operations.md, Rolling back)', () => {
  it('is not ready in words while it runs, does not start, and does not migrate', async () => {
    const changed = await createDatabase()
    const env = { ...world.env, DATABASE_URL: changed.url }
    try {
      const running = await start(env)
      expect(await readiness(running)).toEqual({ status: 200 })
      await execute(changed.url, `INSERT INTO compatibility VALUES (${COMPATIBILITY + 1}, '9.1.0')`)
      const reason = `this is Tierway ${VERSION}, and the database needs 9.1.0 or later: start that version, or restore a backup from before the update`
      expect(await readiness(running)).toEqual({ status: 503, reason })
      await until('the log says so', () =>
        running.output.includes('not ready: a later version has changed the database'),
      )

      for (const MIGRATE_ON_START of ['true', 'false']) {
        const refused = spawnService({ ...env, MIGRATE_ON_START })
        expect(await refused.exited).toEqual({ code: 1, signal: null })
        const last = refused.output.trim().split('\n').at(-1) ?? ''
        expect(JSON.parse(last).msg).toBe(`Tierway could not start: ${reason}`)
      }
      const { exited, output } = startCommandLine(['migrate'], env)
      expect([await exited, output]).toEqual([[1, null], { out: '', error: `${reason}\n` }])
    } finally {
      await changed.drop()
    }
  })
})

/** A session that has read every table and goes on, as pg_dump does. */
async function openReader(url: string): Promise<pg.Client> {
  const reader = new pg.Client({ connectionString: url, application_name: 'pg_dump' })
  await reader.connect()
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  const { rows } = await reader.query(
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
  )
  await reader.query(`LOCK TABLE ${rows.map(({ name }) => name).join(', ')} IN ACCESS SHARE MODE`)
  return reader
}

describe('an update while a backup reads every table', () => {
  it('fails no call: the new version waits, says for whom, and is ready once the backup has ended', async () => {
    const changing = await createNextVersion(`ALTER TABLE "passes" ADD COLUMN "shield" INTEGER NOT NULL DEFAULT 0;`)
    const index = join(changing.root, 'prisma/migrations/20991231000001_index')
    await mkdir(index)
    await writeFile(
      join(index, 'migration.sql'),
      `-- Runs outside a transaction.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "passes_shield_idx" ON "passes" ("environment_id", "shield");
`,
    )
    await world.pool.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [changing.migration])
    const before = await start()
    instances = [before]
    const game = play(await world.player('season'))
    const reader = await openReader(world.env.DATABASE_URL)
    try {
      const after = spawnService(world.env, changing.root)
      started.push(after)
      const waits = () => [...after.output.matchAll(/waits for (passes), held by (pg_dump) of role/g)]
      await until('the migration has waited twice', () => waits().length >= 2, { deadlineMs: 30_000 })
      const { calls } = game
      await until('the game goes on', () => game.calls > calls + 20)
      expect(after.baseUrl).toBe('')
      await reader.end()
      await until('the new version is ready', () => after.baseUrl !== '', { deadlineMs: 60_000 })
      instances = [before, after]
      await until('the game goes on beside it', () => game.calls > calls + 60)
      await game.stop()
      expect(game.answers.filter(({ status }) => status !== 200)).toEqual([])
      await stopService(after)
    } finally {
      await reader.end().catch(() => undefined)
      await changing.remove()
    }
  })
})

/** Several databases are written at once, on one machine. */
const WRITES_EVERY_MS = 20

/** The migrations that are written for an update without a stop. */
const isOnline = (name: string): boolean => name >= '20261125'

describe('migrations', () => {
  // Each waits most of its time, for a lock that a backup holds.
  it.concurrent.each(names.filter(isOnline))(
    '%s keeps no write waiting for two seconds behind a backup',
    async (name) => {
      const { url, drop } = await createDatabase()
      const directory = await mkdtemp(join(tmpdir(), 'tierway-online-'))
      const pool = openPool(url)
      let reader: pg.Client | undefined
      let isOver = false
      try {
        await execute(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public')
        for (const earlier of names.filter((one) => one < name))
          await cp(new URL(earlier, DIRECTORY), join(directory, earlier), { recursive: true })
        await migrate(pool, { directory })
        const tables = await pool.query(
          "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'",
        )
        // Writes need the same lock of a table whatever they write: these change no row.
        const writes = tables.rows
          .map(({ name: table }) => `DELETE FROM ${table} WHERE false; COMMIT; BEGIN;`)
          .join(' ')
        async function write(): Promise<void> {
          while (!isOver) {
            await pool.query(`SET lock_timeout = '2s'; BEGIN; ${writes} COMMIT`)
            await pause(WRITES_EVERY_MS)
          }
        }
        const load = write()
        reader = await openReader(url)
        await cp(new URL(name, DIRECTORY), join(directory, name), { recursive: true })
        const onWait = () => void reader?.end()
        expect(await migrate(pool, { directory, onWait })).toEqual([name])
        isOver = true
        await load
      } finally {
        isOver = true
        await reader?.end().catch(() => undefined)
        await pool.end()
        await drop()
        await rm(directory, { recursive: true })
      }
    },
  )

  it('change at most one table each that existed before, and build its indexes concurrently', async () => {
    for (const name of names.filter(isOnline)) {
      const sql = (await sqlOf(name)).replace(/--.*$/gm, '')
      const made = new Set([...sql.matchAll(/CREATE TABLE "(\w+)"/g)].map(([, table]) => table))
      const named = (pattern: RegExp) =>
        [...sql.matchAll(pattern)].flatMap(([, table]) => (made.has(table) ? [] : [table]))
      const blocking = named(/CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)[^;]*? ON "(\w+)"/g)
      const changed = new Set(named(/(?:ALTER TABLE|CREATE TRIGGER [^;]*? ON|REFERENCES) "(\w+)"/g))
      expect([name, blocking, changed.size <= 1]).toEqual([name, [], true])
    }
  })

  it('drop and rename no table and no column, so that earlier versions keep working', async () => {
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) {
      const sql = await sqlOf(name)
      // Its function renames a table and gives the name to the parent that the table gets (test/db/partitioning.test.ts).
      if (name.endsWith('_time_partitions')) continue
      expect([name, /\b(DROP\s+(TABLE|COLUMN)|RENAME\s)/i.exec(sql.replace(/--.*$/gm, ''))?.[0]]).toEqual([
        name,
        undefined,
      ])
    }
  })
})
