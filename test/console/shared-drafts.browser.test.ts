import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm } from '../harness/console-dialog.ts'
import { cell, keptText, publish, published, SUMMER, valid, view } from '../harness/designer.ts'
import { until } from '../harness/until.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole()
})
afterAll(() => stage?.stop())

const draftIs = (page: Page, scenarioId: string, text: string): Promise<void> =>
  until(`the draft is ${text}`, async () => (await keptText(page, scenarioId)) === text)

const openAs = (actor: string, path: string) => stage.open(path, { role: 'designer', actor })

/** Changes a level and shares the draft under a name. */
async function share(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Share…' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Share', exact: true }).click()
  await page.getByText(`Shared as ${name}, revision 1`).waitFor()
}

describe.skipIf(withoutChromium !== '')(`${withoutChromium}a draft that designers share`, () => {
  it('is edited by two at once: what each writes arrives at the other, and the same value is for a person to decide', async () => {
    await publish(stage, 'summer', SUMMER)
    const ada = await openAs('Ada', '/env/production/scenarios/summer/table')
    await cell(ada.page, 2, 'xp').fill('150')
    let text = SUMMER.replace('"xp": 100', '"xp": 150')
    await draftIs(ada.page, 'summer', text)
    await share(ada.page, 'rework')

    const bob = await openAs('Bob', '/env/production/scenarios')
    await bob.page
      .getByRole('region', { name: 'Shared drafts of production' })
      .getByRole('link', { name: 'rework' })
      .click()
    await bob.page.getByText('Shared as rework, revision 1').waitFor()
    await draftIs(bob.page, 'summer', text)
    await ada.page.getByText('Bob has it open, too.').waitFor()
    await bob.page.getByText('Ada has it open, too.').waitFor()
    await bob.check('shared-draft')

    await bob.page.getByLabel('popup node hello').click()
    await bob.page.getByLabel('title', { exact: true }).fill('Hi')
    text = text.replace('"Hello"', '"Hi"')
    await draftIs(ada.page, 'summer', text)
    await cell(ada.page, 3, 'xp').fill('900')
    text = text.replace('9007199254740993', '900')
    await draftIs(bob.page, 'summer', text)

    // Bob is cut off, and both change the same value.
    await bob.page.route('**/graphql', (route) => route.abort())
    await view(bob.page, 'Table')
    await cell(bob.page, 2, 'xp').fill('222')
    await bob.page.getByText('The service does not answer: what you write is kept').waitFor()
    await cell(ada.page, 2, 'xp').fill('333')
    await ada.page.getByText(/revision 4/).waitFor()
    await bob.page.unroute('**/graphql')
    await bob.page.getByText('Ada has changed the same values as you').waitFor()
    await bob.page.getByRole('button', { name: 'Take theirs' }).click()
    await draftIs(bob.page, 'summer', text.replace('"xp": 150', '"xp": 333'))
    await ada.close()
    await bob.close()
  })

  it('is discussed, approved by a second person, and only then published where that is demanded', async () => {
    await publish(stage, 'autumn', SUMMER)
    const admin = await stage.open('/env/production/roles')
    await admin.page.getByRole('button', { name: 'Change the approval of publications' }).click()
    await confirm(admin.page, 'Save')
    await closeDialog(admin.page)
    await admin.page.getByText('only when a second person has approved').waitFor()
    await admin.close()

    const ada = await openAs('Ada', '/env/production/scenarios/autumn/table')
    await cell(ada.page, 2, 'xp').fill('175')
    await share(ada.page, 'fewer levels')
    await view(ada.page, 'Review and publish')
    await valid(ada.page)
    await ada.page.getByRole('button', { name: 'Publish…' }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByText('not approved').waitFor()
    await dialog.getByLabel('Reason').fill('try')
    await dialog.getByRole('button', { name: /^Publish version/ }).click()
    await dialog.getByText('demands that a second person approves').waitFor()
    await closeDialog(ada.page)
    await ada.page.getByLabel('Comment', { exact: true }).fill('Is 175 right?')
    await ada.page.getByRole('button', { name: 'Add the comment' }).click()
    await ada.page.getByRole('list', { name: 'Comments' }).getByText('Is 175 right?').waitFor()

    const bob = await openAs('Bob', '/env/production/scenarios/autumn/review')
    await bob.page.getByRole('button', { name: 'Open the shared draft fewer levels' }).click()
    await bob.page.getByRole('list', { name: 'Comments' }).getByRole('button', { name: 'Done' }).click()
    await bob.page.getByText('done by Bob').waitFor()
    await bob.check('shared-draft-review')
    await bob.page.getByRole('button', { name: 'Approve' }).click()
    await confirm(bob.page, 'Approve')
    await closeDialog(bob.page)
    await bob.page.getByText('Revision 1 by Bob').waitFor()

    await ada.page.getByText('Revision 1 by Bob').waitFor()
    await ada.page.getByRole('button', { name: 'Publish…' }).click()
    await dialog.getByText('Revision 1 by Bob').waitFor()
    await dialog.getByLabel('Reason').fill('approved')
    await dialog.getByRole('button', { name: /^Publish version/ }).click()
    await dialog.getByText('is published in production').waitFor()
    expect(await published(stage, 'autumn')).toMatchObject({ version: 2 })
    await bob.page.getByText('The shared draft is no more: it was published or deleted.').waitFor()
    await ada.close()
    await bob.close()
  })

  it('of a scenario that nobody has published yet is opened by its link', async () => {
    const ada = await openAs('Ada', '/env/production/scenarios')
    const { data } = await stage.game.graphql(
      await stage.token('designer', 'Ada'),
      `mutation ($draft: CreateScenarioDraftInput!) { createScenarioDraft(input: $draft) { draft { draftId } } }`,
      {
        draft: {
          ...{ environment: 'production', scenarioId: 'winter', name: 'first', definition: SUMMER, baseVersion: 0 },
        },
      },
    )
    const { draftId } = data.createScenarioDraft.draft
    await ada.page.goto(`${stage.game.baseUrl}/console/env/production/scenarios/winter?draft=${draftId}`)
    await ada.page.getByText('Shared as first, revision 1').waitFor()
    await draftIs(ada.page, 'winter', SUMMER)
    await ada.close()
  })
})
