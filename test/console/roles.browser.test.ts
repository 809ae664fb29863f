import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readGroups, textOfGroups } from '../../console/src/roles/groups-text.ts'
import { limitsText } from '../../console/src/roles/words.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm } from '../harness/console-dialog.ts'
import { startOpenIdServer } from '../harness/openid-server.ts'
import { until } from '../harness/until.ts'

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

describe('the groups of single sign-on', () => {
  it('are read from lines, and every line that cannot be read is told', () => {
    const text = 'live-ops: support\n\n urn:group:42 : Admin '
    const groups = [
      { group: 'live-ops', role: 'SUPPORT' },
      { group: 'urn:group:42', role: 'ADMIN' },
    ]
    expect(readGroups(text)).toEqual(groups)
    expect(readGroups(textOfGroups(groups as never))).toEqual(groups)
    expect(readGroups('')).toMatch(/^Name at least one group/)
    expect(readGroups('live-ops')).toMatch(/names no group/)
    expect(readGroups('live-ops: boss')).toMatch(/“live-ops: boss” names no role/)
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

  it('single sign-on is set up in a dialog, signs people in and back to their page, and ends', async () => {
    const { baseUrl, platformKey, projectId } = stage.game
    const redirectUri = `${baseUrl}/console/sign-on/callback/${projectId}`
    const groupsOf: Readonly<Record<string, string>> = { ada: 'live-ops', eve: 'accounting' }
    const issuer = await startOpenIdServer({
      clients: [{ id: 'console', redirectUri }],
      claimsOf: (account) => ({
        email: `${account}@studio.example`,
        email_verified: true,
        groups: [groupsOf[account]],
      }),
    })
    const admin = await stage.open('/env/production/roles')
    await admin.page.getByText('People sign in with platform keys').waitFor()
    await admin.page.getByRole('button', { name: 'Set up single sign-on' }).click()
    const dialog = admin.page.getByRole('dialog')
    await dialog.getByLabel('Your platform key').fill(platformKey)
    await dialog.getByLabel('Name of the accounts').fill('Studio account')
    await dialog.getByLabel('Issuer').fill(`${issuer.issuer}/nowhere`)
    await dialog.getByLabel('Client id').fill('console')
    await dialog.getByText('Name at least one group').waitFor()
    await dialog.getByLabel('Groups and their roles').fill('live-ops: designer')
    await dialog.getByText(`Let the issuer send people back to ${redirectUri}.`).waitFor()
    await admin.check('single-sign-on-new')
    await dialog.getByLabel('Reason').fill('T-2')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Is no OpenID Connect issuer that can be asked').waitFor()
    const test = dialog.getByRole('button', { name: 'Test these settings' })
    await test.click()
    await dialog.getByText(/^failed Configuration: /).waitFor()
    await dialog.getByLabel('Issuer').fill(issuer.issuer)
    await test.click()
    await dialog.getByText('passed Client: The issuer knows the client.').waitFor()
    await dialog.getByText('passed Start of a sign-in: The issuer begins a sign-in.').waitFor()
    await confirm(admin.page, 'Save')
    await closeDialog(admin.page)
    await admin.page.getByRole('cell', { name: 'live-ops' }).waitFor()
    await admin.check('single-sign-on')
    await admin.close()

    async function signInAs(account: string, path: string) {
      // A context of its own has no session of other tabs, nor a person at the issuer.
      const context = await stage.browser.newContext()
      const page = await context.newPage()
      await page.goto(`${baseUrl}/console${path}`)
      await page.getByRole('link', { name: 'Sign in with Studio account' }).click()
      await page.getByPlaceholder('Enter any login').fill(account)
      await page.getByPlaceholder('and password').fill('any')
      await page.getByRole('button', { name: 'Sign-in' }).click()
      await page.getByRole('button', { name: 'Continue' }).click()
      return { context, page }
    }
    const ada = await signInAs('ada', '/env/production/boosts?state=past')
    await ada.page.getByRole('heading', { name: 'Boosts' }).waitFor()
    expect(new URL(ada.page.url()).pathname + new URL(ada.page.url()).search).toBe(
      '/console/env/production/boosts?state=past',
    )
    await ada.page.getByText('ada@studio.example').waitFor()
    await ada.page.getByText('designer', { exact: true }).waitFor()
    // A session that has ended is renewed in a window of its own, over the page.
    await ada.page.route(
      '**/graphql',
      (route) =>
        route.fulfill({ json: { errors: [{ message: 'invalid token', extensions: { code: 'INVALID_TOKEN' } }] } }),
      { times: 1 },
    )
    await ada.page.getByRole('button', { name: 'Refresh' }).click()
    const renewal = ada.page.getByRole('dialog', { name: 'Sign in again' })
    const opening = ada.page.waitForEvent('popup')
    await renewal.getByRole('button', { name: 'Sign in with Studio account' }).click()
    const popup = await opening
    await popup.getByRole('button', { name: 'Continue' }).click()
    await renewal.waitFor({ state: 'detached' })
    await until('the window is closed', () => popup.isClosed())
    const eve = await signInAs('eve', '')
    await eve.page.getByText('Your account has no role here.').waitFor()
    await eve.page.getByText('Sign in with a platform key').click()
    await eve.page.getByLabel('Platform key').waitFor()
    expect(await eve.context.cookies()).not.toContainEqual(expect.objectContaining({ name: 'tierway_signed_on' }))
    await eve.context.close()

    const again = await stage.open('/env/production/roles')
    await again.page.getByRole('button', { name: 'Delete single sign-on' }).click()
    await confirm(again.page, 'Delete')
    await closeDialog(again.page)
    await again.page.getByText('People sign in with platform keys').waitFor()
    await again.close()
    await ada.page.reload()
    await ada.page.getByText('Your session has ended.').waitFor()
    await ada.page.getByLabel('Platform key').waitFor()
    await ada.context.close()
    await issuer.stop()
  })
})
