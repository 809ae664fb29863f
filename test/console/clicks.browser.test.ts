import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { demoSeason } from '../../src/dev/season.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { publish, published } from '../harness/designer.ts'

// The jobs that live ops and support do most, by the number of their clicks.

/** A person at the page. Typing, and Tab from field to field, are free; all else counts. */
class Hand {
  clicks = 0
  private readonly page: Page
  constructor(page: Page) {
    this.page = page
  }

  async click(target: Locator): Promise<void> {
    this.clicks += 1
    await target.click()
  }

  /** Opens a select, and chooses from it. */
  async choose(select: Locator, option: string): Promise<void> {
    this.clicks += 2
    await select.selectOption(option)
  }

  /** Clicks into a field that Tab does not reach in one step, and types. */
  async fill(field: Locator, text: string): Promise<void> {
    await this.click(field)
    await field.fill(text)
  }

  /** A key that does something, as Enter in a form. */
  async press(key: string): Promise<void> {
    this.clicks += 1
    await this.page.keyboard.press(key)
  }

  /** Types into the field that has the focus, which must be the one with this name. */
  async type(field: string, text: string): Promise<void> {
    await this.focused(field)
    await this.page.keyboard.insertText(text)
  }

  /** Goes to a later field with Tab. */
  async tabTo(field: string): Promise<void> {
    const target = this.page.getByLabel(field, { exact: true })
    for (let step = 0; step < 20 && !(await target.evaluate(HAS_FOCUS)); step += 1)
      await this.page.keyboard.press('Tab')
    await this.focused(field)
  }

  private async focused(field: string): Promise<void> {
    const target = this.page.getByLabel(field, { exact: true })
    await expect.poll(() => target.evaluate(HAS_FOCUS), { message: `the focus is in ${field}` }).toBe(true)
  }
}

const HAS_FOCUS = (element: Element): boolean => element === document.activeElement

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the clicks of a person`, () => {
  let stage: ConsoleStage
  beforeAll(async () => {
    stage = await startConsole({ players: 350 })
  })
  afterAll(() => stage?.stop())

  const playersOf = async (count: number) => {
    const { rows } = await stage.game.app.pool.query<{ id: string; nickname: string }>(
      'SELECT id, nickname FROM players ORDER BY id LIMIT $1',
      [count],
    )
    return rows
  }

  it('are at most 4 to find a player and credit 500 gems, and 2 to undo it', async () => {
    const { page, close } = await stage.open('')
    const [{ nickname = '' } = {}] = await playersOf(1)
    const hand = new Hand(page)
    await hand.press('/')
    await hand.type('Search players, pages and commands', nickname)
    await page.getByRole('option', { name: new RegExp(`^${nickname} ?player`), selected: true }).waitFor()
    await hand.press('Enter')
    await hand.click(page.getByRole('button', { name: 'Credit' }))
    await hand.type('Currency', 'gems')
    await hand.tabTo('Amount')
    await hand.type('Amount', '500')
    await hand.tabTo('Reason')
    await hand.type('Reason', 'ticket 4711')
    await page.getByText(/gems: [\d,]+ → [\d,]+\./).waitFor()
    await hand.click(page.getByRole('dialog').getByRole('button', { name: 'Credit', exact: true }))
    await page.getByText('Row of the audit log').waitFor()
    expect(hand.clicks).toBeLessThanOrEqual(4)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()

    const other = new Hand(page)
    await other.click(page.getByRole('button', { name: 'Undo: Credit a wallet' }))
    await page.getByText(/gems: [\d,]+ → [\d,]+\./).waitFor()
    await other.click(page.getByRole('dialog').getByRole('button', { name: 'Debit', exact: true }))
    await page.getByText('Row of the audit log').waitFor()
    expect(other.clicks).toBeLessThanOrEqual(2)
    await close()
  })

  it('are at most 8 to compensate 300 players by their ids', async () => {
    const { page, close } = await stage.open('', { role: 'operator' })
    const ids = (await playersOf(300)).map(({ id }) => id)
    expect(ids).toHaveLength(300)
    const hand = new Hand(page)
    await hand.click(page.getByRole('navigation').getByRole('link', { name: 'Grants' }))
    await hand.click(page.getByRole('button', { name: 'New grant' }))
    await hand.click(page.getByRole('button', { name: 'Ids' }))
    await hand.tabTo('Ids of players')
    await hand.type('Ids of players', ids.join('\n'))
    await hand.tabTo('Currency')
    await hand.type('Currency', 'gems')
    await hand.tabTo('Amount')
    await hand.type('Amount', '100')
    await hand.tabTo('Reason')
    await hand.type('Reason', 'the outage of Friday')
    await hand.click(page.getByRole('button', { name: /^Give 100 gems to 300 players$/ }))
    await page.getByText('done', { exact: true }).waitFor()
    expect(hand.clicks).toBeLessThanOrEqual(8)
    await close()
  })

  it('are at most 10 to publish a new season as a copy of the last, with dates of its own', async () => {
    const last = demoSeason().replace(
      '"type":"battle-pass","data":{',
      '$&"startsAt":"2026-11-01T10:00:00Z","endsAt":"2026-11-29T10:00:00Z",',
    )
    await publish(stage, 'autumn', last)
    const { page, close } = await stage.open('')
    const hand = new Hand(page)
    await hand.click(page.getByRole('navigation').getByRole('link', { name: 'Designer' }))
    await hand.click(page.getByRole('button', { name: 'New scenario' }))
    await hand.type('Id', 'winter')
    await hand.tabTo('Name')
    await hand.type('Name', 'Winter')
    await hand.choose(page.getByLabel('Begin with'), 'copy autumn')
    await hand.fill(page.getByLabel('Starts (UTC)'), '2027-01-01T12:00:00')
    await hand.click(page.getByRole('button', { name: 'Begin', exact: true }))
    await hand.click(page.getByRole('region', { name: 'Views' }).getByRole('link', { name: 'Review and publish' }))
    await hand.click(page.getByRole('button', { name: 'Publish…' }))
    await hand.tabTo('Reason')
    await hand.type('Reason', 'the next season')
    await hand.click(page.getByRole('button', { name: 'Publish version 1' }))
    await page.getByText('Version 1 of winter is published in production.').waitFor()
    expect(hand.clicks).toBeLessThanOrEqual(10)
    const { name, nodes } = JSON.parse((await published(stage, 'winter'))?.definitionText ?? '')
    const { startsAt, endsAt } = nodes.find(({ type }: { type: string }) => type === 'battle-pass').data
    expect([name, startsAt, endsAt]).toEqual(['Winter', '2027-01-01T12:00:00Z', '2027-01-29T12:00:00Z'])
    await close()
  })
})
