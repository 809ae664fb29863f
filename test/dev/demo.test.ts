import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSecrets, generateSecretsKey } from '../../src/base/secrets.ts'
import { type DemoOperator, startDemoOperator } from '../../src/dev/demo-operator.ts'
import { demoSeason } from '../../src/dev/season.ts'
import { type Demo, seedDemo } from '../../src/dev/seed.ts'
import { auditBooks } from '../harness/audit.ts'
import { endWithTests } from '../harness/children.ts'
import { type Game, startGame } from '../harness/game.ts'
import { buildService } from '../harness/service.ts'

// `npm run demo`, as it is built, on the demo that `npm start` makes.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

let game: Game
let operator: DemoOperator
let dataDir: string
let demo: Demo

beforeAll(async () => {
  await buildService()
  const secretsKey = generateSecretsKey()
  game = await startGame({ SECRETS_KEYS: JSON.stringify([secretsKey]) })
  operator = await startDemoOperator()
  dataDir = await mkdtemp(join(tmpdir(), 'tierway-demo-'))
  const secrets = createSecrets([secretsKey])
  demo = await seedDemo({ pool: game.app.pool, secrets, dataDir, baseUrl: game.baseUrl, operator })
})
afterAll(async () => {
  await operator?.close()
  await game?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

function runDemo(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { PATH: process.env.PATH, TIERWAY_DATA_DIR: dataDir } }
    const child = execFile(process.execPath, ['dist/dev/demo.js', ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
    endWithTests(child)
  })
}

describe('the demo', () => {
  it('gives the xp of matches by a game server and that of the tutorial by clients, which get no other', async () => {
    const { code, output } = await runDemo()
    expect([code, output]).toEqual([
      0,
      expect.stringContaining('The client of player 1 claims 2000 xp of a match: 403 xp_not_allowed.'),
    ])
    const { rows } = await game.app.pool.query<{ origin: string; source: string; players: number; xp: string }>(
      `SELECT coalesce(origin, 'client') AS origin, source, count(DISTINCT player_id)::int AS players, sum(amount) AS xp
       FROM xp_ledger GROUP BY 1, 2 ORDER BY 1`,
    )
    const [byClients, byServer] = rows
    expect(byClients).toEqual({ origin: 'client', source: 'tutorial', players: 8, xp: '4800' })
    expect(byServer).toMatchObject({ origin: 'server', source: 'match', players: 8 })
    expect(output).toMatch(
      new RegExp(
        `^ {2}\\d+ matches gave ${byServer?.xp} xp, each with one call of the server; clients gave 4800.$`,
        'm',
      ),
    )
    expect(rows).toHaveLength(2)
    await auditBooks(game.app.pool)
  })

  it('leaves no server key behind', async () => {
    const { rows } = await game.app.pool.query('SELECT label, revoked_at IS NOT NULL AS revoked FROM server_keys')
    expect(rows).toEqual([{ label: 'npm run demo', revoked: true }])
  })

  it('plays a season from its announcement to the next one, from where the clock of its environment is', async () => {
    const send = async (mutation: string, type: string, input: object) => {
      const query = `mutation ($input: ${type}!) { ${mutation}(input: $input) { environment { name } } }`
      expect((await game.graphql(demo.platformKey, query, { input })).errors).toBeUndefined()
    }
    await send('createEnvironment', 'CreateEnvironmentInput', { name: 'demo-season', reason: 'test' })
    const clock = { environment: 'demo-season', at: '2040-03-31T23:00:00Z', reason: 'test' }
    await send('setEnvironmentClock', 'SetEnvironmentClockInput', clock)
    const { code, output } = await runDemo('--season', '--seconds', '0')
    expect([code, output]).toEqual([0, expect.stringContaining('setEnvironmentClock')])
    const told = [...output.matchAll(/event SEASON_(\w+) of season-\w+-(\d), at 2040-(\d\d-\d\d)T/g)]
    expect(told.map(([, ...event]) => event.join(' '))).toEqual([
      ...['ANNOUNCED 1 04-02', 'STARTED 1 04-09', 'ENDING 1 04-21', 'ENDED 1 04-23', 'STARTED 2 04-23'],
      'CLOSED 1 04-25',
    ])
    expect(output).toContain('200 are sent, the ledger has 400, 200 of them a bonus')
    expect(output).toContain('with 80 xp, a tenth of what she had')
    expect(output).toMatch(/ben is settled: 3 tiers that were not claimed, \d+ gold, \d+ tickets; \d+ tickets ended/)
    const { rows } = await game.app.pool.query("SELECT clock_rate FROM environments WHERE name = 'demo-season'")
    expect(rows).toEqual([{ clock_rate: 1 }])
    await auditBooks(game.app.pool)
  })

  it('says what to do when somebody has published a ranked season that lets clients give the xp of matches', async () => {
    const path = `/platform/v1/projects/${demo.projectId}/scenarios/${demo.rankedScenarioId}?environment=${demo.environment}`
    const headers = { authorization: `Bearer ${demo.platformKey}` }
    const body = demoSeason()
    expect((await game.request('PUT', path, { body, headers })).status).toBe(200)
    const { code, output } = await runDemo()
    expect([code, output]).toEqual([1, expect.stringContaining('start the service in a new TIERWAY_DATA_DIR')])
  })
})
