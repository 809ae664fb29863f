import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_VIEWS, readViews, withoutView, withView } from '../../console/src/views/kept-views.ts'
import { MAX_SHARED_VIEWS } from '../../src/base/limits.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsolePage, type ConsoleStage, startConsole } from '../harness/console.ts'
import { choose, closeDialog, confirm } from '../harness/console-dialog.ts'
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

  it('keep the filters of a page under a name, for one person, until they are deleted', async () => {
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
    await choose(page, 'Views', 'Delete “Europe”')
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Save this view…', 'Copy a link to this view'])
    await opened.close()
  })

  /** The items of the menu of views. */
  async function menuOf({ page }: ConsolePage): Promise<string[]> {
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    const items = await page.getByRole('menuitem').allTextContents()
    await page.keyboard.press('Escape')
    return items
  }

  /** Saves the present filters under a name, for everyone. */
  async function share({ page }: ConsolePage, name: string): Promise<void> {
    await choose(page, 'Views', 'Save this view…')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Share it with everyone in this project').check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`The view “${name}” is shared with everyone in this project.`).waitFor()
  }

  const REST = ['Save this view…', 'Copy a link to this view']

  it('are shared with everyone in the project, beside their own of the same name, until one deletes them for all', async () => {
    const players = '/env/production/players'
    const ada = await stage.open(`${players}?region=eu-west`, { role: 'support' })
    await share(ada, 'Europe')
    expect(await menuOf(ada)).toEqual(['“Europe”shared, shown', ...REST, 'Delete “Europe” for everyone…'])

    const bob = await stage.open(players, { role: 'operator', actor: 'bob@studio.example' })
    const { page } = bob
    expect(await menuOf(bob)).toEqual(['“Europe”shared', ...REST])
    await choose(page, 'Views', '“Europe”')
    await page.waitForURL('**/players?region=eu-west')
    // His own.
    await choose(page, 'Views', 'Save this view…')
    await page.getByRole('dialog').getByLabel('Name').fill('Europe')
    await bob.check('view-share')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('The view “Europe” is kept in this browser.').waitFor()
    expect(await menuOf(bob)).toEqual([
      ...['“Europe”shown', '“Europe”shared, shown', ...REST],
      ...['Delete “Europe”', 'Delete “Europe” for everyone…'],
    ])

    // The shared one gets other filters.
    await page.goto(`${stage.game.baseUrl}/console${players}?region=eu-north`)
    await choose(page, 'Views', 'Save this view…')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Europe')
    await dialog.getByText('The view with this name gets the present filters.').waitFor()
    await dialog.getByLabel('Share it with everyone in this project').check()
    await dialog.getByText('The shared view with this name gets the present filters, for everyone.').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('is shared with everyone in this project.').waitFor()
    await ada.page.reload()
    expect(await menuOf(ada)).toEqual(['“Europe”shared', ...REST])

    await choose(page, 'Views', 'Delete “Europe” for everyone…')
    await dialog.getByText('The view, which bob@studio.example has shared, is gone for everyone').waitFor()
    await bob.check('view-delete')
    await confirm(page, 'Delete the view')
    await closeDialog(page)
    expect(await menuOf(bob)).toEqual(['“Europe”', ...REST])
    await ada.page.reload()
    expect(await menuOf(ada)).toEqual(REST)
    await ada.close()
    await bob.close()
  })

  it('are used by a viewer, who can neither share nor delete them, also on a phone in the dark theme', async () => {
    const view = { page: 'LIVE', name: 'Level-ups_of_everybody_in_the_whole_game', query: 'handle=onLevelUp' }
    const document = 'mutation ($input: ShareViewInput!) { shareView(input: $input) { auditEntry { id } } }'
    expect((await stage.game.graphql(stage.game.platformKey, document, { input: view })).errors).toBeUndefined()
    const opened = await stage.open('/env/production/live', { role: 'viewer', width: 390, dark: true })
    const { page } = opened
    await choose(page, 'Views', `“${view.name}”`)
    await page.waitForURL('**/live?handle=onLevelUp')
    expect(await menuOf(opened)).toEqual([`“${view.name}”shared, shown`, ...REST])
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    await page.getByRole('menuitem').first().waitFor()
    await opened.check('views-shared-390')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.keyboard.press('Escape')
    await choose(page, 'Views', 'Save this view…')
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    expect(await page.getByRole('dialog').getByRole('checkbox').count()).toBe(0)
    await opened.close()
  })

  it('of the audit log are shared by admins, up to the limit of the page', async () => {
    const { game } = stage
    const document = 'mutation ($input: ShareViewInput!) { shareView(input: $input) { auditEntry { id } } }'
    for (const n of times(MAX_SHARED_VIEWS - 1, (n) => n)) {
      const input = { page: 'AUDIT_LOG', name: `view ${n}`, query: `action=player.ban&operator=${n}` }
      expect((await game.graphql(game.platformKey, document, { input })).errors).toBeUndefined()
    }
    const opened = await stage.open('/project/audit?action=player.ban')
    const { page } = opened
    // Somebody else is faster.
    await choose(page, 'Views', 'Save this view…')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Bans')
    await dialog.getByLabel('Share it with everyone in this project').check()
    const input = { page: 'AUDIT_LOG', name: 'the last', query: '' }
    await game.graphql(game.platformKey, document, { input })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText(`has ${MAX_SHARED_VIEWS} shared views, the most that it can have`).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    await page.getByRole('menuitem', { name: '“the last”' }).waitFor()
    await opened.check('views-many')
    await page.keyboard.press('End')
    await page.keyboard.press('Escape')
    await choose(page, 'Views', 'Save this view…')
    await dialog.getByLabel('Name').fill('Bans')
    await dialog.getByLabel('Share it with everyone in this project').check()
    await dialog.getByText(`${MAX_SHARED_VIEWS} views of this page are shared: delete one first.`).waitFor()
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await opened.close()
  })
})
