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

function runDemo(): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { PATH: process.env.PATH, TIERWAY_DATA_DIR: dataDir } }
    const child = execFile(process.execPath, ['dist/dev/demo.js'], options, (error, stdout, stderr) =>
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

  it('says what to do when the season of its folder lets clients give the xp of matches', async () => {
    const path = `/platform/v1/projects/${demo.projectId}/scenarios/${demo.scenarioId}?environment=${demo.environment}`
    const headers = { authorization: `Bearer ${demo.platformKey}` }
    const body = demoSeason({ isOpen: true })
    expect((await game.request('PUT', path, { body, headers })).status).toBe(200)
    const { code, output } = await runDemo()
    expect([code, output]).toEqual([1, expect.stringContaining('start the service in a new TIERWAY_DATA_DIR')])
  })
})
