import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { season } from '../harness/definitions.ts'
import { cell, keptText, publish, published, SUMMER, valid, view } from '../harness/designer.ts'
import { until } from '../harness/until.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole({ players: 60 })
})
afterAll(() => stage?.stop())

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the designer`, () => {
  it('changes a tier, previews its effect on players, publishes it and goes back', async () => {
    const before = await published(stage, 'season-1')
    const opened = await stage.open('/env/production/scenarios')
    const { page } = opened
    await opened.check('designer-list')
    await page.getByRole('link', { name: 'season-1' }).click()
    await page.getByLabel('battle-pass node pass').waitFor()
    await valid(page)
    await opened.check('designer-graph')

    await view(page, 'Table')
    await cell(page, 2, 'xp').fill('400')
    await cell(page, 2, 'free rewards').fill('77 gold, 1 item:sword')
    await valid(page)
    await page.getByText('100 levels, ').waitFor()
    await page.getByRole('application', { name: 'Xp from level to level' }).waitFor()
    await opened.check('designer-table')

    await view(page, 'Review and publish')
    await page.getByText('Level 2 needs 400 xp instead of 500.').waitFor()
    await page.getByText(/^Premium for 950 gems: /).waitFor()
    await page.getByText('The free tier of level 2 grants 77 gold, 1 item:sword instead of 60 gold.').waitFor()
    await page.getByText(/pass: \d+ players of \d+ would be at a higher level at once/).waitFor()
    await page.getByRole('table', { name: 'Players at each level of pass that changes' }).waitFor()
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByText(/would have reached the top level, 100/).waitFor()
    await opened.check('designer-review')
    await page.getByRole('button', { name: 'Publish…' }).click()
    await page.getByLabel('Reason').fill('level 2 was too far')
    await opened.check('designer-publish')
    await page.getByRole('button', { name: 'Publish version 2' }).click()
    await page.getByText('Version 2 of season-1 is published in production.').waitFor()
    await page.getByRole('link', { name: 'Row of the audit log' }).waitFor()
    await page.getByRole('dialog').getByText('Close').click()
    expect(await keptText(page, 'season-1')).toBeNull()

    await view(page, 'Versions')
    await page.getByText('level 2 was too far').waitFor()
    await page.getByText('Level 2 needs 400 xp instead of 500.').waitFor()
    await opened.check('designer-versions')
    await page.getByRole('button', { name: 'Go back to version 1' }).click()
    await page.getByLabel('Reason').fill('the tier was missed')
    await page.getByText(/pass: \d+ players of \d+ would be at a lower level/).waitFor()
    await opened.check('designer-go-back')
    await page.getByRole('button', { name: 'Publish version 3' }).click()
    await page.getByText('Version 3 is published, with the text of version 1.').waitFor()
    expect(await published(stage, 'season-1')).toEqual({ ...before, version: 3 })
    await opened.close()
  })

  it('plans a publication, lists it, and cancels it', async () => {
    await stage.game.publish('planned', season())
    const opened = await stage.open('/env/production/scenarios/planned')
    const { page } = opened
    await view(page, 'Table')
    await cell(page, 2, 'xp').fill('40')
    await valid(page)
    await view(page, 'Review and publish')
    await page.getByRole('button', { name: 'Publish…' }).click()
    await page.getByLabel('Publish at (UTC)').fill('2099-01-01T00:00:00')
    await page.getByLabel('Reason').fill('the weekend')
    await opened.check('designer-plan')
    await page.getByRole('button', { name: 'Plan the publication' }).click()
    await page.getByText(/The draft is published 2099-01-01 00:00/).waitFor()
    await page.getByRole('dialog').getByText('Close').click()

    await view(page, 'Versions')
    const planned = page.getByRole('table', { name: 'Planned publications' })
    await planned.getByText('the weekend').waitFor()
    await opened.check('designer-planned')
    await planned.getByRole('button', { name: 'Cancel it' }).click()
    await page.getByLabel('Reason').fill('not yet')
    await page.getByRole('button', { name: 'Cancel the publication' }).click()
    await page.getByText('The publication is cancelled. Nothing will be published.').waitFor()
    await page.getByRole('dialog').getByText('Close').click()
    await planned.getByText('cancelled').waitFor()
    expect(await published(stage, 'planned')).toMatchObject({ version: 1 })
    await opened.close()
  })

  it('names the person who published meanwhile, overwrites nothing, and carries the changes over', async () => {
    await publish(stage, 'two', SUMMER)
    const ada = await stage.open('/env/production/scenarios/two/table')
    const grace = await stage.open('/env/production/scenarios/two/table', { role: 'admin' })
    await cell(ada.page, 2, 'xp').fill('150')
    await cell(grace.page, 2, 'free rewards').fill('60 gold')
    await view(grace.page, 'Review and publish')
    await grace.page.getByRole('button', { name: 'Publish…' }).click()
    await grace.page.getByLabel('Reason').fill('more gold')
    await view(ada.page, 'Review and publish')
    await ada.page.getByRole('button', { name: 'Publish…' }).click()
    await ada.page.getByLabel('Reason').fill('level 2 was too far')
    await grace.page.getByRole('button', { name: 'Publish version 2' }).click()
    await grace.page.getByText('Version 2 of two is published in production.').waitFor()

    const { page } = ada
    await page.getByRole('button', { name: 'Publish version 2' }).click()
    await page.getByText('Nothing was published: another version was published meanwhile.').waitFor()
    expect((await published(stage, 'two'))?.version).toBe(2)
    await page.getByRole('dialog').getByText('Cancel').click()
    await page.getByText('Version 2 was published meanwhile by ada@studio.example').waitFor()
    await page.getByText('“more gold”').waitFor()
    await page.getByText('It cannot be published yet.').waitFor()
    await page.getByRole('button', { name: 'Show and decide' }).click()
    await page.getByRole('dialog').getByText('The free tier of level 2 grants 60 gold instead of 50 gold.').waitFor()
    await ada.check('designer-conflict')
    await page.getByRole('button', { name: 'Carry my changes over' }).click()
    await page.getByText('What differs from version 2').waitFor()
    await page.getByRole('button', { name: 'Publish…' }).click()
    await page.getByLabel('Reason').fill('level 2 was too far')
    await page.getByRole('button', { name: 'Publish version 3' }).click()
    await page.getByText('Version 3 of two is published').waitFor()
    expect((await published(stage, 'two'))?.definitionText).toBe(
      SUMMER.replace('"xp": 100', '"xp": 150').replace('"amount": 50', '"amount": 60'),
    )
    await ada.close()
    await grace.close()
  })

  it('keeps the draft through a reload and a sign-out, and reports a version published meanwhile', async () => {
    await publish(stage, 'kept', SUMMER)
    const opened = await stage.open('/env/production/scenarios/kept/table')
    const { page } = opened
    await cell(page, 2, 'xp').fill('150')
    await until('the draft is kept', async () => (await keptText(page, 'kept'))?.includes('"xp": 150') ?? false)
    await publish(stage, 'kept', SUMMER.replace('"xp": 100', '"xp": 160'))
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Platform key').fill(stage.game.platformKey)
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Version 2 was published meanwhile').waitFor()
    await page.reload()
    await page.getByText('was restored from this browser. It is based on version 1.').waitFor()
    await page.getByText('Version 2 was published meanwhile').waitFor()
    expect(await cell(page, 2, 'xp').inputValue()).toBe('150')
    await opened.check('designer-restored')
    await page.getByRole('button', { name: 'Show and decide' }).click()
    await page.getByText('1 value was changed by both.').waitFor()
    await page.getByRole('button', { name: 'Discard my draft' }).click()
    await until('the newer version is shown', async () => (await cell(page, 2, 'xp').inputValue()) === '160')
    expect(await keptText(page, 'kept')).toBeNull()
    await opened.close()
  })

  it('lets a viewer edit and preview, and says why a viewer cannot publish', async () => {
    await publish(stage, 'seen', SUMMER)
    const opened = await stage.open('/env/production/scenarios/seen/table', { role: 'viewer' })
    const { page } = opened
    await cell(page, 2, 'xp').fill('150')
    await view(page, 'Review and publish')
    await valid(page)
    await page.getByText('No player’s level, tiers or price would change at once.').waitFor()
    await page.getByRole('button', { name: 'Publish…' }).press('Enter')
    await page.getByText('This needs the role designer or admin. You are signed in as viewer.').waitFor()
    await opened.check('designer-viewer')
    await view(page, 'Versions')
    await page.getByRole('cell', { name: '1 current' }).waitFor()
    expect((await published(stage, 'seen'))?.version).toBe(1)
    await opened.close()
  })

  it('creates a scenario from a template, and publishes it as version 1', async () => {
    const opened = await stage.open('/env/production/scenarios')
    const { page } = opened
    await page.getByRole('button', { name: 'New scenario' }).click()
    await page.getByLabel('Id', { exact: true }).fill('season-1')
    await page.getByRole('button', { name: 'Begin', exact: true }).click()
    await page.getByText('There is a scenario season-1 in production already.').waitFor()
    await page.getByLabel('Id', { exact: true }).fill(' .. ')
    await page.getByRole('button', { name: 'Begin', exact: true }).click()
    await page.getByText('Enter an id with a letter or a digit.').waitFor()
    await page.getByLabel('Id', { exact: true }).fill('season-2')
    await page.getByLabel('Name').fill('Second Light')
    await opened.check('designer-new')
    await page.getByRole('button', { name: 'Begin', exact: true }).click()
    await page.getByText('draft, not published').waitFor()
    await page.getByLabel('battle-pass node pass').waitFor()
    await page.goto(`${stage.game.baseUrl}/console/env/production/scenarios`)
    await page.getByText('not published').waitFor()
    await page.getByRole('link', { name: 'season-2' }).click()
    await view(page, 'Review and publish')
    await page.getByRole('button', { name: 'Publish…' }).click()
    await page.getByLabel('Reason').fill('the next season')
    await page.getByRole('button', { name: 'Publish version 1' }).click()
    await page.getByText('Version 1 of season-2 is published in production.').waitFor()
    expect(JSON.parse((await published(stage, 'season-2'))?.definitionText ?? '').name).toBe('Second Light')
    await opened.close()
  })

  it('begins a scenario as a copy of another one, of which only the name differs, and publishes nothing', async () => {
    const { page, close } = await stage.open('/env/production/scenarios')
    await page.getByRole('button', { name: 'New scenario' }).click()
    await page.getByLabel('Id', { exact: true }).fill('season-1b')
    await page.getByLabel('Name').fill('The same "again"')
    await page.getByLabel('Begin with').selectOption({ label: 'a copy of season-1' })
    await page.getByText('The copy has the dates of the other one').waitFor()
    await page.getByRole('button', { name: 'Begin', exact: true }).click()
    await page.getByText('draft, not published').waitFor()
    const draft = await page.evaluate(
      `Object.entries(localStorage).find(([key]) => key.endsWith('season-1b'))?.[1] ?? ''`,
    )
    const { definitionText = '' } = (await published(stage, 'season-1')) ?? {}
    const { name } = JSON.parse(definitionText)
    const expected = definitionText.replace(JSON.stringify(name), JSON.stringify('The same "again"'))
    expect(JSON.parse(String(draft)).text).toBe(expected)
    expect(await published(stage, 'season-1b')).toBeNull()
    await close()
  })

  it('opens a draft whose id has signs that addresses encode, and discards it', async () => {
    const id = 'Season 3: Frost/50%3A? #1!'
    const { page, close } = await stage.open('/env/production/scenarios')
    await page.getByRole('button', { name: 'New scenario' }).click()
    await page.getByLabel('Id', { exact: true }).fill(id)
    await page.getByRole('button', { name: 'Begin', exact: true }).click()
    const isOpen = () => page.getByRole('heading', { name: id, exact: true, level: 1 }).waitFor()
    await isOpen()
    await page.reload()
    await isOpen()
    await page.getByRole('navigation').getByRole('link', { name: 'Designer' }).click()
    await page.getByRole('link', { name: id, exact: true }).click()
    await isOpen()
    await page.getByRole('navigation').getByRole('link', { name: 'Designer' }).click()
    await page.getByRole('button', { name: `Discard the draft of ${id}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click()
    await page.getByRole('link', { name: id, exact: true }).waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('link', { name: 'season-1', exact: true }).waitFor()
    expect(await page.getByRole('link', { name: id, exact: true }).count()).toBe(0)
    await close()
  })

  it('clones a scenario to another environment, and shows the version there', async () => {
    const opened = await stage.open('/env/production/scenarios')
    const { page } = opened
    const { definitionText } = (await published(stage, 'season-1')) ?? {}
    for (const version of [1, 2]) {
      await page.getByRole('button', { name: 'Clone season-1' }).click()
      await page.getByLabel('To the environment').selectOption('staging')
      if (version === 2) await page.getByText(/where version 1 of .* is current/).waitFor()
      else await page.getByText('There is no such scenario there yet.').waitFor()
      await opened.check(`designer-clone-${version}`)
      await page.getByLabel('Reason').fill('for the testers')
      await page.getByRole('button', { name: 'Clone', exact: true }).click()
      const done = version === 1 ? 'Version 1 of season-1 is published in staging.' : 'has this text already'
      await page.getByText(done).waitFor()
      await page.getByRole('dialog').getByText('Close').click()
    }
    expect(await published(stage, 'season-1', 'staging')).toEqual({ version: 1, definitionText })
    await opened.close()
  })

  it('reports a scenario that does not exist, and one that could not be read', async () => {
    const opened = await stage.open('/env/production/scenarios/nothing')
    const { page } = opened
    await page.getByText('There is no scenario nothing in production').waitFor()
    await opened.check('designer-missing')
    await page.goto(`${stage.game.baseUrl}/console/env/staging/scenarios`)
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('ConsoleScenarioHead') ? route.abort() : route.continue(),
    )
    await page.goto(`${stage.game.baseUrl}/console/env/staging/scenarios/season-1`)
    await page.getByText('The service cannot be reached.').waitFor()
    await page.unroute('**/graphql')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByLabel('battle-pass node pass').waitFor()
    await opened.close()
  })
})
