import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportParameters, filtersText, readFilters } from '../../console/src/players/filters.ts'
import { readDefinition } from '../../console/src/scenario/read-definition.ts'
import { readAmount } from '../../console/src/ui/amount.ts'
import { faultText, inWords } from '../../console/src/ui/errors.ts'
import { levelAt } from '../../src/game/battlepass/decide.ts'
import { storeLevels } from '../../src/operations/figures/store-levels.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { choose, closeDialog, confirm as confirmDialog } from '../harness/console-dialog.ts'
import { season } from '../harness/definitions.ts'
import { type TestPlayer, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole({ players: 60 })
})
afterAll(() => stage?.stop())

/** A player that has begun the season, with gems. */
async function newPlayer(): Promise<TestPlayer & { runId: string }> {
  const player = await stage.game.player({ wallet: { gems: 120n } })
  const runId = await player.start('season-1')
  await player.post('/sdk/v1/battlepass/xp', {
    scenarioId: 'season-1',
    runId,
    nodeId: 'pass',
    amount: 600,
    source: 'match',
  })
  return { ...player, runId }
}

const PLAYER = `query P($id: ID!) {
  player(id: $id) {
    nickname status wallet { currency balance } passes { level xp premiumOwned claims { level track } }
    runs { nodes { status } } storage { key value } identities { subject }
  }
}`

async function read({ playerId }: { playerId: string }) {
  const { data } = await stage.game.graphql(stage.game.platformKey, PLAYER, { id: playerId })
  return data.player
}

const open = (player: { playerId: string }, tab = '', options = {}) =>
  stage.open(`/env/production/players/${player.playerId}${tab}`, { role: 'operator', ...options })

