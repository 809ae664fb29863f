import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changesOf } from '../../console/src/project/changes.ts'
import { withoutChromium } from '../support/browser.ts'
import { type ConsoleStage, startConsole } from '../support/console.ts'
import { type Operator, startOperator } from '../support/operator.ts'

let stage: ConsoleStage
/** The studio's webhook. */
let operator: Operator

beforeAll(async () => {
  if (withoutChromium !== '') return
  operator = await startOperator()
  stage = await startConsole()
})
afterAll(async () => {
  await stage?.stop()
  await operator?.close()
})

/** Fills in the reason, presses the button, and waits for the result. */
async function confirm(page: Page, button: string, reason = 'ticket 12'): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: button, exact: true }).click()
  await dialog.getByText('Row of the audit log').waitFor()
}

const closeDialog = (page: Page) => page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()

describe.skipIf(withoutChromium !== '')(`${withoutChromium}login providers`, () => {
  it('are set, tested against the real webhook, rotated without a failed login, edited and removed', async () => {
    const { game } = stage
    const opened = await stage.open('/env/production/providers')
    const { page } = opened
    await page.getByText('No provider in production yet').waitFor()
    await opened.check('providers-empty')
    await page.getByRole('button', { name: 'New provider' }).click()
    await page.getByLabel('Webhook').fill(operator.url)
    await page.getByRole('dialog').getByLabel('Secret').fill(operator.secret)
    await page.getByText(`From the next login on, default asks ${operator.url}, for real players.`).waitFor()
    await confirm(page, 'Save')
    await closeDialog(page)

    await page.getByRole('button', { name: 'Test default' }).click()
    await page.getByLabel('customData (JSON)').fill('{"player":"ada","n":12345678901234567890}')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('The login would succeed, with the subject ada.').waitFor()
    await opened.check('provider-test')
    expect(operator.hits.at(-1)?.customData).toBe('{"player":"ada","n":12345678901234567890}')
    operator.answer((_hit, response) => {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":"no such ticket"}')
    })
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The login would fail: custom auth rejected').waitFor()
    await page.getByText('{"error":"no such ticket"}').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()

    await page.getByRole('button', { name: 'Rotate secret default' }).click()
    await page.getByLabel('How long the old secret still signs').selectOption('an hour')
    await confirm(page, 'Rotate')
    const secret = await page.getByRole('dialog').locator('code').textContent()
    expect(secret?.length).toBeGreaterThan(20)
    await closeDialog(page)
    await page.getByText('the old one signs until').waitFor()
    expect(await page.content()).not.toContain(secret)

    await page.getByRole('button', { name: 'Edit default' }).click()
    await page.getByLabel('Enabled').uncheck()
    await page.getByText('Logins through default fail with “custom auth disabled”.').waitFor()
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByText('disabled', { exact: true }).waitFor()
    expect((await game.login({ player: 'ada' })).body.error).toBe('custom auth disabled')
    await page.getByRole('button', { name: 'Remove default' }).click()
    await confirm(page, 'Remove')
    await closeDialog(page)
    await page.getByText('No provider in production yet').waitFor()
    await opened.close()
  })

  it('name every fault of a refused setting, and change nothing', async () => {
    const { page, close } = await stage.open('/env/staging/providers')
    await page.getByRole('button', { name: 'New provider' }).click()
    await page.getByLabel('Webhook').fill('ftp://nowhere')
    await page.getByRole('dialog').getByLabel('Secret').fill('s')
    await page.getByRole('dialog').getByLabel('Reason').fill('a slip')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('No provider in staging yet').waitFor()
    await close()
  })

  it('show how logins went, each with its attempts, and are only looked at by a viewer', async () => {
    const { game } = stage
    operator.answer((hit, response) => {
      const isFirst = hit.number % 2 === 1
      response
        .writeHead(isFirst ? 503 : 200, { 'content-type': 'application/json' })
        .end(isFirst ? '' : '{"subject":"grace"}')
    })
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
    expect((await game.login({ player: 'grace' })).status).toBe(200)
    const opened = await stage.open('/env/production/providers', { role: 'viewer', width: 390, dark: true })
    const { page } = opened
    const log = page.getByRole('table', { name: 'Login log' })
    await log.getByRole('link', { name: 'grace' }).waitFor()
    await page.getByRole('application', { name: 'Logins by outcome' }).locator('canvas').waitFor()
    await page.getByRole('button', { name: 'Test default' }).press('Enter')
    await page.getByText('This needs the role admin. You are signed in as viewer.').waitFor()
    await page.getByLabel('Subject').fill('nobody')
    await page.getByText('No login matches').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('providers-390-dark')
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}keys`, () => {
  it('are made, shown once, used and revoked', async () => {
    const { game } = stage
    const opened = await stage.open('/project/keys')
    const { page } = opened
    await page.getByRole('button', { name: 'New SDK key' }).click()
    await page.getByLabel('Environment').last().selectOption('staging')
    await page.getByLabel('Purpose').fill('iOS client')
    await confirm(page, 'Make the key')
    const sdkKey = await page.getByRole('dialog').locator('code').textContent()
    expect(sdkKey).toMatch(/^twsdk_/)
    await closeDialog(page)
    await page.getByText('iOS client').waitFor()
    expect(await page.content()).not.toContain(sdkKey)
    await opened.check('keys')

    await page.getByRole('button', { name: 'New platform key' }).click()
    await page.getByLabel('Your platform key').fill('twplat_wrong')
    await page.getByRole('dialog').getByLabel('Reason').fill('for a tool')
    await page.getByRole('button', { name: 'Make the key' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByLabel('Your platform key').fill(game.platformKey)
    await page.getByLabel('Role').selectOption('operator')
    await confirm(page, 'Make the key', 'for a tool')
    const platformKey = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    expect((await game.graphql(platformKey, '{ project { name } }')).errors).toBeUndefined()
    await closeDialog(page)

    await page.getByRole('button', { name: `Revoke ${platformKey.slice(0, 12)}` }).click()
    await confirm(page, 'Revoke')
    await closeDialog(page)
    expect((await game.graphql(platformKey, '{ project { name } }')).errors?.[0]?.extensions.code).toBe('INVALID_TOKEN')
    expect(await page.getByText(`${platformKey.slice(0, 12)}…`).count()).toBe(0)
    await page.getByLabel('Show revoked keys').check()
    await page.getByText(`${platformKey.slice(0, 12)}…`).waitFor()
    await opened.close()
  })

  it('are not shown to an operator, who is told why', async () => {
    const opened = await stage.open('/project/keys', { role: 'operator' })
    await opened.page.getByText('This needs the role admin. You are signed in as operator.').waitFor()
    await opened.check('keys-denied')
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}environments`, () => {
  it('are created with the next steps that they need, and the project is renamed', async () => {
    const opened = await stage.open('/project/environments')
    const { page } = opened
    await page.getByRole('button', { name: 'New environment' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Not A Name')
    await page.getByRole('dialog').getByLabel('Reason').fill('load tests')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByRole('dialog').getByLabel('Name').fill('load-test')
    await confirm(page, 'Create')
    await closeDialog(page)
    const panel = page.locator('section', { has: page.getByRole('heading', { name: 'load-test' }) })
    await panel.getByText('to do').nth(3).waitFor()
    await page.getByRole('button', { name: 'Rename the project' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Star Harvest')
    await page.getByText('Test becomes Star Harvest.').waitFor()
    await confirm(page, 'Rename')
    await closeDialog(page)
    await page.locator('.top').getByText('Star Harvest').waitFor()
    await opened.check('environments')
    await page.getByRole('combobox', { name: 'Environment' }).selectOption('load-test')
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the audit log`, () => {
  it('says who did what and why, by filters that the address keeps, and before beside after', async () => {
    const { game } = stage
    const player = await game.player({ wallet: { gems: 5n } })
    await game.graphql(
      game.platformKey,
      'mutation C($input: CreditWalletInput!) { creditWallet(input: $input) { balance } }',
      {
        input: {
          playerId: player.playerId,
          currency: 'gems',
          amount: '500',
          reason: 'a lost reward',
          idempotencyKey: 'audit-1',
        },
      },
    )
    const opened = await stage.open(`/project/audit?target=${player.playerId}`)
    const { page } = opened
    await page.getByRole('cell', { name: 'a lost reward' }).waitFor()
    await opened.check('audit')
    await page.getByRole('link', { name: 'player.credit_wallet' }).click()
    const dialog = page.getByRole('dialog')
    const row = dialog.getByRole('row').filter({ hasText: 'balance' })
    await row.getByText('505').waitFor()
    await opened.check('audit-entry')
    await page.reload()
    await row.getByText('505').waitFor()
    await dialog.getByRole('link', { name: player.playerId }).click()
    await page.waitForURL(`**/env/production/players/${player.playerId}`)
    await opened.close()
  })

  it('marks denied attempts, and is for admins', async () => {
    const { game } = stage
    const denied = await game.graphql(
      await game.key('viewer'),
      'mutation B($input: BanPlayerInput!) { banPlayer(input: $input) { error } }',
      {
        input: { playerId: (await game.player()).playerId, reason: 'no right to' },
      },
    )
    expect(denied.errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    const { page, close } = await stage.open('/project/audit?action=player.ban.denied')
    await page.getByRole('cell', { name: 'player.ban.denied denied' }).waitFor()
    await close()
    const viewer = await stage.open('/project/audit', { role: 'viewer', width: 390 })
    await viewer.page.getByText('Not allowed').waitFor()
    await viewer.check('audit-denied-390')
    await viewer.close()
  })
})

describe('before and after', () => {
  it('are compared member by member, and no number is rounded', () => {
    expect(
      changesOf('{"a":1,"big":9007199254740993,"list":[1]}', '{"a":1,"big":9007199254740995,"list":[1,2],"s":"1e5"}'),
    ).toEqual([
      { path: 'a', before: '1', after: '1', isChanged: false },
      { path: 'big', before: '9007199254740993', after: '9007199254740995', isChanged: true },
      { path: 'list[0]', before: '1', after: '1', isChanged: false },
      { path: 'list[1]', before: undefined, after: '2', isChanged: true },
      { path: 's', before: undefined, after: '"1e5"', isChanged: true },
    ])
    expect(changesOf(null, null)).toEqual([])
    expect(changesOf(null, '"x"')).toEqual([{ path: 'value', before: undefined, after: '"x"', isChanged: true }])
  })
})
