import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RawJson } from '../../src/base/json.ts'
import { Tierway } from '../../src/client/index.ts'
import { demoSeason, rankedSeason } from '../../src/dev/season.ts'
import { auditBooks } from '../harness/audit.ts'
import { endWithTests } from '../harness/children.ts'
import { type Game, startGame } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { buildService } from '../harness/service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

let game: Game
let operator: Operator

beforeAll(async () => {
  await buildService()
  game = await startGame()
  operator = await startOperator()
  await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
  await game.publish('season-1', new RawJson(demoSeason()))
  await game.publish('ranked-1', new RawJson(rankedSeason()))
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await operator.close()
  await game.stop()
})

/** Runs the bot as its documentation says. Returns its exit code and its output. */
function runBot(env: Record<string, string>): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const own = { PATH: process.env.PATH, TIERWAY_URL: game.baseUrl, SDK_KEY: game.sdkKey, ...env }
    const options = { cwd: ROOT, env: own }
    const child = execFile(process.execPath, ['examples/bot.mjs'], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
    endWithTests(child)
  })
}

describe('examples/bot.mjs', () => {
  it('plays a season as far as it takes xp from clients, and exits', async () => {
    const { code, output } = await runBot({ PLAYER: 'robin', SCENARIO: 'ranked-1' })
    expect([code, output]).toEqual([0, expect.stringMatching(/^claimed \d\d tiers$/m)])
    const tierway = new Tierway(game)
    await tierway.login({ customData: { player: 'robin' } })
    const pass = (await tierway.scenario('ranked-1').start()).battlePass('pass')
    expect((await pass.progress()).xp).toBe(20_000n)
  })

  it('plays the demo season to its end', async () => {
    const { code, output } = await runBot({ PLAYER: 'robby' })
    expect([code, output]).toEqual([0, expect.stringContaining('claimed 200 tiers')])
    const tierway = new Tierway(game)
    await tierway.login({ customData: { player: 'robby' } })
    const pass = (await tierway.scenario('season-1').start()).battlePass('pass')
    const { level, premiumOwned, claimedTiers } = await pass.progress()
    expect([level, premiumOwned, claimedTiers.length]).toEqual([100, true, 200])
    for (const { currency, balance } of (await tierway.player()).wallet)
      expect(output).toContain(`has ${balance} ${currency}`)

    const again = await runBot({ PLAYER: 'robby' })
    expect(again.output).toMatch(/^no premium: premium already owned\nclaimed 0 tiers\n/)
  })

  it('says in one line why it gave up', async () => {
    expect(await runBot({ SDK_KEY: 'twsdk_unknown' })).toEqual({
      code: 1,
      output: 'given up: invalid sdk key (invalid_sdk_key)\n',
    })
  })

  it('is valid TypeScript', async () => {
    const home = await mkdtemp(join(tmpdir(), 'tierway-bot-'))
    await symlink(join(ROOT, 'node_modules'), join(home, 'node_modules'), 'dir')
    await copyFile(join(ROOT, 'examples/bot.mjs'), join(home, 'bot.ts'))
    const paths = { 'tierway/client': [join(ROOT, 'dist/client/index.d.ts')] }
    const tsconfig = { extends: join(ROOT, 'tsconfig.json'), compilerOptions: { paths }, include: ['bot.ts'] }
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify(tsconfig))
    await writeFile(join(home, 'package.json'), '{"type":"module"}')
    const compiled = await new Promise((resolve) => {
      execFile(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', home], (error, stdout) =>
        resolve([error?.code ?? 0, stdout]),
      )
    })
    expect(compiled).toEqual([0, ''])
    await rm(home, { recursive: true, force: true })
  })
})
