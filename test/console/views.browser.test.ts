import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_VIEWS, readViews, withoutView, withView } from '../../console/src/views/kept-views.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { choose } from '../harness/console-dialog.ts'
import { times } from '../harness/game.ts'

describe('the views of a person', () => {
  it('are in the order of their names, each once', () => {
    const views = withView(withView([], { name: 'whales', query: 'premium=true' }), { name: 'EU', query: 'region=eu' })
    expect(views.map(({ name }) => name)).toEqual(['EU', 'whales'])
    expect(withView(views, { name: 'EU', query: 'region=eu-west' })).toEqual([
      { name: 'EU', query: 'region=eu-west' },
      { name: 'whales', query: 'premium=true' },
    ])
    expect(withoutView(views, 'EU')).toEqual([{ name: 'whales', query: 'premium=true' }])
  })

  it.each([null, '', 'null', '{', '{"name":"x"}', '[{"name":1,"query":"a"},null,3]'])(
    'are none where the browser has kept none: %s',
    (text) => expect(readViews(text)).toEqual([]),
  )

  it('are read up to the most that a person may have', () => {
    const view = { name: 'x', query: 'a=1' }
    expect(readViews(JSON.stringify(times(MAX_VIEWS + 5, () => view)))).toHaveLength(MAX_VIEWS)
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}saved views`, () => {
  let stage: ConsoleStage
  beforeAll(async () => {
    stage = await startConsole()
  })
  afterAll(() => stage?.stop())

  it('keep the filters of a page under a name, for one person, until they are removed', async () => {
    const opened = await stage.open('/env/production/players?region=eu-west&sortBy=LAST_LOGIN')
    const { page } = opened
    await choose(page, 'Views', 'Save this view…')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('  Europe ')
    await opened.check('view-new')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The view “Europe” is kept in this browser.').waitFor()

    await page.goto(`${stage.game.baseUrl}/console/env/production/players`)
    await choose(page, 'Views', '“Europe”')
    await page.waitForURL('**/players?region=eu-west&sortBy=LAST_LOGIN')
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    await page.getByRole('menuitem', { name: /^“Europe”.*shown$/ }).waitFor()
    await opened.check('views')
    await page.keyboard.press('Escape')

    // Each page has its own.
    await page.goto(`${stage.game.baseUrl}/console/project/audit`)
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Save this view…', 'Copy a link to this view'])
    await page.keyboard.press('Escape')

    await page.goto(`${stage.game.baseUrl}/console/env/production/players?region=eu-west&sortBy=LAST_LOGIN`)
    await choose(page, 'Views', 'Remove “Europe”')
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Save this view…', 'Copy a link to this view'])
    await opened.close()
  })
})