/** Does what a dialog asks, and closes it. */
async function confirm(page: Page, button: string): Promise<void> {
  await confirmDialog(page, button)
  await closeDialog(page)
}

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the players`, () => {
  it('are found by a part of a nickname, by id, and by filters that the URL keeps', async () => {
    const { game } = stage
    const { data } = await game.graphql(
      game.platformKey,
      '{ players(environment: "production", first: 30) { nodes { playerId nickname region } } }',
    )
    const player = data.players.nodes.find(
      ({ region, nickname }: { region: string | null; nickname: string }) =>
        region !== null && /^\w{5,}$/.test(nickname),
    )
    const opened = await stage.open('/env/production/players')
    const { page } = opened
    const table = page.getByRole('table', { name: 'Players' })
    await table.getByRole('row').nth(20).waitFor()
    await opened.check('players')
    await page.getByLabel('Find').fill(player.nickname.slice(1))
    await page.keyboard.press('Enter')
    await page.getByText(/^\d players?$/).waitFor()
    await table.getByRole('link', { name: player.nickname }).waitFor()
    await page.getByLabel('Find').fill(player.playerId)
    await page.keyboard.press('Enter')
    await page.getByText('1 player', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Give to this player…' }).waitFor()
    await page.getByLabel('Find').fill('')
    await page.getByLabel('Region').fill(player.region)
    await page.keyboard.press('Enter')
    await page.waitForURL(({ search }) => search === `?region=${player.region}`)
    await page.getByLabel('Status').selectOption('banned')
    await page.getByText('No player matches').waitFor()
    expect(new URL(page.url()).search).toBe(`?region=${player.region}&status=BANNED`)
    await opened.check('players-none')
    await page.goBack()
    await page.waitForURL(({ search }) => search === `?region=${player.region}`)
    await table.getByRole('link', { name: player.nickname }).waitFor()
    expect(await page.getByLabel('Status').inputValue()).toBe('')
    await opened.close()
  })

  it('are read page by page, and only the rows in view are in the document', async () => {
    await Promise.all(times(60, () => stage.game.player()))
    const { page, close } = await stage.open('/env/production/players?sort=oldest')
    const table = page.getByRole('table', { name: 'Players' })
    await page.getByText(/^50 of (9\d|\d{3}) players shown$/).waitFor()
    const shown = async () => Number(await table.getAttribute('aria-rowcount')) - 1
    for (let before = await shown(); before < 120; before = await shown()) {
      await page.getByRole('button', { name: 'Show more' }).click()
      await until('more rows are there', async () => (await shown()) > before)
    }
    const last = table.locator(`[aria-rowindex="${(await shown()) + 1}"]`)
    expect(await last.count()).toBe(0)
    expect(await table.getByRole('row').count()).toBeLessThan(80)
    await page.evaluate("document.querySelector('section[aria-label=Players]').scrollTo(0, 1e6)")
    await last.waitFor()
    expect(await table.locator('[aria-rowindex="2"]').count()).toBe(0)
    expect(await table.getByRole('row').count()).toBeLessThan(80)
    await close()
  })

  it('have the level of the current version, in the list, its filter and on their page', async () => {
    const { game } = stage
    const player = await game.player()
    const publish = async (apart: number) =>
      expect((await game.publish('leveled', season({ levels: times(5, (at) => at * apart) }))).status).toBe(200)
    await publish(100)
    const runId = await player.start('leveled')
    const call = { scenarioId: 'leveled', nodeId: 'pass', runId, amount: 400 }
    expect((await player.post('/sdk/v1/battlepass/xp', call)).body.level).toBe(5)
    await publish(1_000)
    await until('the level is stored', async () => {
      await storeLevels(game.app.pool, { settledMs: 0 })
      const { rows } = await game.app.pool.query(
        "SELECT FROM scenarios WHERE id = 'leveled' AND leveled_version = version",
      )
      return rows.length === 1
    })
    const { page, close } = await stage.open('/env/production/players?scenario=leveled&pass=pass&to=1&sort=level')
    await page.getByRole('table', { name: 'Players' }).getByText('leveled: level 1').waitFor()
    await page.getByLabel('From level').fill('5')
    await page.getByLabel('To level').fill('')
    await page.keyboard.press('Enter')
    await page.getByText('No player matches').waitFor()
    await close()
    const opened = await open(player, '/passes')
    await opened.page.getByText('Level 1, 400 xp').waitFor()
    await opened.close()
  })

  it('fit a screen of 390 pixels with a nickname of one long word and a scenario with a long id', async () => {
    const { game } = stage
    const { playerId } = await game.player()
    await game.app.pool.query('UPDATE players SET nickname = $2 WHERE id = $1', [playerId, `🐉${'o'.repeat(90)} 🦊`])
    const long = 'long'.repeat(25)
    expect((await game.publish(long, season())).status).toBe(200)
    const pages: [path: string, shown: (page: Page) => Locator][] = [
      [`players/${playerId}`, (page) => page.getByRole('heading', { name: '🐉', level: 1 })],
      ['players?scenario=season-1&pass=pass', (page) => page.getByLabel('Scenario', { exact: true })],
      [`live?scenario=${long}`, (page) => page.getByText(`${long} (no player yet), of all players`)],
      ['battle-pass/season-1/pass', (page) => page.getByLabel('Scenario', { exact: true })],
    ]
    for (const [path, shown] of pages) {
      const { page, close } = await stage.open(`/env/production/${path}`, { width: 390 })
      await shown(page).first().waitFor()
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 390])
      await close()
    }
  })

  it('are exported by an operator with the filters of the page and a reason, and not by a viewer', async () => {
    const { game } = stage
    const { page, close } = await stage.open('/env/production/players?status=ACTIVE&language=en', { role: 'operator' })
    await page.getByRole('button', { name: 'Export all' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/Saves \d+ players of production \(status active, language en\)/).waitFor()
    await dialog.getByLabel('Reason').fill('survey of March')
    const saving = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Export', exact: true }).click()
    const file = await saving
    expect(file.suggestedFilename()).toBe('players-production.ndjson')
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n')
    const { data } = await game.graphql(
      game.platformKey,
      '{ players(environment: "production", filter: { status: ACTIVE, language: "en" }, first: 200) { nodes { playerId } } auditLog(action: "players.export", first: 1) { nodes { id reason operator after } } }',
    )
    expect(lines.map((line) => JSON.parse(line).playerId)).toEqual(
      data.players.nodes.map(({ playerId }: { playerId: string }) => playerId),
    )
    expect(lines.length).toBeGreaterThan(0)
    const [{ id, ...entry }] = data.auditLog.nodes
    expect(entry).toEqual({
      reason: 'survey of March',
      operator: 'ada@studio.example',
      after: { status: 'active', language: 'en' },
    })
    await dialog.getByText(`${lines.length} ${lines.length === 1 ? 'player' : 'players'} exported.`).waitFor()
    const row = dialog.getByRole('link', { name: 'Row of the audit log' })
    expect(await row.getAttribute('href')).toBe(`/console/project/audit/${id}`)
    await close()
    const viewer = await stage.open('/env/production/players', { role: 'viewer' })
    await viewer.page.getByRole('button', { name: 'Export all' }).press('Enter')
    await viewer.page.getByText('This needs the role operator or admin. You are signed in as viewer.').waitFor()
    await viewer.close()
  })

  it('are not saved as a file when the export fails', async () => {
    const { page, close } = await stage.open('/env/production/players', { role: 'operator' })
    await page.route('**/players.ndjson*', (route) => route.abort())
    let saved = 0
    page.on('download', () => {
      saved += 1
    })
    await page.getByRole('button', { name: 'Export all' }).click()
    await page.getByLabel('Reason').fill('survey')
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    await page.getByText('The export broke off. No file was saved: try again.').waitFor()
    expect(saved).toBe(0)
    await close()
  })

  it('are filtered by a pass that is chosen from a list, and by its levels', async () => {
    const opened = await stage.open('/env/production/players')
    const { page } = opened
    await page.getByText('By time, battle pass and provider').click()
    await page.getByLabel('Scenario').selectOption('season-1')
    await page.waitForURL(({ searchParams }) => searchParams.get('pass') === 'pass')
    await page.getByLabel('From level').fill('3')
    await page.keyboard.press('Enter')
    await page.getByLabel('Sort').selectOption('level')
    await page.waitForURL(({ searchParams }) => searchParams.get('sort') === 'level')
    const table = page.getByRole('table', { name: 'Players' })
    await until('the rows have the levels', async () => {
      const texts = await table.getByRole('row').filter({ hasText: 'level' }).allTextContents()
      const levels = texts.map((text) => Number(/level (\d+)/.exec(text)?.[1]))
      return levels.length > 1 && levels.every((level, at) => level >= 3 && level <= (levels[at - 1] ?? level))
    })
    await opened.check('players-by-level')
    await opened.close()
  })

  it('are reported as missing, or as being in another environment', async () => {
    const player = await newPlayer()
    const opened = await stage.open('/env/production/players/01890000-0000-7000-8000-000000000000')
    await opened.page.getByText('There is no such player').waitFor()
    await opened.check('player-missing')
    await opened.page.goto(`${stage.game.baseUrl}/console/env/staging/players/${player.playerId}`)
    await opened.page.getByText('This player is in production').waitFor()
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}a player`, () => {
  it('has a page with balances, passes, runs, logins, storage, events and the wallet ledger', async () => {
    const player = await newPlayer()
    await player.post('/sdk/v1/storage/set', { values: { settings: { volume: 7 } } })
    const opened = await open(player)
    const { page } = opened
    await page.getByRole('table', { name: 'Balances' }).getByText('gems').waitFor()
    await opened.check('player')
    await page.getByRole('link', { name: 'Passes' }).click()
    await page.getByRole('button', { name: /^free tier of level 2 .*60 gold ?, claimable/ }).waitFor()
    await page.getByText(/Level\s*2, 600 xp/).waitFor()
    await opened.check('player-passes')
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByText('finale').first().waitFor()
    await opened.check('player-runs')
    await page.getByRole('link', { name: 'Logins' }).click()
    await page.getByText('No login in the last 30 days').waitFor()
    await page.getByRole('link', { name: 'Storage' }).click()
    await page.getByRole('button', { name: 'settings' }).click()
    await page.getByText('"volume": 7').waitFor()
    await opened.check('player-storage')
    await page.getByRole('link', { name: 'Events' }).click()
    await page.getByText('Level 1 → 2 (match)').waitFor()
    await page.getByRole('link', { name: 'Wallet ledger' }).click()
    await page.getByRole('table', { name: 'Wallet ledger' }).getByText('+120').waitFor()
    await opened.close()
  })

  it('cannot be debited more than the balance, or credited in an unknown currency', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    await page.getByRole('button', { name: 'Debit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Amount').fill('999999')
    await dialog.getByText('this will be refused').waitFor()
    await dialog.getByLabel('Reason').fill('too much')
    await dialog.getByRole('button', { name: 'Debit', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Credit' }).click()
    await dialog.getByLabel('Currency', { exact: true }).fill('gmes')
    await dialog.getByLabel('Amount').fill('5')
    await dialog.getByText('No scenario names this currency: check its spelling.').waitFor()
    await dialog.getByLabel('Reason').fill('a slip')
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog
      .getByRole('alert')
      .filter({ hasText: /No scenario names the currency gmes\. .*tick “Credit it/ })
      .waitFor()
    await dialog.getByLabel('Currency', { exact: true }).fill('gems')
    expect(await dialog.getByRole('alert').count()).toBe(0)
    await dialog.getByLabel('Amount').fill('5.000')
    await dialog.getByText('5.000 can mean two amounts. Enter it without the point.').waitFor()
    await dialog.getByLabel('Amount').fill('5,000')
    await dialog.getByText('gems: 1,120 → 6,120.').waitFor()
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByText('5,000 gems credited.').waitFor()
    await close()
  })

  it('with a long name, in a season with a long id, leaves each page and its columns within the screen', async () => {
    const [nickname, long] = ['W'.repeat(128), `s${'W'.repeat(127)}`]
    await stage.game.publish(long, season())
    const player = await newPlayer()
    await player.start(long)
    await stage.game.app.pool.query('UPDATE players SET nickname = $1 WHERE id = $2', [nickname, player.playerId])
    const { page, close } = await open(player)
    const places = ['players', `players/${player.playerId}`, `players/${player.playerId}/passes`, 'live', 'scenarios']
    const wide: string[] = []
    for (const place of [
      ...places,
      `battle-pass/${long}`,
      `scenarios/${long}/graph`,
      `players/${player.playerId}/runs`,
    ]) {
      await page.goto(`${stage.game.baseUrl}/console/env/production/${place}`, { waitUntil: 'networkidle' })
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 })
        const [whole, box] = await page.evaluate<[number, number]>(
          "[document.documentElement.scrollWidth, Math.max(0, ...[...document.querySelectorAll('.table-box')].map((one) => one.scrollWidth - one.clientWidth))]",
        )
        if (whole > width || (width > 390 && box > 0)) wide.push(`${place} at ${width}: ${whole}, columns ${box}`)
      }
    }
    expect(wide).toEqual([])
    await page.setViewportSize({ width: 390, height: 900 })
    await page.goto(`${stage.game.baseUrl}/console/env/production/players/${player.playerId}`)
    await choose(page, 'More', 'Delete the player')
    await page.getByRole('dialog').waitFor()
    expect(await page.evaluate("document.querySelector('dialog').scrollWidth")).toBeLessThanOrEqual(390)
    await close()
  })

  it('gets xp, a tier and premium, and loses them again', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player, '/passes')
    await page.getByRole('button', { name: 'Grant xp' }).click()
    await page.getByRole('dialog').getByLabel('Xp').fill('1000')
    await page
      .getByRole('dialog')
      .getByText(/Level: 2 → 4/)
      .waitFor()
    await confirm(page, 'Grant')
    await page.getByRole('button', { name: 'Grant premium' }).click()
    await confirm(page, 'Grant premium')
    await page.getByRole('button', { name: /^premium tier of level 3 / }).click()
    await page
      .getByRole('dialog')
      .getByText(/Claims the premium tier of level 3 for the player and pays 130 gold/)
      .waitFor()
    await confirm(page, 'Grant')
    expect((await read(player)).passes[0]).toMatchObject({
      xp: '1600',
      premiumOwned: true,
      claims: [{ level: 3, track: 'PREMIUM' }],
    })
    await page.getByRole('button', { name: 'Revoke premium' }).click()
    await page
      .getByRole('dialog')
      .getByText(/1 premium tier claimed: premium 3\. They can be claimed again/)
      .waitFor()
    await page.getByLabel('Reset its claimed tiers, too').uncheck()
    await page.getByRole('dialog').getByText('This will be refused').waitFor()
    await page.getByRole('dialog').getByLabel('Reason').fill('wrong player')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke premium' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByLabel('Reset its claimed tiers, too').check()
    await confirm(page, 'Revoke premium')
    expect((await read(player)).passes[0]).toMatchObject({ premiumOwned: false, claims: [] })
    await page.getByRole('button', { name: 'Reset the pass' }).click()
    await page.getByLabel('Type pass to confirm').fill('pass')
    await confirm(page, 'Reset the pass')
    expect((await read(player)).passes[0]).toMatchObject({ xp: '0', premiumOwned: false, claims: [] })
    await close()
  })

  it('has its run cancelled, a reward node reset, and its storage changed without rounding a number', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player, '/runs')
    await page.getByRole('button', { name: 'Reset a reward node' }).click()
    await page.getByLabel('Reward node', { exact: true }).selectOption('welcome')
    await confirm(page, 'Reset')
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await confirm(page, 'Cancel the run')
    await page.getByRole('table', { name: 'Runs' }).getByText('cancelled', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Storage' }).click()
    await page.getByRole('button', { name: 'Add a key' }).click()
    await page.getByRole('dialog').getByLabel('Key').fill('big')
    await page.getByRole('dialog').getByLabel('Value (JSON)').fill('{"n": 12345678901234567890}')
    await confirm(page, 'Save')
    expect((await read(player)).storage).toEqual([{ key: 'big', value: '{"n": 12345678901234567890}' }])
    await page.getByRole('button', { name: 'big' }).click()
    await page.getByText('12345678901234567890').waitFor()
    await page.getByRole('button', { name: 'Remove' }).click()
    await confirm(page, 'Remove')
    await page.getByText('The storage is empty').waitFor()
    await close()
  })

  it('is banned, unbanned, logged out, unlinked, and deleted only when its name is typed', async () => {
    const { data } = await stage.game.graphql(
      stage.game.platformKey,
      '{ players(environment: "production", first: 1, sort: { direction: ASCENDING }) { nodes { playerId nickname } } }',
    )
    const [player] = data.players.nodes
    const opened = await open(player)
    const { page } = opened
    await choose(page, 'More', 'Ban the player')
    await page.getByLabel('Refuses').selectOption('LOGIN')
    await page.getByLabel('Lasts').selectOption('168')
    await page.getByLabel('Shown to the player').fill('Bots are not allowed')
    await page.getByText('The ban ends by itself after 7 days.').waitFor()
    await confirm(page, 'Ban')
    await page.getByText('banned', { exact: true }).waitFor()
    await page
      .getByText(/^Logins of this player are refused until .* The player sees: “Bots are not allowed”$/)
      .waitFor()
    await choose(page, 'More', 'Unban the player')
    await confirm(page, 'Unban')
    await choose(page, 'More', 'End all logins')
    await confirm(page, 'End all logins')
    await page.getByRole('button', { name: /^Unlink / }).click()
    await confirm(page, 'Unlink')
    await page.getByText('No identity').waitFor()
    await choose(page, 'More', 'Delete the player')
    const press = page.getByRole('dialog').getByRole('button', { name: 'Delete for good' })
    expect(await press.isDisabled()).toBe(true)
    await page.getByLabel(`Type ${player.nickname} to confirm`).fill(player.nickname)
    await confirm(page, 'Delete for good')
    await page.getByText('This player is deleted').waitFor()
    expect((await read(player)).status).toBe('DELETED')
    await opened.check('player-deleted')
    await opened.close()
  })

  it('is banned with others of a list, which tells the ids that are none', async () => {
    const players = [await newPlayer(), await newPlayer()]
    const unknown = '01900000-0000-7000-8000-000000000000'
    const { page, close } = await stage.open('/env/production/players')
    await page.getByRole('button', { name: 'Ban a list' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Ids of players').fill([...players.map(({ playerId }) => playerId), unknown].join('\n'))
    await dialog.getByLabel('Reason').fill('bots, ticket 16')
    await dialog.getByRole('button', { name: 'Ban', exact: true }).click()
    await dialog.getByText('2 of 3 players are banned.').waitFor()
    await dialog.getByText(`${unknown}: not found`).waitFor()
    for (const player of players) expect((await read(player)).status).toBe('BANNED')
    await close()
  })

  it('cannot be changed by a viewer, and the page says why', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player, '', { role: 'viewer' })
    await page.getByRole('button', { name: 'More', exact: true }).press('Enter')
    await page.getByText('This needs the role support, operator or admin. You are signed in as viewer.').waitFor()
    await page.getByRole('link', { name: 'Audit' }).last().click()
    await page.getByText('Not allowed').waitFor()
    await close()
  })
})

