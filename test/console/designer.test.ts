import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../support/browser.ts'
import { type ConsoleStage, startConsole } from '../support/console.ts'

const DEFINITION = `query Text($scenarioId: String!) {
  scenario(environment: "production", scenarioId: $scenarioId) { version definitionText }
}`
const PUBLISH = `mutation Publish($input: PublishScenarioInput!) {
  publishScenario(input: $input) { scenario { version } }
}`

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole({ players: 60 })
})
afterAll(() => stage?.stop())

async function published(scenarioId: string): Promise<{ version: number; definitionText: string }> {
  const { data } = await stage.game.graphql(stage.game.platformKey, DEFINITION, { scenarioId })
  return (data as { scenario: { version: number; definitionText: string } }).scenario
}

async function publish(scenarioId: string, definition: string): Promise<void> {
  const input = { environment: 'production', scenarioId, definition, reason: 'test' }
  const { errors } = await stage.game.graphql(stage.game.platformKey, PUBLISH, { input })
  expect(errors).toBeUndefined()
}

const cell = (page: Page, level: number, column: string) =>
  page.getByLabel(`Level ${level}, ${column}`, { exact: true })
const tab = (page: Page, name: string) =>
  page.getByRole('region', { name: 'Views' }).getByRole('link', { name }).click()
const valid = (page: Page) => page.getByText('No faults: it can be published').waitFor()

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the designer`, () => {
  it('changes a tier in the table, shows it in every view, previews, publishes and goes back', async () => {
    const opened = await stage.open('/env/production/scenarios')
    const { page } = opened
    const before = await published('season-1')
    await page.getByRole('link', { name: 'season-1' }).click()
    await page.getByText('battle-pass node pass').or(page.getByLabel('battle-pass node pass')).first().waitFor()
    await valid(page)
    await opened.check('designer-graph')

    await tab(page, 'Table')
    await cell(page, 2, 'xp').fill('400')
    await cell(page, 2, 'free rewards').fill('77 gold, 1 item:sword')
    await page.getByRole('button', { name: 'Delete level 100' }).waitFor({ state: 'detached' })
    await valid(page)
    await opened.check('designer-table')

    await tab(page, 'JSON')
    await page.getByLabel('Definition as JSON').waitFor()
    await opened.check('designer-json')

    await tab(page, 'Review and publish')
    await page.getByText('Level 2 needs 400 xp instead of 500.').waitFor()
    await page.getByText(/The free tier of level 2 grants 77 gold, 1 item:sword instead of/).waitFor()
    await page.getByText(/pass: .* would be at a higher level at once/).waitFor()
    await opened.check('designer-review')
    await page.getByRole('button', { name: 'Publish…' }).click()
    await page.getByLabel('Reason').fill('level 2 was too far')
    await opened.check('designer-publish')
    await page.getByRole('button', { name: 'Publish version 2' }).click()
    await page.getByText('Version 2 of season-1 is published in production.').waitFor()
    await page.getByRole('link', { name: 'Row of the audit log' }).waitFor()
    await page.getByRole('dialog').getByText('Close').click()

    await tab(page, 'Versions')
    await page.getByText('level 2 was too far').waitFor()
    await page.getByText('Level 2 needs 400 xp instead of 500.').waitFor()
    await opened.check('designer-versions')
    await page.getByRole('button', { name: 'Go back to version 1' }).click()
    await page.getByLabel('Reason').fill('the tier was missed')
    await page.getByText(/pass: .* would be at a lower level/).waitFor()
    await opened.check('designer-go-back')
    await page.getByRole('button', { name: 'Publish version 3' }).click()
    await page.getByText('Version 3 is published, with the text of version 1.').waitFor()
    expect(await published('season-1')).toEqual({ version: 3, definitionText: before.definitionText })
    await opened.close()
  })
})
