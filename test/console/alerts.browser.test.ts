import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attemptText, kindsText } from '../../console/src/alerts/words.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm } from '../harness/console-dialog.ts'
import { type Operator, startOperator, status } from '../harness/operator.ts'

describe('an alert webhook', () => {
  it('is told of in sentences', () => {
    expect(kindsText([])).toBe('everything')
    expect(kindsText(['XP_LIMITED', 'LOGINS_FAIL'])).toBe('Logins fail by their provider; Limits hold back much xp')
    const attempt = { hasArrived: false, status: null, error: null, milliseconds: 12 } as const
    expect(attemptText({ ...attempt, hasArrived: true, status: 200 })).toBe(
      'The test arrived, in 12 ms. Look for it where the alerts go.',
    )
    expect(attemptText({ ...attempt, status: 404 })).toBe(
      'The test did not arrive: the webhook answered with status 404.',
    )
    expect(attemptText({ ...attempt, error: 'REFUSED' })).toBe('The test did not arrive: nothing listens at the port.')
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the page of alerts`, () => {
  let stage: ConsoleStage
  let receiver: Operator
  beforeAll(async () => {
    receiver = await startOperator(status(204))
    stage = await startConsole()
  })
  afterAll(async () => {
    await stage?.stop()
    await receiver.close()
  })

  it('makes a webhook with its secret, tests it, changes and deletes it', async () => {
    const opened = await stage.open('/env/production/alerts')
    const { page } = opened
    await page.getByText('Nobody receives alerts of production yet').waitFor()
    await opened.check('alerts-empty')
    await page.getByRole('button', { name: 'New alert webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('#live-ops')
    await dialog.getByLabel('Sends to').selectOption('STANDARD')
    await dialog.getByLabel('Address').fill('ftp://nowhere')
    expect(await dialog.getByLabel('Link').inputValue()).toBe(`${stage.game.baseUrl}/console/env/production/today`)
    await dialog.getByLabel('Logins fail by their provider').check()
    await dialog
      .getByText('It receives the problems that need a person in production: Logins fail by their provider.')
      .waitFor()
    await opened.check('alert-new')
    await dialog.getByLabel('Reason').fill('LIVE-1')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('Must be an absolute http or https URL').waitFor()
    await dialog.getByLabel('Address').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('Copy the secret now').waitFor()
    expect(await dialog.textContent()).toContain('whsec_')
    await closeDialog(page)

    await page.getByRole('button', { name: 'Send a test to #live-ops' }).click()
    await page.getByText('The test arrived').waitFor()
    expect(receiver.hits.map(({ body }) => JSON.parse(body.toString()).type)).toContain('test')
    receiver.answer(status(500))
    await page.getByRole('button', { name: 'Send a test to #live-ops' }).click()
    await page.getByText('The test did not arrive: the webhook answered with status 500.').waitFor()
    await opened.check('alerts')

    await page.getByRole('button', { name: 'Change #live-ops' }).click()
    await dialog.getByLabel('Logins fail by their provider').uncheck()
    await dialog.getByLabel('Enabled').uncheck()
    await dialog.getByText('Nothing is sent.').waitFor()
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByText('disabled').waitFor()
    await page.getByText('everything').waitFor()

    await page.getByRole('button', { name: 'Delete #live-ops' }).click()
    await confirm(page, 'Delete the webhook')
    await closeDialog(page)
    await page.getByText('Nobody receives alerts of production yet').waitFor()
    await opened.close()
  })

  it('shows a viewer the webhooks, and what needs an admin', async () => {
    const opened = await stage.open('/env/production/alerts', { role: 'viewer' })
    const button = opened.page.getByRole('button', { name: 'New alert webhook' })
    await button.waitFor()
    expect(await button.getAttribute('aria-disabled')).toBe('true')
    await opened.close()
  })
})
