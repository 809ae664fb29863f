import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indentedJson } from '../../console/src/players/indented-json.ts'
import { readRun } from '../../console/src/players/run-nodes.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { addXp, type GivenXp } from '../../src/game/battlepass/add-xp.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm, loseAnswer } from '../harness/console-dialog.ts'
import { season } from '../harness/definitions.ts'
import { type TestPlayer, times } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { until } from '../harness/until.ts'

let stage: ConsoleStage
let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
  if (withoutChromium === '') stage = await startConsole()
})
afterAll(async () => {
  await stage?.stop()
  await operator.close()
})

const newPlayer = (): Promise<TestPlayer> => stage.game.player()

const open = (player: { playerId: string }, tab = '', options = {}) =>
  stage.open(`/env/production/players/${player.playerId}${tab}`, { role: 'operator', ...options })

async function storageOf({ playerId }: { playerId: string }): Promise<{ key: string; value: string }[]> {
  const { data } = await stage.game.graphql(
    stage.game.platformKey,
    'query S($id: ID!) { player(id: $id) { storage { key value } } }',
    { id: playerId },
  )
  return data.player.storage
}

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the page of a player`, () => {
  it('explains on every tab that there is nothing to show', async () => {
    const player = await newPlayer()
    const opened = await open(player)
    const { page } = opened
    await page.getByText('The wallet is empty').waitFor()
    await page.getByText('Nothing has happened').waitFor()
    await page.getByText('No pass begun').waitFor()
    await page.getByText('No identity').waitFor()
    await opened.check('player-nothing')
    for (const [tab, text] of [
      ['Passes', 'The player takes part in no scenario with a battle pass.'],
      ['Wallet ledger', 'No balance has ever changed'],
      ['Runs', 'A run begins when the game starts a scenario for the player.'],
      ['Logins', 'No login in the last 30 days'],
      ['Storage', 'The storage is empty'],
      ['Audit', 'No operator has changed this player'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Parts of the player' }).getByRole('link', { name: tab }).click()
      await page.getByText(text).waitFor()
    }
    await opened.check('player-nothing-audit')
    await opened.close()
  })

  it('shows a ledger of 2,000 rows, with only the visible rows in the document', async () => {
    const player = await newPlayer()
    for (let first = 0; first < 2_000; first += 100)
      await Promise.all(
        times(100, (at) =>
          stage.game.app.service.run(
            adjustWallet(player, { currency: 'gems', amount: 1n, reference: `r${first + at}` }),
          ),
        ),
      )
    const opened = await open(player, '/wallet')
    const { page } = opened
    const table = page.getByRole('table', { name: 'Wallet ledger' })
    const box = page.getByRole('region', { name: 'Wallet ledger' })
    const count = async () => Number(await table.getAttribute('aria-rowcount'))
    await table.waitFor()
    for (let known = await count(); known < 2_001; known = await count()) {
      await box.press('End')
      await page.getByRole('button', { name: 'Show more' }).click()
      await until('more rows are known', async () => (await count()) > known)
    }
    expect(await count()).toBe(2_001)
    expect(await table.getByRole('row').count()).toBeLessThan(100)
    await box.press('End')
    await table.getByRole('cell', { name: '1', exact: true }).waitFor()
    await opened.check('player-ledger')
    await opened.close()
  })

  it('shows where each xp came from, the reference of a server, and the limit that held xp back', async () => {
    const premium = { price: { currency: 'gems', amount: 0 }, xpPercent: 10 }
    const xp = { sources: { match: { max: 100 } }, perSeason: 130 }
    await stage.game.publish('limits', season({ price: null, more: { premium, xp } }))
    const player = await newPlayer()
    const at = { scenarioId: 'limits', nodeId: 'pass', runId: await player.start('limits') }
    const give = (amount: bigint, source: string, given: GivenXp) =>
      stage.game.app.service.run(addXp(player, { ...at, amount, source }, given))
    await give(9n, '', { origin: 'client' })
    expect((await player.post('/sdk/v1/battlepass/premium', at)).body.success).toBe(true)
    await give(2n ** 53n + 1n, 'match', { origin: 'server', reference: 'match 4711' })
    await give(30n, 'quest', { origin: 'client' })
    await give(5n, '', { origin: 'operator' })
    const opened = await open(player, '/passes')
    const { page } = opened
    await page.getByRole('button', { name: 'Xp ledger of pass' }).click()
    const table = page.getByRole('table', { name: 'Xp ledger' })
    await table.waitFor()
    const rows = await table.getByRole('row').all()
    const cells = await Promise.all(rows.slice(1).map((row) => row.getByRole('cell').allTextContents()))
    expect(cells.map((row) => row.slice(1, -1))).toEqual([
      ['5', 'none', 'none', 'none', 'operator', 'none'],
      ['23', '2', 'per season, of the pass: 30 was sent', 'quest', 'client', 'none'],
      ['110', '10', 'per call, of the source: 9,007,199,254,740,993 was sent', 'match', 'server', 'match 4711'],
      ['9', 'none', 'none', 'none', 'client', 'none'],
    ])
    await opened.check('player-xp-ledger')
    const { search } = new URL(page.url())
    await opened.close()

    const narrow = await open(player, `/passes${search}`, { width: 390, dark: true })
    await narrow.page.getByRole('table', { name: 'Xp ledger' }).waitFor()
    expect(await narrow.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await narrow.check('player-xp-ledger-390-dark')
    await narrow.close()
  })

  it('shows a storage of many keys and long values, and reads one value at a time', async () => {
    const player = await newPlayer()
    const long = `{"items":[${times(3_000, (at) => `{"id":${at},"n":1.0}`).join(',')}]}`
    await player.post('/sdk/v1/storage/set', `{"values":{"long":${long}}}`)
    const values = times(300, (at) => `"key-${String(at).padStart(3, '0')}":${at}`).join(',')
    await player.post('/sdk/v1/storage/set', `{"values":{${values}}}`)
    const opened = await open(player, '/storage')
    const { page } = opened
    const read: string[] = []
    page.on('response', async (response) => {
      if (response.request().postData()?.includes('ConsoleStorageValue')) read.push(await response.text())
    })
    const table = page.getByRole('table', { name: 'Keys of the storage' })
    const rowCount = async () => Number(await table.getAttribute('aria-rowcount'))
    for (const more of [201, 301, 302]) {
      if (more === 302) await page.getByRole('region', { name: 'Keys of the storage' }).press('End')
      // A list that is just read again takes no press: a person presses again, too.
      await until('more keys are known', async () => {
        if ((await rowCount()) >= more) return true
        const press = page.getByRole('button', { name: 'Show more' }).click({ timeout: 1_000 })
        await press.catch(() => undefined)
        return false
      })
    }
    expect(await rowCount()).toBe(302)
    await page.getByRole('region', { name: 'Keys of the storage' }).press('End')
    await page.getByRole('button', { name: 'long', exact: true }).click()
    await page.getByText('"n": 1.0').first().waitFor()
    expect(new URL(page.url()).search).toBe('?key=long')
    expect(read.filter((text) => text.includes('key-'))).toEqual([])
    await opened.check('player-storage-huge')
    await opened.close()
  })

  it('disables Show more while a list is read again, so that no press is lost', async () => {
    const player = await newPlayer()
    const values = times(150, (at) => `"key-${String(at).padStart(3, '0')}":${at}`).join(',')
    await player.post('/sdk/v1/storage/set', `{"values":{${values}}}`)
    const opened = await open(player, '/storage')
    const { page } = opened
    const parts = page.getByRole('navigation', { name: 'Parts of the player' })
    const button = page.getByRole('button', { name: 'Show more' })
    const table = page.getByRole('table', { name: 'Keys of the storage' })
    await button.waitFor()
    await parts.getByRole('link', { name: 'Wallet' }).click()
    await table.waitFor({ state: 'detached' })
    const held: (() => Promise<void>)[] = []
    await page.route('**/graphql', async (route) => {
      const isFirstPage = /ConsoleStorageKeys/.test(route.request().postData() ?? '') && held.length === 0
      if (isFirstPage) held.push(() => route.continue())
      else await route.continue()
    })
    await parts.getByRole('link', { name: 'Storage' }).click()
    await until('the first page is asked for again', () => held.length === 1)
    await table.waitFor()
    expect(await button.isDisabled()).toBe(true)
    await held[0]?.()
    await button.click()
    await until('all keys are known', async () => (await table.getAttribute('aria-rowcount')) === '151')
    await opened.close()
  })

  it('changes the storage key by key, reports a faulty value with its line, and stores the typed text', async () => {
    const player = await newPlayer()
    await player.post('/sdk/v1/storage/set', '{"values":{"a":{"10":1.0,"9":12345678901234567890},"b":1,"c":2,"d":3}}')
    const opened = await open(player, '/storage?key=a')
    const { page } = opened
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const dialog = page.getByRole('dialog')
    const value = dialog.getByLabel('Value (JSON)')
    expect(await value.inputValue()).toBe('{\n  "10": 1.0,\n  "9": 12345678901234567890\n}')
    await value.fill('{\n  "10": 1.0,\n  "9": }')
    await dialog.getByText('Line 3: A value must stand here.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await value.fill(`"${'x'.repeat(66_000)}"`)
    await dialog.getByLabel('Reason').fill('ticket 20')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText(/65536 bytes|65,536 bytes/).waitFor()
    await value.fill('{"10": 2.0, "9": 12345678901234567891}')
    await dialog.getByText(/^a: \d+ → 38 bytes\./).waitFor()
    await opened.check('player-storage-change')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('a is saved.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('12345678901234567891').waitFor()
    for (const key of ['b', 'd']) await page.getByLabel(`Choose ${key}`).check()
    await page.getByRole('button', { name: 'Remove 2 chosen' }).click()
    await dialog.getByText('The values of b, d are lost. Other keys stay.').waitFor()
    await dialog.getByLabel('Reason').fill('ticket 21')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByText('2 keys are removed.').waitFor()
    expect(await storageOf(player)).toEqual([
      { key: 'a', value: '{"10": 2.0, "9": 12345678901234567891}' },
      { key: 'c', value: '2' },
    ])
    await opened.close()
  })

  it('shows a run as a graph and as a list of active, crossed and unreached nodes', async () => {
    const player = await newPlayer()
    const runId = await player.start('season-1')
    const grant = { scenarioId: 'season-1', runId, nodeId: 'pass', amount: 600, source: 'match' }
    await player.post('/sdk/v1/battlepass/xp', grant)
    const opened = await open(player, '/runs')
    const { page } = opened
    const list = page.getByRole('list', { name: 'Nodes of the run' })
    const node = (text: RegExp) => list.getByRole('listitem').filter({ hasText: text })
    await node(/^pass active\s*battle-pass · onLevelUp/).waitFor()
    await node(/^start crossed\s*start · onStart/).waitFor()
    await node(/^welcome crossed\s*reward · onComplete/).waitFor()
    await node(/^finale not reached\s*cutscene$/).waitFor()
    await page.getByText('What was crossed is known from the events that are still kept.').waitFor()
    await page.locator('.react-flow__node').first().waitFor()
    await opened.check('player-run')
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await page
      .getByRole('dialog')
      .getByText(/The run of season-1 ends, with \d active nodes: .*pass/)
      .waitFor()
    await opened.close()
  })

  it('shows a login with the status and the time of each attempt of the webhook', async () => {
    const { game } = stage
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
    operator.answer(({ number }, response) => {
      response.statusCode = number === 1 ? 503 : 200
      response.end(number === 1 ? 'busy' : '{"subject":"ada","nickname":"Ada"}')
    })
    const { status, body } = await game.login({ player: 'ada' })
    expect(status).toBe(200)
    const opened = await open({ playerId: decodeJwt(body.accessToken).sub ?? '' }, '/logins')
    const { page } = opened
    const table = page.getByRole('table', { name: 'Logins of the last 30 days' })
    await table.getByText('ada', { exact: true }).waitFor()
    const attempts = table.getByRole('listitem')
    await attempts
      .nth(0)
      .getByText(/^503.*, \d+ ms/)
      .waitFor()
    await attempts
      .nth(1)
      .getByText(/^200, \d+ ms/)
      .waitFor()
    expect(await attempts.count()).toBe(2)
    await opened.check('player-logins')
    await opened.close()
  })

  it('reports a tab that could not be read, and reads it again on request', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    await page.getByText('The wallet is empty').waitFor()
    let isBroken = true
    await page.route('**/graphql', (route) =>
      isBroken && route.request().postData()?.includes('ConsoleWalletLedger') ? route.abort() : route.continue(),
    )
    await page.getByRole('link', { name: 'Wallet ledger' }).click()
    await page.getByText('This could not be read').waitFor()
    isBroken = false
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No balance has ever changed').waitFor()
    await close()
  })

  it.each(['/passes', '/wallet', '/runs', '/storage?key=settings', '/events', ''])(
    'fits a screen of 390 pixels in dark mode: %s',
    async (tab) => {
      const player = await stage.game.player({ wallet: { gems: 120n } })
      const runId = await player.start('season-1')
      await player.post('/sdk/v1/storage/set', { values: { settings: { volume: 7 } } })
      await player.post('/sdk/v1/battlepass/xp', {
        scenarioId: 'season-1',
        runId,
        nodeId: 'pass',
        amount: 600,
        source: 'm',
      })
      const opened = await open(player, tab, { width: 390, dark: true })
      await opened.page.getByRole('navigation', { name: 'Parts of the player' }).waitFor()
      await until('the tab is there', async () => (await opened.page.locator('[aria-busy="true"]').count()) === 0)
      expect(await opened.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
      await opened.check(`player-390${tab.replace(/\W+/g, '-')}`)
      await opened.close()
    },
  )
})

describe('the state of a run', () => {
  const definition = {
    nodes: ['a', 'b', 'c', 'd'].map((id) => ({ id, type: 't' })),
    edges: [
      { from: 'a', handle: 'onStart', to: 'b' },
      { from: 'a', handle: 'onStart', to: 'c' },
      { from: 'c', handle: 'onComplete', to: 'd' },
    ],
  }
  const event = (nodeId: string, handle: string, runId = 'r') => ({ runId, nodeId, handle })

  it('is read from its own events, its active nodes and the edges that it crossed', () => {
    const { nodes, isCrossed } = readRun(definition, { runId: 'r', activeNodes: ['b'] }, [
      event('a', 'onStart'),
      event('a', 'onStart'),
      event('c', 'onComplete', 'another run'),
    ])
    expect(nodes.map(({ state }) => state)).toEqual(['crossed', 'active', 'entered', 'not reached'])
    expect(nodes[0]?.handles).toEqual(['onStart'])
    expect(definition.edges.map(isCrossed)).toEqual([true, true, false])
  })
})

describe('JSON on several lines', () => {
  it('keeps numbers, the order of members and duplicate names as they are', () => {
    expect(indentedJson('{"10":1.0,"9":12345678901234567890,"9":"\\u00e9"}')).toBe(
      '{\n  "10": 1.0,\n  "9": 12345678901234567890,\n  "9": "\\u00e9"\n}',
    )
    expect(indentedJson('"text"')).toBe('"text"')
    expect(indentedJson('no json')).toBe('no json')
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the timeline of a player`, () => {
  const act = async (mutation: string, input: object) => {
    const type = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Input`
    const document = `mutation M($input: ${type}!) { ${mutation}(input: $input) { error } }`
    const sent = { reason: 'ticket 20', idempotencyKey: randomUUID(), ...input }
    expect(
      (await stage.game.graphql(stage.game.platformKey, document, { input: sent })).data[mutation].error,
    ).toBeNull()
  }

  async function busy(): Promise<TestPlayer> {
    const player = await stage.game.player({ wallet: { gems: 5_000n } })
    const { playerId } = player
    const runId = await player.start('season-1')
    const pass = { scenarioId: 'season-1', runId, nodeId: 'pass' }
    await player.post('/sdk/v1/battlepass/xp', { ...pass, amount: 600, source: 'match' })
    await player.post('/sdk/v1/battlepass/claim', { ...pass, level: 1, track: 'free' })
    await player.post('/sdk/v1/battlepass/premium', pass)
    await act('creditWallet', { playerId, currency: 'gems', amount: '7' })
    await act('sendMessage', { playerId, rewards: [{ itemId: 'hat', amount: '1' }] })
    return player
  }

  it('tells what happened, of the kinds that the address has', async () => {
    const player = await busy()
    const opened = await open(player)
    const { page } = opened
    const table = page.getByRole('table', { name: 'Timeline' })
    await table.getByText(/^Level \d → 2.*, season-1$/).waitFor()
    await table.getByText(/^Free tier 1 of season-1 \/ pass: /).waitFor()
    await table.getByText(/^Premium bought for /).waitFor()
    await table.getByText('“ticket 20”').first().waitFor()
    await table.getByText('Message without a text with 1 hat').waitFor()
    await opened.check('player-timeline')
    const rows = () => table.getByRole('row').count()
    await page.getByRole('button', { name: 'Claims' }).click()
    await page.getByRole('button', { name: 'Mail', exact: true }).click()
    await until('two kinds are left', async () => (await rows()) === 3)
    expect(new URL(page.url()).search).toBe('?kinds=claim%2Cmail')
    await page.reload()
    await until('the address has the kinds', async () => (await rows()) === 3)
    expect(await page.getByRole('button', { name: 'Claims' }).getAttribute('aria-pressed')).toBe('true')
    await page.getByRole('button', { name: 'Claims' }).click()
    await page.getByRole('button', { name: 'Mail', exact: true }).click()
    await until('all are there again', async () => (await rows()) > 5)
    await opened.close()
  })

  it('has the notes of operators, which are added in place and deleted with a reason', async () => {
    const player = await stage.game.player()
    const opened = await open(player)
    const { page } = opened
    const table = page.getByRole('table', { name: 'Timeline' })
    await page.getByText('Nothing has happened').waitFor()
    await page.getByLabel('Note', { exact: true }).fill('Asked for gems')
    await page.getByRole('button', { name: 'Add the note' }).click()
    await table.getByText('Asked for gems').waitFor()
    await opened.check('player-note')
    await loseAnswer(page, 'ConsoleAddPlayerNote')
    await page.getByLabel('Note', { exact: true }).fill('Lost 500 gems.\nPromised them back.')
    await page.getByRole('button', { name: 'Add the note' }).click()
    await page.getByText('The service cannot be reached.').waitFor()
    await page.getByRole('button', { name: 'Add the note' }).click()
    await table.getByText('Promised them back.').waitFor()
    expect(await page.getByLabel('Note', { exact: true }).inputValue()).toBe('')
    // Its answer was lost, and it was added once.
    expect(await table.getByText('Promised them back.').count()).toBe(1)
    await table.getByText('ada@studio.example').first().waitFor()
    await table.getByRole('button', { name: 'Delete the note' }).first().click()
    await confirm(page, 'Delete')
    await closeDialog(page)
    await table.getByText('Delete a note about a player').waitFor()
    expect(await table.getByText('Promised them back.').count()).toBe(0)
    await opened.close()
  })

  it('undoes what support did in two presses, once, also when two operators do so', async () => {
    const player = await stage.game.player({ wallet: { gems: 100n } })
    const { playerId } = player
    await player.start('season-1')
    const grant = { playerId, scenarioId: 'season-1', nodeId: 'pass', amount: '5' }
    await act('grantXp', grant)
    await act('creditWallet', { playerId, currency: 'gems', amount: '7' })
    const [opened, late] = [await open(player), await open(player)]
    for (const { page } of [opened, late]) await page.getByRole('button', { name: 'Undo: Credit a wallet' }).waitFor()
    const { page } = opened
    const table = page.getByRole('table', { name: 'Timeline' })
    await table.getByRole('button', { name: 'Undo: Credit a wallet' }).click()
    await page.getByRole('dialog').getByText(/→/).waitFor()
    expect(await page.getByRole('dialog').getByLabel('Amount').inputValue()).toBe('7')
    await page.getByRole('dialog').getByRole('button', { name: 'Debit', exact: true }).click()
    await page.getByRole('dialog').getByText('7 gems debited.').waitFor()
    await closeDialog(page)
    await table.getByText('undone', { exact: true }).waitFor()
    await table.getByText('“Undo: ticket 20”').waitFor()
    await opened.check('player-undo')
    // A button that is not possible still has the focus, and says why.
    await table.getByRole('button', { name: 'Undo: Grant xp' }).press('Enter')
    await page.getByText('Xp cannot be taken back alone.').first().waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.getByRole('link', { name: 'Audit', exact: true }).click()
    const audit = page.getByRole('table', { name: 'Actions of operators on this player' })
    await audit.getByText('undone', { exact: true }).waitFor()
    await opened.close()

    await late.page.getByRole('button', { name: 'Undo: Credit a wallet' }).click()
    await late.page.getByRole('dialog').getByRole('button', { name: 'Debit', exact: true }).click()
    await late.page.getByText('Another action has undone it already.').waitFor()
    await late.close()
    const { data } = await stage.game.graphql(
      stage.game.platformKey,
      'query W($id: ID!) { player(id: $id) { walletLedger { nodes { amount } } } }',
      { id: playerId },
    )
    expect(data.player.walletLedger.nodes.map(({ amount }: { amount: string }) => amount).slice(0, 2)).toEqual([
      '-7',
      '7',
    ])
  })

  it('has neither actions of support nor a form for notes for a viewer, and fits a phone', async () => {
    const player = await busy()
    await act('addPlayerNote', { playerId: player.playerId, text: `A note with ${'w'.repeat(200)}` })
    const opened = await open(player, '', { role: 'viewer', width: 390 })
    const { page } = opened
    const table = page.getByRole('table', { name: 'Timeline' })
    await table.getByText(/^A note with w/).waitFor()
    expect(await table.getByText('Credit a wallet').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Support' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Add the note' }).count()).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await opened.check('player-timeline-phone')
    await opened.close()
  })
})
