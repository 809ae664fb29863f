import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limitsText } from '../../console/src/roles/words.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm } from '../harness/console-dialog.ts'

const NONE = { readsOnly: false, maxCredit: null, maxXp: null, maxGiftsPerDay: null, maxJobPlayers: null }

describe('the limits of a role', () => {
  it.each([
    ['No limits.', { role: 'SUPPORT' }],
    ['Only reads.', { role: 'DESIGNER', readsOnly: true }],
    ['At most 500 of a currency at once, 20 gifts a day.', { role: 'SUPPORT', maxCredit: '500', maxGiftsPerDay: 20 }],
    ['At most 0 xp at once, 1,000 players of a grant.', { role: 'OPERATOR', maxXp: '0', maxJobPlayers: 1000 }],
  ] as const)('are told as: %s', (text, limits) => {
    expect(limitsText({ ...NONE, ...limits })).toBe(text)
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}roles in the console`, () => {
  let stage: ConsoleStage
  beforeAll(async () => {
    stage = await startConsole({ players: 20 })
  })
  afterAll(() => stage?.stop())

  it.each(['designer', 'analyst'] as const)('%ss see seasons and figures, and no player', async (role) => {
    const opened = await stage.open('/env/production/today', { role })
    const { page } = opened
    const nav = page.getByRole('navigation', { name: 'Pages' })
    await nav.getByRole('link', { name: 'Battle pass' }).waitFor()
    const names = await nav.getByRole('link').allTextContents()
    for (const hidden of ['Players', 'Live', 'Segments', 'Grants']) expect(names).not.toContain(hidden)
    await page.getByRole('heading', { name: 'Unusual xp in 24 hours' }).waitFor()
    const paths = [
      'battle-pass',
      'calendar',
      'boosts',
      'scenarios',
      'scenarios/season-1',
      'providers',
      'alerts',
      'roles',
    ]
    for (const path of [...paths.map((one) => `/env/production/${one}`), '/project/environments']) {
      await page.goto(`${stage.game.baseUrl}/console${path}`)
      await page.getByRole('main').getByRole('heading').first().waitFor()
      await opened.check(`${role}-${path.split('/').at(-1)}`)
      expect(await page.getByText(/forbidden/i).count()).toBe(0)
    }
    await page.goto(`${stage.game.baseUrl}/console/env/production/battle-pass?view=xp`)
    await page.getByText('This needs the role viewer, support, operator or admin.').waitFor()
    await page.goto(`${stage.game.baseUrl}/console/env/production/players`)
    await page.getByText('This page is not shown').waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search pages and commands' }).fill('pla')
    expect(await page.getByRole('option', { name: /player/i }).count()).toBe(0)
    await opened.close()
  })

  it('the limits of a role are set in a dialog, and bind it at once', async () => {
    const admin = await stage.open('/env/production/roles')
    const { page } = admin
    await page.getByText('you', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Change the limits of support' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Most of a currency at once').fill('many')
    await dialog.getByText('Enter whole numbers, or leave a field empty.').waitFor()
    await dialog.getByLabel('Most of a currency at once').fill('1,000')
    await dialog.getByLabel('Most gifts a day').fill('0')
    await dialog.getByText('At most 1,000 of a currency at once, 0 gifts a day.').waitFor()
    await admin.check('role-limits')
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByRole('cell', { name: 'At most 1,000 of a currency at once, 0 gifts a day.' }).waitFor()

    const support = await stage.open('/env/production/players', { role: 'support' })
    await support.page.getByRole('table').getByRole('link').first().click()
    await support.page.getByRole('button', { name: 'Credit' }).click()
    const credit = support.page.getByRole('dialog')
    await credit.getByRole('combobox', { name: 'Currency' }).fill('gold')
    await credit.getByLabel('Amount').fill('5')
    await credit.getByText('At most 1,000 at once').waitFor()
    await credit.getByLabel('Reason').fill('T-1')
    await credit.getByRole('button', { name: 'Credit' }).click()
    await credit.getByText('The role support gives 0 times a day in this environment').waitFor()
    await support.close()

    await page.getByRole('button', { name: 'Change the limits of support' }).click()
    await dialog.getByLabel('Only reads').check()
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByRole('cell', { name: 'Only reads.' }).waitFor()
    await admin.close()

    const again = await stage.open('/env/production/players', { role: 'support' })
    await again.page.getByRole('table').getByRole('link').first().click()
    await again.page.getByRole('button', { name: 'Credit' }).press('Enter')
    await again.page.getByText('The role support only reads in production.').first().waitFor()
    await again.close()
  })
})
