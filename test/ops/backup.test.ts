import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { migrate } from '../../src/db/migrate.ts'
import { graphql } from '../events/fleet.ts'
import { auditBooks } from '../harness/audit.ts'
import { passNode, scenario } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { Random } from '../harness/linearizability/random.ts'
import { type PageShell, startPageShell } from '../harness/page-shell.ts'
import { atScale } from '../harness/scale.ts'
import { SEED } from '../harness/seed.ts'
import {
  buildService,
  createWorld,
  post,
  type Service,
  startService,
  stopService,
  type World,
} from '../harness/service.ts'
import { execute } from '../harness/sql.ts'
import { type SystemPostgres, startSystemPostgres, withoutSystemPostgres } from '../harness/system-postgres.ts'

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## Backup and restore'), page.indexOf('## Rotating keys'))
const [backUp = '', restore = ''] = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands)

const MIGRATIONS = new URL('../../prisma/migrations/', import.meta.url)
const migrations = readdirSync(MIGRATIONS).filter((name) => !name.endsWith('.toml'))
const withFunctions = migrations.filter((name) =>
  readFileSync(new URL(`${name}/migration.sql`, MIGRATIONS), 'utf8').includes('FUNCTION'),
)
/**
 * The first schema, the last one, and some of those that bring functions: a dump can hold those in an order that fails.
 * Each costs seconds, and all but the newest have been restored by earlier versions.
 */
const restored = new Set([
  migrations[0],
  ...new Random(SEED).shuffled(withFunctions).slice(0, atScale(withFunctions.length, 1)),
  withFunctions.at(-1),
  migrations.at(-1),
])
const ID = '00000000-0000-7000-8000-000000000001'

const EVENTS = `query ($after: String) {
  events(environment: "production", first: 50, after: $after) { edges { cursor } } }`

// Replaces Docker: its containers are a Postgres and a service that the test runs.
const DOCKER = `case "$*" in
  'compose stop tierway' | 'compose start tierway') ;;
  'compose exec -T postgres '*) shift 4; tool=$1; shift; exec "$PG_BIN/$tool" -h 127.0.0.1 -p "$PG_PORT" "$@" ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac`

describe.skipIf(withoutSystemPostgres !== '')(
  `${withoutSystemPostgres}backup and restore by the commands of docs/operations.md`,
  () => {
    let postgres: SystemPostgres
    let world: World
    let shell: PageShell
    let service: Service | undefined
    beforeAll(async () => {
      await buildService()
      postgres = await startSystemPostgres('tierway')
      world = await createWorld(postgres.url)
      shell = await startPageShell({ programs: { docker: DOCKER } })
    })
    afterAll(async () => {
      await stopService(service)
      await shell?.close()
      await world?.close()
      await postgres?.stop()
    })

    it('bring back the books as of the backup, expire later cursors, and let the game go on', async () => {
      await world.publish('climb', scenario([passNode('pass', { levels: times(100, (xp) => xp), tiers: [] })], []))
      service = await startService(world.env)
      const player = await world.player('climb')
      const { rows } = await world.pool.query<{ project_id: string }>('SELECT project_id FROM environments')
      const { key } = await createPlatformKey(world.pool, rows[0]?.project_id ?? '', 'admin')
      const climb = async (count: number) => {
        for (const _ of times(count, String)) {
          const call = { scenarioId: 'climb', nodeId: 'pass', runId: player.runId, amount: 1, source: 'backup' }
          expect((await post(service as Service, '/sdk/v1/battlepass/xp', player.token, call)).status).toBe(200)
        }
      }
      const level = async () => {
        const call = { scenarioId: 'climb', nodeId: 'pass' }
        return (await post(service as Service, '/sdk/v1/battlepass/progress', player.token, call)).body.level
      }
      const ask = (query: string, variables = {}) => graphql(service as Service, key, query, variables)
      const cursor = async () => (await ask('{ streamCursor(environment: "production") }')).data.streamCursor as string
      const eventsAfter = async (after: string) => {
        const { data, errors } = await ask(EVENTS, { after })
        return errors ? errors[0]?.extensions.code : data.events.edges.length
      }
      const tools = { PG_BIN: postgres.bin, PG_PORT: String(postgres.port) }

      await climb(5)
      const kept = await cursor()
      await shell.run(backUp, tools)
      const levelBefore = await level()
      await climb(4)
      const lost = await cursor()
      expect(await level()).toBe(levelBefore + 4)

      await stopService(service)
      await shell.run(restore, tools)
      service = await startService(world.env)
      expect(await level()).toBe(levelBefore)
      await climb(4)
      expect([await eventsAfter(kept), await eventsAfter(lost)]).toEqual([4, 'CURSOR_EXPIRED'])
      await auditBooks(world.pool)
      // It would connect again while the next test puts another database in the place of this one.
      await stopService(service)
    })

    it('bring back the data of a dump from an earlier schema, which the start then migrates', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'tierway-restore-'))
      const tools = { PG_BIN: postgres.bin, PG_PORT: String(postgres.port) }
      const url = postgres.url
      const admin = new URL(url)
      admin.pathname = '/postgres'
      try {
        for (const migration of migrations) {
          await cp(new URL(migration, MIGRATIONS), join(directory, migration), { recursive: true })
          if (!restored.has(migration)) continue
          await execute(admin.href, 'DROP DATABASE IF EXISTS tierway WITH (FORCE)')
          // Two of these restores may fall into one second.
          const { rows: replaced } = await execute(
            admin.href,
            "SELECT datname FROM pg_database WHERE datname LIKE 'tierway\\_2%'",
          )
          for (const { datname } of replaced) await execute(admin.href, `DROP DATABASE ${datname} WITH (FORCE)`)
          await execute(admin.href, 'CREATE DATABASE tierway')
          await migrate(url, { directory })
          await execute(
            url,
            `INSERT INTO projects (id, name) VALUES ('${ID}', 'Old');
             INSERT INTO environments (id, project_id, name) VALUES ('${ID}', '${ID}', 'production');
             INSERT INTO players (environment_id, id, nickname) VALUES ('${ID}', '${ID}', 'Éva')`,
          )
          await shell.run(backUp, tools)
          // The update, after which the dump is restored.
          await migrate(url)
          await execute(url, "UPDATE players SET nickname = 'later'")
          await shell.run(restore, tools)
          await migrate(url)
          const { rows } = await execute(url, 'SELECT nickname, fold_name(nickname) AS folded FROM players')
          expect([migration, rows]).toEqual([migration, [{ nickname: 'Éva', folded: 'éva' }]])
        }
      } finally {
        await rm(directory, { recursive: true })
      }
    })

    it('leave the database as it is when the dump cannot be restored', async () => {
      const tools = { PG_BIN: postgres.bin, PG_PORT: String(postgres.port) }
      await migrate(postgres.url)
      const before = (await execute(postgres.url, 'SELECT count(*)::int AS players FROM players')).rows
      await expect(shell.run(`echo 'no dump' > tierway.dump\n${restore}`, tools)).rejects.toThrow('ended with')
      expect((await execute(postgres.url, 'SELECT count(*)::int AS players FROM players')).rows).toEqual(before)
    })
  },
)
