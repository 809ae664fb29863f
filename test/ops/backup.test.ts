import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey } from '../../src/auth/keys.ts'
import { graphql } from '../events/fleet.ts'
import { auditBooks } from '../support/audit.ts'
import { passNode, scenario } from '../support/definitions.ts'
import { times } from '../support/game.ts'
import { type PageShell, startPageShell } from '../support/page-shell.ts'
import {
  buildService,
  createWorld,
  post,
  type Service,
  startService,
  stopService,
  type World,
} from '../support/service.ts'
import { type SystemPostgres, startSystemPostgres, withoutSystemPostgres } from '../support/system-postgres.ts'

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## Backup and restore'), page.indexOf('## Rotating keys'))
const [backUp = '', restore = ''] = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands)

const EVENTS = `query ($after: String) {
  events(environment: "production", first: 50, after: $after) { edges { cursor } } }`

// Replaces Docker: its containers are a Postgres and a service that the test runs.
const DOCKER = `case "$*" in
  'compose stop tierway' | 'compose start tierway') ;;
  'compose exec -T postgres pg_'*) shift 4; tool=$1; shift; exec "$PG_BIN/$tool" -h 127.0.0.1 -p "$PG_PORT" "$@" ;;
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
    })
  },
)