describe('the pages of players', () => {
  it('read filters from the URL, and those of a pass only with its scenario and node', () => {
    const read = (query: string) => readFilters(new URLSearchParams(query))
    expect(read('search=+ada+&status=BANNED&premium=yes&from=3&sort=level')).toEqual({
      search: 'ada',
      filter: { status: 'BANNED' },
    })
    expect(read('status=nonsense&created=2026-02-30x')).toEqual({ filter: {} })
    expect(read('created=2026-02-01&createdTo=2026-02-01&provider=steam')).toEqual({
      filter: { createdFrom: '2026-02-01T00:00:00.000Z', createdTo: '2026-02-02T00:00:00.000Z' },
    })
    expect(read('scenario=s&pass=p&premium=no&from=3&to=x&sort=level')).toEqual({
      filter: { scenarioId: 's', nodeId: 'p', premium: false, levelFrom: 3 },
      sort: { by: 'LEVEL', direction: 'DESCENDING' },
    })
  })

  it('describe filters in words, and send them to the export by their names over REST', () => {
    const filters = readFilters(
      new URLSearchParams('status=BANNED&scenario=s&pass=p&premium=no&to=7&seenTo=2026-02-01'),
    )
    expect(filtersText(filters.filter, filters)).toBe(
      'status banned, last login until 2026-02-01, on s / p, up to level 7, without premium',
    )
    expect(String(exportParameters({ ...filters, sort: { by: 'LEVEL', direction: 'ASCENDING' } }))).toBe(
      'status=banned&lastLoginTo=2026-02-02T00%3A00%3A00.000Z&scenarioId=s&nodeId=p&levelTo=7&premium=false',
    )
    expect(filtersText({})).toBe('')
  })

  it('read the passes of a definition, where rewards of level nodes replace those of the pass', () => {
    const [pass] = readDefinition({
      nodes: [
        {
          id: 'pass',
          type: 'battle-pass',
          data: {
            levels: [
              { level: 2, xp: '9007199254740993' },
              { level: 1, xp: 0 },
            ],
            tiers: [{ level: 2, track: 'free', rewards: [{ currency: 'gold', amount: 1 }] }],
          },
        },
        {
          id: 'two',
          type: 'battle-pass-level',
          data: { levelNumber: '2', passNodeId: 'pass', rewards: { free: [{ itemId: 'hat', amount: 1 }] } },
        },
      ],
    }).passes
    expect(pass?.tiers).toEqual([
      { level: 2, track: 'FREE', rewards: [{ currency: null, itemId: 'hat', amount: '1', boost: null }], choice: [] },
    ])
    expect([9007199254740992n, 9007199254740993n].map((xp) => pass && levelAt(pass, xp))).toEqual([1, 2])
    expect(readDefinition(undefined).passes).toEqual([])
  })
})

