import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { season } from '../harness/definitions.ts'
import { cell, keptText, publish, published, SUMMER, valid, view } from '../harness/designer.ts'
import { until } from '../harness/until.ts'
import { workbook, workbookOf } from '../harness/workbook.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole()
})
afterAll(() => stage?.stop())

/** Pastes a text as if it was copied from a spreadsheet. */
const paste = (into: Locator, text: string): Promise<void> =>
  into.evaluate((element, data) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', data)
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }, text)

const draftIs = (page: Page, scenarioId: string, text: string): Promise<void> =>
  until(`the draft is ${text}`, async () => (await keptText(page, scenarioId)) === text)

const focusedOn = (page: Page, label: string): Promise<void> =>
  until(`${label} has the focus`, async () => (await page.evaluate('document.activeElement.ariaLabel')) === label)

const selectedLine = async (page: Page): Promise<string> => (await page.locator('.cm-activeLine').textContent()) ?? ''

async function open(scenarioId: string, tab: string, text = SUMMER) {
  await publish(stage, scenarioId, text)
  const opened = await stage.open(`/env/production/scenarios/${scenarioId}/${tab}`)
  return opened
}

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the views of a draft`, () => {
  it('edit one text, and keep numbers beyond 2^53, custom members and spaces byte for byte', async () => {
    const opened = await open('one', 'table')
    const { page } = opened
    let text = SUMMER
    await cell(page, 2, 'xp').fill('150')
    text = text.replace('"xp": 100', '"xp": 150')
    await draftIs(page, 'one', text)

    await view(page, 'Graph')
    await page.getByLabel('popup node hello').click()
    await page.getByLabel('title', { exact: true }).fill('Hi')
    text = text.replace('"Hello"', '"Hi"')
    await page.getByLabel('Handle').fill('closed')
    await page.getByLabel('To', { exact: true }).fill('first')
    await page.getByRole('button', { name: 'Add edge' }).click()
    text = text.replace(
      '"to": "second" }',
      '"to": "second" },\n    { "from": "hello", "handle": "closed", "to": "first" }',
    )
    await draftIs(page, 'one', text)
    await valid(page)
    await opened.check('designer-node')

    await view(page, 'JSON')
    await page.getByText('"xp": 150').click()
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.type('0')
    text = text.replace('"xp": 150', '"xp": 1500')
    await draftIs(page, 'one', text)
    await opened.check('designer-json')

    await view(page, 'Table')
    expect(await cell(page, 2, 'xp').inputValue()).toBe('1500')
    for (let step = 0; step < 4; step += 1) await page.getByRole('button', { name: 'Undo' }).click()
    expect(await page.getByRole('button', { name: 'Undo' }).isDisabled()).toBe(true)
    await until('nothing is kept', async () => (await keptText(page, 'one')) === null)
    for (let step = 0; step < 4; step += 1) await page.keyboard.press('Control+Shift+z')
    await draftIs(page, 'one', text)

    await view(page, 'Review and publish')
    await page.getByRole('button', { name: 'Publish…' }).click()
    await page.getByLabel('Reason').fill('test')
    await page.getByRole('button', { name: 'Publish version 2' }).click()
    await page.getByText('Version 2 of one is published').waitFor()
    expect((await published(stage, 'one'))?.definitionText).toBe(text)
    await opened.close()
  })

  it('accept pasted rows of a spreadsheet as one step, or paste nothing and report the faulty cells', async () => {
    const opened = await open('paste', 'table')
    const { page } = opened
    await paste(cell(page, 2, 'xp'), '200\tlots\n300\t70 gold\n')
    await page.getByText('Nothing was pasted.').waitFor()
    await page.getByText('Row 1, free “lots”').waitFor()
    await opened.check('designer-paste-fault')
    expect(await cell(page, 2, 'xp').inputValue()).toBe('100')
    expect(await cell(page, 3, 'xp').inputValue()).toBe('9007199254740993')
    expect(await page.getByRole('button', { name: 'Undo' }).isDisabled()).toBe(true)
    await paste(cell(page, 2, 'xp'), '200\t60 gold\n1,300\t\t1 item:hat\n2400\t80 gold\n')
    await page.getByText('Pasted. New levels: 1.').waitFor()
    expect(await cell(page, 3, 'premium rewards').inputValue()).toBe('1 item:hat')
    expect(await cell(page, 4, 'xp').inputValue()).toBe('2400')
    await valid(page)
    await page.keyboard.press('Control+z')
    await until('it is undone', async () => (await cell(page, 2, 'xp').inputValue()) === '100')
    expect(await cell(page, 4, 'xp').count()).toBe(0)
    await opened.close()
  })

  it('import a sheet of a workbook, chosen or dropped, and say which one and what cannot be read', async () => {
    const opened = await open('xlsx', 'table')
    const { page } = opened
    const choose = (buffer: Buffer) =>
      page.getByLabel('Import a table').setInputFiles({ name: 'Season.XLSX', mimeType: '', buffer })
    const dialog = page.getByRole('dialog')
    const rows = (xp: number | string) => [
      ['level', 'note', 'xp', 'free'],
      [1, 'the first', 0, null],
      [2, null, xp, '50 gold, "rare" & 1 item:hat'],
    ]
    await choose(workbook(rows('one')))
    await dialog.getByText('Line 3, xp “one”').waitFor()
    await page.keyboard.press('Escape')
    await choose(workbook(rows(2 ** 53)))
    await dialog.getByText('Cell C3 is a number of more than fifteen digits').waitFor()
    await page.keyboard.press('Escape')
    await choose(Buffer.from('PK, but no workbook'))
    await dialog.getByText('The file is no workbook that can be read.').waitFor()
    await page.keyboard.press('Escape')
    await choose(Buffer.alloc(500_001))
    await dialog.getByText('The workbook has more than 500 kB.').waitFor()
    await page.keyboard.press('Escape')
    const levels = (second: readonly (string | number)[]) => [
      ['level', 'note', 'xp', 'free'],
      [1, null, 0, null],
      second,
    ]
    await choose(
      workbookOf([
        { name: 'old', state: 'hidden', rows: [['level', 'xp']] },
        { name: 'draft', rows: [...levels([2, 'x', 90, '1 gold']), [3, null, 95, null]] },
        { name: 'final', rows: levels([2, 'x', 120, '60 gold']) },
      ]),
    )
    await dialog.getByText('The table has 3 levels.').waitFor()
    expect(await dialog.getByLabel('Sheet').locator('option').allTextContents()).toEqual(['draft', 'final'])
    await dialog.getByLabel('Sheet').selectOption('final')
    await dialog.getByText('The table has 2 levels.').waitFor()
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await until('the level has the xp', async () => (await cell(page, 2, 'xp').inputValue()) === '120')
    await until('the tier has the reward', async () => (await keptText(page, 'xlsx'))?.includes('60') === true)
    await opened.check('designer-workbook')
    await opened.close()
  })

  it('export and import CSV, and show the changes of a file before the import', async () => {
    const opened = await open('csv', 'table')
    const { page } = opened
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const saved = await saving
    expect(saved.suggestedFilename()).toBe('pass.csv')
    const csv = await readFile(await saved.path(), 'utf8')
    // With a mark of UTF-8, by which spreadsheets know it.
    expect(csv).toBe('\ufefflevel,xp,free,premium\r\n1,0,,\r\n2,100,50 gold,\r\n3,9007199254740993,,\r\n')
    const file = join(tmpdir(), `designer-${process.pid}.csv`)
    await writeFile(file, csv)
    await page.getByLabel('Import a table').setInputFiles(file)
    await page.getByRole('dialog').getByText('No differences').waitFor()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    expect(await page.getByRole('button', { name: 'Undo' }).isDisabled()).toBe(true)
    await writeFile(file, csv.replace('50 gold', '50 gold, 1 item:""x'))
    await page.getByLabel('Import a table').setInputFiles(file)
    await page.getByText('This file cannot be imported.').waitFor()
    await page.getByRole('dialog').getByText('Cancel').click()
    await writeFile(file, csv.replace('50 gold', '60 gold').replace('9007199254740993', '9007199254740995'))
    await page.getByLabel('Import a table').setInputFiles(file)
    await page.getByText('Level 3 needs 9,007,199,254,740,995 xp instead of 9,007,199,254,740,993.').waitFor()
    await opened.check('designer-import')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await draftIs(page, 'csv', SUMMER.replace('0993', '0995').replace('"amount": 50', '"amount": 60'))
    await opened.close()
  })

  it('lead from a fault to its row, also to one that is far from the rows on the screen', async () => {
    const levels = Array.from({ length: 150 }, (_, index) => index * 100)
    const { page, close } = await open('far', 'table', JSON.stringify(season({ levels })))
    const scrollTo = (top: number) =>
      page.getByRole('region', { name: 'Levels of pass' }).evaluate((one, to) => one.scrollTo(0, to), top)
    await scrollTo(1e6)
    await cell(page, 140, 'xp').fill('5')
    await scrollTo(0)
    await cell(page, 2, 'xp').fill('0')
    await cell(page, 140, 'xp').waitFor({ state: 'detached' })
    for (const level of [140, 2, 140]) {
      await page.getByRole('button', { name: new RegExp(`level ${level}, xp Must be`) }).click()
      await focusedOn(page, `Level ${level}, xp`)
    }
    await close()
  })

  it('show faults at their places, and a list that leads there', async () => {
    const faulty = SUMMER.replace('"id": "second", "type": "reward"', '"id": "second", "type": "popup"')
    const opened = await open('faults', 'table', faulty)
    const { page } = opened
    await cell(page, 2, 'xp').fill('0')
    await page.getByRole('button', { name: /pass, level 2, xp Must be more than the xp/ }).waitFor()
    expect(await cell(page, 2, 'xp').getAttribute('aria-invalid')).toBe('true')
    await cell(page, 3, 'free rewards').fill('some gold')
    expect(await cell(page, 3, 'free rewards').getAttribute('aria-invalid')).toBe('true')
    await opened.check('designer-faults-table')
    await cell(page, 1, 'level').focus()
    await cell(page, 3, 'free rewards').press('Escape')
    expect(await cell(page, 3, 'free rewards').inputValue()).toBe('')
    await page.getByRole('button', { name: /pass, level 2, xp/ }).click()
    await focusedOn(page, 'Level 2, xp')

    await cell(page, 3, 'premium rewards').fill('no reward')
    await view(page, 'Graph')
    await page.getByText('“no reward” was not taken over, as it could not be read.').waitFor()
    await page.getByLabel('battle-pass node pass').getByText('1 fault').waitFor()
    await page.getByRole('button', { name: /pass, level 2, xp/ }).click()
    await page.getByRole('heading', { name: 'pass', exact: true }).waitFor()
    await opened.check('designer-faults-graph')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(1280)

    await view(page, 'JSON')
    await page.getByRole('button', { name: /pass, level 2, xp/ }).click()
    await page.getByLabel('Definition as JSON').waitFor()
    await until('the value is selected', async () => (await page.evaluate('String(getSelection())')) === '0')
    await page.keyboard.type('x')
    await page.getByText(/line 8, column \d+/).waitFor()
    await page.getByText('1 fault').waitFor()
    await opened.check('designer-faults-json')
    await view(page, 'Table')
    await page.getByText('The text is not JSON now, so this view shows it as it was before.').waitFor()
    await view(page, 'Review and publish')
    await page.getByText('It cannot be published yet. The text is not JSON.').waitFor()
    expect(await page.getByRole('button', { name: 'Publish…' }).isDisabled()).toBe(true)
    await opened.close()
  })

  it('draw each type of the service in a colour of its own, and fill the screen on demand', async () => {
    const opened = await open('colours', 'graph')
    const { page } = opened
    const colours: string[] = []
    for (const name of ['start node start', 'battle-pass node pass', 'reward node first', 'popup node hello']) {
      const node = page.getByLabel(name)
      await node.waitFor()
      colours.push(
        await node.evaluate((element) => getComputedStyle(element.firstElementChild as Element).borderLeftColor),
      )
    }
    expect(new Set(colours).size).toBe(colours.length)
    const height = async () => (await page.locator('.react-flow').boundingBox())?.height ?? 0
    const before = await height()
    const button = page.getByRole('button', { name: 'Full screen' })
    await button.click()
    await until('the canvas is higher', async () => (await height()) > before + 50)
    const start = page.getByLabel('start node start')
    const left = (await page.locator('.react-flow').boundingBox())?.x ?? 0
    await until('all nodes are seen', async () => ((await start.boundingBox())?.x ?? 0) > left)
    await opened.check('designer-full-screen')
    // Messages and dialogs are seen there, too.
    expect(await page.evaluate("document.fullscreenElement.contains(document.querySelector('.toasts'))")).toBe(true)
    await page.getByRole('button', { name: 'Add node' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByLabel('reward node reward').waitFor()
    await button.click()
    await until('the canvas is as it was', async () => (await height()) === before)
    await opened.close()
  })

  it('do not draw an edge that the service refuses, such as a cycle of rewards, and say why', async () => {
    const opened = await open('circle', 'graph')
    const { page } = opened
    const [first, second] = [page.getByLabel('reward node first'), page.getByLabel('reward node second')]
    // The graph moves while it fits into its frame.
    let before = ''
    await until('the nodes stand still', async () => {
      const now = JSON.stringify([await first.boundingBox(), await second.boundingBox()])
      const isStill = now === before
      before = now
      return isStill
    })
    const port = async (node: Locator, side: 'left' | 'right') => {
      const box = await node.boundingBox()
      const handle = await node.getByText('onComplete').boundingBox()
      if (!box || !handle) throw new Error('the node is not shown')
      return side === 'left'
        ? { x: box.x, y: box.y + box.height / 2 }
        : { x: box.x + box.width, y: handle.y + handle.height / 2 }
    }
    const drag = async (from: { x: number; y: number }, to: { x: number; y: number }) => {
      await page.mouse.move(from.x, from.y)
      await page.mouse.down()
      await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 4 })
      await page.mouse.move(to.x, to.y, { steps: 4 })
      await page.mouse.up()
    }
    await drag(await port(second, 'right'), await port(first, 'left'))
    await page.getByText('These nodes run by themselves, so a circle of them would never end.').waitFor()
    expect(await keptText(page, 'circle')).toBeNull()
    await drag(await port(second, 'right'), await port(page.getByLabel('popup node hello'), 'left'))
    await page.getByLabel('Edge from second, onComplete, to hello').waitFor({ state: 'attached' })
    await draftIs(
      page,
      'circle',
      SUMMER.replace(
        '"to": "second" }',
        '"to": "second" },\n    { "from": "second", "handle": "onComplete", "to": "hello" }',
      ),
    )
    await page.getByRole('button', { name: 'Undo' }).click()

    await second.click()
    await page.getByLabel('Id', { exact: true }).fill('pass')
    await page.getByText('It is empty, or another node has it.').waitFor()
    await page.getByLabel('Id', { exact: true }).fill('third')
    await page.getByLabel('reward node third').waitFor()
    await page.getByLabel('To', { exact: true }).fill('first')
    await page.getByText('a circle of them would never end').last().waitFor()
    expect(await page.getByRole('button', { name: 'Add edge' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Remove the edge' }).count()
    await page.getByRole('button', { name: 'Delete node' }).click()
    await page.getByLabel('reward node third').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add node' }).click()
    await page.getByLabel('Type').fill('cutscene')
    await opened.check('designer-add-node')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('heading', { name: 'cutscene' }).waitFor()
    await page.getByLabel('cutscene node cutscene').focus()
    for (const key of ['Tab', 'Shift+Tab']) await page.keyboard.press(key)
    const outline = "getComputedStyle(document.activeElement.querySelector('div')).outlineStyle"
    expect(await page.evaluate(outline)).toBe('solid')
    await page.keyboard.press('Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
    await page.getByLabel('cutscene node cutscene').focus()
    await page.keyboard.press('Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByLabel('cutscene node cutscene').waitFor({ state: 'detached' })
    await valid(page)
    await opened.close()
  })

  it('edit pass and reward nodes by fields, and keep all other members', async () => {
    const opened = await open('fields', 'graph')
    const { page } = opened
    await page.getByLabel('battle-pass node pass').click()
    await page.getByLabel('Price').fill('9007199254740993')
    await page.getByLabel('Ends (UTC)').fill('2026-12-01T00:00:00')
    await draftIs(
      page,
      'fields',
      SUMMER.replace('"amount": 950', '"amount": 9007199254740993').replace(/("premium": .*\n)/, (line) =>
        line.replace('\n', ',\n      "endsAt": "2026-12-01T00:00:00Z"\n'),
      ),
    )
    await page.getByLabel('Xp bonus of owners').fill('20')
    await page.getByLabel('Granted with the purchase').fill('500 gold, 1 item:hat')
    await until('premium brings more', async () => {
      const text = (await keptText(page, 'fields')) ?? ''
      return /"xpPercent": 20,\s+"instant": \[[^\]]*"gold"[^\]]*"hat"[^\]]*\]/.test(text)
    })
    await page.getByLabel('Scenario').fill('season-2')
    await page.getByLabel('Percent of the xp to take along').fill('10')
    await page.getByLabel('Owners of premium own it there, too').check()
    await page.getByLabel('Currencies that end with the season').fill('tickets to gold 1:10, stars')
    await until('the next season is named', async () => {
      const text = (await keptText(page, 'fields')) ?? ''
      const carried = /"next": \{\s+"scenarioId": "season-2",\s+"carry": \{\s*"xpPercent": 10,\s*"premium": true\s*\}/
      return carried.test(text) && /"currency": "tickets", "to": "gold", "rate": "1:10"/.test(text.replace(/\s+/g, ' '))
    })
    await page.getByLabel('Xp for each bonus tier').fill('1000')
    await page.getByLabel('Rewards of each bonus tier').fill('50 gold')
    await page.getByLabel('Bonus tiers on a day').fill('1')
    await until('xp above the top level earns bonus tiers', async () => {
      const text = (await keptText(page, 'fields')) ?? ''
      return /"beyond": \{\s*"every": 1000,\s*"rewards": \[[^\]]*"gold"[^\]]*\],\s*"perDay": 1\s*\}/.test(text)
    })
    for (const label of ['Bonus tiers on a day', 'Rewards of each bonus tier', 'Xp for each bonus tier'])
      await page.getByLabel(label).fill('')
    await page.getByLabel('Currency for xp').fill('gold')
    await page.getByLabel('Xp for one of a currency').fill('100')
    await until('xp above the top level becomes a currency', async () =>
      /"beyond": \{\s*"convert": \{\s*"currency": "gold",\s*"per": 100\s*\}\s*\}/.test(
        (await keptText(page, 'fields')) ?? '',
      ),
    )
    await page.getByLabel('Sell premium').uncheck()
    await page.getByLabel('Price').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Edit levels and tiers' }).click()
    await cell(page, 2, 'free rewards').waitFor()
    await view(page, 'Graph')
    await page.getByLabel('reward node first').click()
    await page.getByLabel('Rewards').fill('5 gold, 2 item:hat')
    await page.getByLabel('Pays a player').selectOption('once in each run')
    await until('the reward is changed', async () =>
      ((await keptText(page, 'fields')) ?? '').includes(
        '{ "rewards": [{ "currency": "gold", "amount": 5 }, { "itemId": "hat", "amount": 2 }], "repeat": "run" }',
      ),
    )
    await valid(page)
    await opened.close()
  })

  it('edit the rules of xp by fields, exact, and keep all other members', async () => {
    const rules = `"xp": { "note": 1.0, "perWeek": null, "sources": { "my match": { "max": 500, "icon": "sword" } } }`
    const text = SUMMER.replace('"premium": {', `${rules}, "premium": {`)
    const opened = await open('rules', 'graph?at=nodes[1]', text)
    const { page } = opened
    const changed = (from: string, to: string) => draftIs(page, 'rules', text.replace(from, to))
    const field = (label: string) => page.getByLabel(label, { exact: true })
    await field('Most xp per week, all sources').fill('9007199254740993')
    await changed('"perWeek": null', '"perWeek": 9007199254740993')
    await field('Most xp per week, all sources').fill('')
    await changed('"perWeek": null, ', '')
    await field('Xp may come from').selectOption('servers only')
    await field('Sources that are not listed may be sent').uncheck()
    await field('Xp over a limit').selectOption('is refused')
    await field('A day begins at').fill('04:00')
    await field('Time zone').fill('Europe/Berlin')

    await page.getByText('500 per call').click()
    await field('my match may come from').selectOption('clients and servers')
    await field('Most xp per day, my match').fill('9007199254740995')
    await field('New source').fill('a.b')
    await page.getByRole('button', { name: 'Add source' }).click()
    await field('Most xp per season, a.b').fill('7')
    const sources =
      '"sources": { "my match": { "max": 500, "icon": "sword", "from": "client", "perDay": 9007199254740995 }, "a.b": { "perSeason": 7 } }'
    const whole = text.replace(
      rules,
      `"xp": { "note": 1.0, ${sources}, "from": "server", "others": false, "over": "refuse", "dayStartsAt": "04:00", "timeZone": "Europe/Berlin" }`,
    )
    await draftIs(page, 'rules', whole)
    await valid(page)
    await page.getByText('clients and servers, 500 per call, 9,007,199,254,740,995 per day').waitFor()
    await opened.check('designer-xp')
    await page.setViewportSize({ width: 390, height: 844 })
    await opened.check('designer-xp-390')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)

    const rename = page.getByRole('button', { name: 'Rename the source a.b' })
    await field('Name of a.b').fill('my match')
    expect(await rename.isDisabled()).toBe(true)
    await field('Name of a.b').fill('duel')
    await rename.click()
    await draftIs(page, 'rules', whole.replace('"a.b"', '"duel"'))
    expect(await page.evaluate('document.activeElement.textContent')).toContain('duel')
    expect(await field('Most xp per season, duel').inputValue()).toBe('7')
    await page.getByRole('button', { name: 'Undo' }).click()

    await page.getByRole('button', { name: 'Remove the source my match' }).click()
    await page.getByRole('button', { name: 'Remove the rules of xp' }).click()
    await page.getByText('Clients may send xp of any source, without a limit.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    // A source is open while it has a fault.
    await page.getByText('7 per season').click()
    await field('Most xp per season, a.b').fill('9223372036854775808')
    await page.getByText('9,223,372,036,854,775,808 per season').click()
    await page.getByRole('group').filter({ hasText: 'a.b' }).getByText('Must be 0 to 9223372036854775807.').waitFor()
    await opened.close()
  })

  it('say who may cross a handle and give xp, with their faults, and review it in words', async () => {
    const edge = ',\n    { "from": "hello", "handle": "closed", "to": "first" }\n  ]'
    const text = SUMMER.replace('\n  ]\n}', `${edge}\n}`)
    const opened = await open('handles', 'graph', text)
    const { page } = opened
    const field = (label: string) => page.getByLabel(label, { exact: true })
    const undo = () => page.getByRole('button', { name: 'Undo' }).click()
    const card = page.getByLabel('popup node hello')
    await card.click()
    expect(await field('onComplete may be crossed by').inputValue()).toBe('client')
    await field('closed may be crossed by').selectOption('servers only')
    const ruled = text.replace('"size": 1.0 } }', '"size": 1.0 }, "handles": { "closed": { "from": "server" } } }')
    await draftIs(page, 'handles', ruled)
    await card.getByText('servers only').waitFor()
    await valid(page)
    await opened.check('designer-handles')
    await page.setViewportSize({ width: 390, height: 844 })
    await opened.check('designer-handles-390')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.setViewportSize({ width: 1280, height: 900 })

    await page.getByRole('button', { name: 'Remove the edge closed to first' }).click()
    await page.getByText('Must be `onComplete`, or stand on an edge of the node.').first().waitFor()
    expect(await field('closed may be crossed by').getAttribute('aria-invalid')).toBe('true')
    await undo()
    await field('Type').fill('start')
    await page.getByRole('button', { name: 'Remove the rules of handles' }).click()
    await draftIs(page, 'handles', text.replace('"type": "popup"', '"type": "start"'))
    await undo()
    await undo()
    await draftIs(page, 'handles', ruled)

    await page.getByLabel('battle-pass node pass').click()
    await page.getByRole('button', { name: 'Limit xp' }).click()
    await field('New source').fill('match')
    await page.getByRole('button', { name: 'Add source' }).click()
    await field('Most xp per call, match').fill('500')
    await view(page, 'Review and publish')
    await page.getByText('closed may be crossed by servers only instead of clients and servers.').waitFor()
    await page.getByText('Xp may come from clients and servers.').waitFor()
    await page.getByText('New source match: 500 per call.').waitFor()
    await opened.check('designer-rules-review')
    await opened.close()
  })

  it('can be side by side: the JSON shows the selected node, and the graph shows an edit of the JSON', async () => {
    const opened = await open('beside', 'graph')
    const { page } = opened
    await page.getByRole('button', { name: 'Show JSON' }).click()
    await page.getByLabel('Definition as JSON').waitFor()
    await page.getByLabel('popup node hello').click()
    await until('the text of the node is shown', async () => (await selectedLine(page)).includes('"id": "hello"'))
    await page.getByText('"Hello"', { exact: true }).dblclick()
    await page.keyboard.type('Welcome')
    await page.getByLabel('popup node hello').getByText('Welcome').waitFor()
    await draftIs(page, 'beside', SUMMER.replace('"Hello"', '"Welcome"'))
    await valid(page)
    await opened.check('designer-beside')

    await page.reload()
    await page.getByLabel('Definition as JSON').waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await opened.check('designer-beside-390')
    await page.getByRole('button', { name: 'Show fields' }).click()
    expect(await page.getByLabel('title', { exact: true }).inputValue()).toBe('Welcome')
    expect(await page.getByLabel('Definition as JSON').count()).toBe(0)
    await opened.close()
  })

  it('complete a handle in the JSON', async () => {
    const opened = await open('complete', 'json')
    const { page } = opened
    await page.getByText('"onLevelUp"', { exact: true }).click()
    await page.keyboard.press('Control+Space')
    await page.getByRole('option', { name: 'onMaxLevel' }).waitFor()
    await opened.check('designer-completion')
    await page.getByRole('option', { name: 'onMaxLevel' }).click()
    await draftIs(page, 'complete', SUMMER.replace('onLevelUp', 'onMaxLevel'))
    await opened.close()
  })

  it('are usable at 390 pixels, and in dark mode', async () => {
    const opened = await open('small', 'graph')
    const { page } = opened
    for (const tab of ['graph', 'graph?at=nodes[1]', 'table', 'json', 'review', 'versions']) {
      await page.goto(`${stage.game.baseUrl}/console/env/production/scenarios/small/${tab}`)
      await page.getByRole('heading', { name: 'small' }).waitFor()
      await page.getByText('Loading…').waitFor({ state: 'detached' })
      if (tab === 'json') await page.getByLabel('Definition as JSON').waitFor()
      if (tab.endsWith(']')) await page.getByRole('heading', { name: 'pass', exact: true }).waitFor()
      if (tab === 'graph') await page.getByLabel('battle-pass node pass').waitFor({ state: 'attached' })
      if (tab === 'versions') await page.getByRole('cell', { name: '1 current' }).waitFor()
      for (const [width, colorScheme] of [
        [390, 'light'],
        [1280, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        await opened.check(`designer-${tab.replace(/\W/g, '')}-${width}-${colorScheme}`)
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      }
    }
    await opened.close()
  })

  it('stay usable with 1,000 nodes and 70,000 keys', async () => {
    const levels = Array.from({ length: 1_000 }, (_, at) => ({ level: at + 1, xp: at * 100 }))
    const tiers = levels.flatMap(({ level }) =>
      ['free', 'premium'].map((track) => ({ level, track, rewards: [{ currency: 'gold', amount: level }] })),
    )
    const members = Object.fromEntries(Array.from({ length: 55 }, (_, at) => [`m${at}`, at]))
    const nodes = Array.from({ length: 997 }, (_, at) => ({ id: `n${at}`, type: 'popup', data: { ...members } }))
    const large = JSON.stringify({
      name: 'Large',
      start: 'start',
      nodes: [
        { id: 'start', type: 'start' },
        {
          id: 'pass',
          type: 'battle-pass',
          data: { levels, tiers, premium: { price: { currency: 'gems', amount: 1 } } },
        },
        ...nodes,
      ],
      edges: [
        { from: 'start', handle: 'onStart', to: 'pass' },
        ...nodes.map(({ id }, at) => ({
          from: at === 0 ? 'start' : `n${Math.floor((at - 1) / 3)}`,
          handle: at === 0 ? 'onStart' : 'next',
          to: id,
        })),
      ],
    })
    const opened = await open('large', 'graph', large)
    const { page } = opened
    await page.getByLabel('Find a node').fill('n990')
    await page.getByRole('list', { name: 'Nodes' }).getByRole('button', { name: 'n990' }).click()
    await page.getByRole('heading', { name: 'n990' }).waitFor()
    await page.getByLabel('m0', { exact: true }).fill('7')
    await opened.check('designer-large-graph')
    await view(page, 'Table')
    await cell(page, 2, 'xp').fill('101')
    await cell(page, 2, 'xp').press('ArrowDown')
    await focusedOn(page, 'Level 3, xp')
    expect(await page.getByRole('row').count()).toBeLessThan(100)
    await view(page, 'JSON')
    await page.getByRole('button', { name: 'Break it into lines' }).click()
    await page.getByText('"name": "Large"').click()
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.type('r')
    await view(page, 'Review and publish')
    await page.getByText('Level 2 needs 101 xp instead of 100.').waitFor()
    await page.getByText('m0 is 7 instead of 0.').waitFor()
    await page.getByText('The name is "Larger" instead of "Large".').waitFor()
    await opened.close()
  })
})
