import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { season } from '../harness/definitions.ts'
import { expectLook, type LookOptions, withoutLooks } from '../harness/looks.ts'

interface Look extends LookOptions {
  readonly path: string
  readonly width?: number
}

const DAY_MS = 86_400_000
const skipped = withoutChromium || withoutLooks

describe.skipIf(skipped !== '')(`${skipped}the look of the console`, () => {
  let stage: ConsoleStage
  let playerId: string

  beforeAll(async () => {
    stage = await startConsole({ players: 10 })
    const { game } = stage
    const at = (days: number) => new Date(Math.floor(Date.now() / DAY_MS + days) * DAY_MS).toISOString()
    const dates = { startsAt: at(-10), endsAt: at(20), claimUntil: at(27), next: { scenarioId: 'spring' } }
    await game.publish('winter', season({ levels: [0, 100], more: dates }))
    const boost = { name: 'double weekend', percent: 100, startsAt: at(3), endsAt: at(5), scenarios: ['winter'] }
    const { errors } = await game.graphql(
      game.platformKey,
      'mutation ($input: CreateBoostInput!) { createBoost(input: $input) { boost { id } } }',
      { input: { environment: 'production', reason: 'test', ...boost } },
    )
    expect(errors).toBeUndefined()
    const provider = { enabled: true, url: 'https://login.studio.example/hook', secret: 'a secret of the studio, long' }
    expect((await game.setProviders({ default: provider })).status).toBe(200)
    const player = await game.player({ wallet: { gems: 950n } })
    playerId = player.playerId
    await game.app.pool.query(`UPDATE players SET nickname = 'Firefly' WHERE id = $1`, [playerId])
    const node = { scenarioId: 'winter', nodeId: 'pass', runId: await player.start('winter') }
    expect((await player.post('/sdk/v1/battlepass/xp', { ...node, amount: 120, source: 'match' })).status).toBe(200)
    expect((await player.post('/sdk/v1/battlepass/premium', node)).body.success).toBe(true)
  })
  afterAll(() => stage?.stop())

  it('of sign-in is as its picture', async () => {
    const { page, close } = await stage.blank()
    await page.goto(`${stage.game.baseUrl}/console`)
    await page.getByLabel('Platform key').waitFor()
    await expectLook(page, 'sign-in')
    await close()
  })

  const today = { replaced: 'dl dd > p, dl + p' }
  const calendar = { hidden: '[class*=_axis_] > *, [class*=_now_]' }

  it.each([
    ['today', { path: '/env/production/today', ...today }],
    ['live', { path: '/env/production/live?player={player}' }],
    ['battle-pass', { path: '/env/production/battle-pass/season-1/pass' }],
    ['players', { path: '/env/production/players' }],
    ['player', { path: '/env/production/players/{player}' }],
    ['scenario-table', { path: '/env/production/scenarios/season-1/table' }],
    ['calendar', { path: '/env/production/calendar', ...calendar }],
    ['grants', { path: '/env/production/grants' }],
    ['roles', { path: '/env/production/roles' }],
    // The players' last logins were yesterday: those of 24 hours depend on the hour.
    ['providers', { path: '/env/production/providers?range=30d' }],
    ['today-390', { path: '/env/production/today', width: 390, ...today }],
    ['player-390', { path: '/env/production/players/{player}', width: 390 }],
  ] satisfies [string, Look][])('of %s is as its picture', async (name, { path, width, ...options }: Look) => {
    const { page, close } = await stage.open(path.replace('{player}', playerId), { width })
    await page.waitForLoadState('networkidle')
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    await expectLook(page, name, options)
    await close()
  })
})