describe('an amount', () => {
  it.each([
    ['5000', 'en-US', '5000'],
    ['007', 'en-US', '7'],
    ['5,000', 'en-US', '5000'],
    ['5.000', 'de-DE', '5000'],
    ['5 000', 'fr-FR', '5000'],
    ["12'345'678", 'de-CH', '12345678'],
    ['1,234,567', 'de-DE', '1234567'],
    ['9,223,372,036,854,775,807', 'en-US', '9223372036854775807'],
    ['5.000', 'en-US', null],
    ['5,000', 'de-DE', null],
    ['5,00', 'en-US', null],
    ['50,000.5', 'en-US', null],
    ['1.000,000', 'de-DE', null],
    ['5000,000', 'en-US', null],
    ['0', 'en-US', null],
    ['-5', 'en-US', null],
    ['1e3', 'en-US', null],
    ['', 'en-US', null],
    [',', 'en-US', null],
  ])('%j in %s is %j', (text, language, amount) => {
    expect(readAmount(text, language)).toBe(amount)
  })
})

describe('a fault of the service', () => {
  it('is shown with the labels of fields', () => {
    expect(inWords('must be after startsAt', { startsAt: 'Starts (UTC)' })).toBe('must be after “Starts (UTC)”')
    expect(inWords('needs `claimUntil`, not onComplete')).toBe('needs “Claims until”, not onComplete')
    expect(faultText({ path: 'input.data.rewards[1].itemId', message: 'is required' })).toBe(
      'Data, rewards 2, item id: Is required.',
    )
    expect(faultText({ path: 'search', message: 'must be 1 to 128 characters' })).toBe(
      'Find: Must be 1 to 128 characters.',
    )
  })
})
