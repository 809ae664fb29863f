import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyStandardWebhook, verifyWebhookSignature } from '../../src/sdk/webhook.ts'
import { withoutChromium } from '../harness/browser.ts'
import { makeAuthority } from '../harness/certificates.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm, loseAnswer } from '../harness/console-dialog.ts'
import { AUDIENCE, startIssuer } from '../harness/issuer.ts'
import { approve, type Operator, startOperator, status } from '../harness/operator.ts'

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

const provider = () => ({ enabled: true, url: operator.url, secret: operator.secret })

/** Lets the webhook approve only requests with a signature by one of these secrets in this header. */
function verify(header: 'x-signature' | 'webhook-signature', ...secrets: string[]): void {
  operator.answer((hit, response) => {
    const { headers, body } = hit
    const standard = {
      id: headers['webhook-id'],
      timestamp: headers['webhook-timestamp'],
      signature: headers['webhook-signature'],
    }
    const isSigned = secrets.some((secret) =>
      header === 'x-signature'
        ? verifyWebhookSignature(secret, body, headers[header])
        : verifyStandardWebhook(secret, body, standard),
    )
    return (isSigned ? approve({ subject: 'ada' }) : status(403))(hit, response)
  })
}

async function rotations(): Promise<number> {
  const QUERY = '{ auditLog(action: "auth_providers.rotate_secret") { nodes { id } } }'
  const { data } = await stage.game.graphql(stage.game.platformKey, QUERY)
  return (data as { auditLog: { nodes: unknown[] } }).auditLog.nodes.length
}

describe.skipIf(withoutChromium !== '')(`${withoutChromium}login providers`, () => {
  it('are created, tested against the real webhook, rotated without a failed login, edited and removed', async () => {
    const { game } = stage
    const opened = await stage.open('/env/production/providers')
    const { page } = opened
    await page.getByText('No provider in production yet').waitFor()
    await opened.check('providers-empty')
    await page.getByRole('button', { name: 'New provider' }).click()
    await page.getByLabel('Webhook').fill(operator.url)
    await page.getByRole('dialog').getByLabel('Secret').fill(operator.secret)
    await page.getByText(`From the next login on, logins that name no provider ask ${operator.url}.`).waitFor()
    await page.getByText('production has real players.').waitFor()
    await confirm(page, 'Save')
    await closeDialog(page)

    operator.answer((_hit, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"subject":"ada","nickname":"Ada","data":{"n":12345678901234567890}}')
    })
    await page.getByRole('button', { name: 'Test default' }).click()
    await page.getByLabel('customData (JSON)').fill('{"player":"ada","n":12345678901234567890}')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('The login would succeed, with the subject ada.').waitFor()
    expect(operator.hits).toHaveLength(1)
    await page.getByLabel('Send it again in another notation').check()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('{"n":12345678901234567890}', { exact: true }).waitFor()
    await page.getByText('Accepted: the webhook verifies the bytes that it received.').waitFor()
    await opened.check('provider-test')
    expect(operator.hits.at(-2)?.customData).toBe('{"player":"ada","n":12345678901234567890}')
    operator.answer((_hit, response) => {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":"no such ticket"}')
    })
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The login would fail: webhook refused. A client gets status 401.').waitFor()
    await page.getByText('{"error":"no such ticket"}').waitFor()
    operator.answer((_hit, response) => void response.writeHead(200).end('{"subject":42}'))
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('subject: must be a string, was a number').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()

    verify('webhook-signature', operator.secret)
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    await page.getByRole('button', { name: 'Rotate secret default' }).click()
    await page.getByText('Choose the header that the webhook checks').first().waitFor()
    await page.getByLabel('Header that the webhook checks').selectOption('webhook-signature')
    await page.getByLabel('How long the old secret still signs').selectOption('an hour')
    await page.getByText('Both secrets sign for an hour, and the webhook accepts either.').waitFor()
    await confirm(page, 'Rotate')
    const secret = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    expect(secret).toMatch(/^whsec_/)
    // The webhook still has the old secret, and then the new one.
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    verify('webhook-signature', secret)
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    await page.keyboard.press('Escape')
    await opened.check('provider-rotated')
    await closeDialog(page)
    await page.getByText('a replaced one signs until').waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(secret)

    await page.getByRole('button', { name: 'Edit default' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
    await page.getByLabel('Enabled').uncheck()
    await page.getByText('logins through default fail with “custom auth disabled”.').waitFor()
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

  it('have certificates of their own, which stay when another provider is edited, and whose end is announced', async () => {
    const { game } = stage
    const authority = makeAuthority('Studio Authority')
    const soon = new Date(Date.now() + 10 * 86_400_000)
    const { cert, key } = authority.issue('tierway', { until: soon })
    const url = 'https://127.0.0.1:9/login'
    await game.setProviders({ default: { ...provider(), url }, other: provider() })
    const opened = await stage.open('/env/production/providers')
    const { page } = opened
    await page.getByRole('button', { name: 'Edit default' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Certificates', { exact: true }).click()
    await dialog.getByLabel('Private authorities').fill(authority.cert)
    await dialog.getByLabel('Client certificate', { exact: true }).fill(cert)
    await dialog.getByText('From the next login on, calls show this client certificate.').waitFor()
    await dialog.getByLabel('Reason').fill('ticket 12')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.getByText('is required while none is stored').waitFor()
    await opened.check('provider-certificates')
    await dialog.getByLabel('Key of the client certificate').fill(key)
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByText('expires soon').waitFor()

    await page.getByRole('button', { name: 'Edit other' }).click()
    await dialog.getByLabel('Enabled').uncheck()
    await confirm(page, 'Save')
    await closeDialog(page)
    const { data } = await game.graphql(
      game.platformKey,
      '{ authProviders { custom { enabled caCertificates clientCertificate } } }',
    )
    const [{ custom }] = data.authProviders
    expect(custom).toEqual([
      { enabled: true, caCertificates: authority.cert, clientCertificate: cert },
      { enabled: false, caCertificates: null, clientCertificate: null },
    ])
    expect(await page.content()).not.toContain('PRIVATE KEY')
    await opened.close()
    await game.setProviders({})
  })

  it('without a webhook are set up, tested with a token, and removed, and other settings stay', async () => {
    const { game } = stage
    const issuer = await startIssuer()
    const put = (authProviders: object) =>
      game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
        body: JSON.stringify({ environment: 'production', authProviders }),
        headers: { authorization: `Bearer ${game.platformKey}` },
      })
    await put({ google: { enabled: true, team: 'studio', clientSecret: 'kept' } })
    const opened = await stage.open('/env/production/providers')
    const { page } = opened
    await page.getByText('not usable yet').waitFor()
    await page.getByText('clientIds is required').waitFor()
    await page.getByRole('button', { name: 'Edit Google' }).click()
    await page.getByLabel('Client ids').fill('android-app\nweb-app\n')
    await page.getByText('From the next login on, players with an ID token of Google can sign in.').waitFor()
    await opened.check('sign-in-google')
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByText('android-app').first().waitFor()

    await page.getByRole('button', { name: 'Set up Guests' }).click()
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByRole('button', { name: 'New issuer' }).click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('studio')
    await page.getByLabel('Issuer', { exact: true }).fill(issuer.url)
    await page.getByLabel('Audiences').fill(AUDIENCE)
    await confirm(page, 'Save')
    await closeDialog(page)
    const { body } = await game.request(
      'GET',
      `/platform/v1/projects/${game.projectId}/auth-providers?environment=production`,
      {
        headers: { authorization: `Bearer ${game.platformKey}` },
      },
    )
    expect(body.authProviders).toMatchObject({
      google: { enabled: true, team: 'studio', clientIds: ['android-app', 'web-app'] },
      oidc: { studio: { enabled: true, issuer: issuer.url, audiences: [AUDIENCE], subjectClaim: 'sub' } },
      device: { enabled: true },
    })

    await page.getByRole('button', { name: 'Test studio' }).click()
    await page.getByLabel('ID token').fill(await issuer.token({ aud: 'other' }))
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('The login would fail: token rejected. A client gets status 401.').waitFor()
    await page.getByText('its audience (aud) is not accepted').waitFor()
    await page.getByLabel('ID token').fill(await issuer.token({ sub: 'ada' }))
    await page.getByRole('button', { name: 'Verify again' }).click()
    await page.getByText('The login would succeed, with the subject ada.').waitFor()
    await opened.check('sign-in-test')
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()

    await page.getByRole('button', { name: 'Edit studio' }).click()
    await page.getByLabel('Claim that names the player').fill('player')
    await page.getByText('players who signed in before become other players').waitFor()
    await page.getByRole('dialog').getByLabel('Issuer', { exact: true }).fill('nowhere')
    await page.getByRole('dialog').getByLabel('Reason').fill('a slip')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Remove studio' }).click()
    await confirm(page, 'Remove')
    await closeDialog(page)
    await page.getByRole('button', { name: 'Remove studio' }).waitFor({ state: 'detached' })
    await opened.check('sign-in-providers')
    await opened.close()
    await put({ google: null, device: { enabled: false } })
    await issuer.close()
  })

  it('that check X-Signature get the new secret before it signs, so that no login fails', async () => {
    const { game } = stage
    await game.setProviders({ default: provider() })
    const opened = await stage.open('/env/production/providers')
    const { page } = opened
    await page.getByRole('button', { name: 'Rotate secret default' }).click()
    await page.getByLabel('Header that the webhook checks').selectOption('X-Signature')
    await page.getByText('X-Signature is by the new secret from the next login on.').waitFor()
    const secret = await page.getByLabel('New secret').inputValue()
    const rotate = page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true })
    expect(await rotate.isDisabled()).toBe(true)
    verify('x-signature', operator.secret, secret)
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    await page.getByLabel('Every server of the webhook accepts both secrets').check()
    await opened.check('provider-rotate-x-signature')
    await confirm(page, 'Rotate')
    expect(await page.getByRole('dialog').locator('code').textContent()).toBe(secret)
    verify('x-signature', secret)
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    await opened.close()
  })

  it('are rotated once when the answer is lost and the button is pressed again', async () => {
    await stage.game.setProviders({ default: provider() })
    const before = await rotations()
    const { page, close } = await stage.open('/env/production/providers')
    await page.getByRole('button', { name: 'Rotate secret default' }).click()
    await page.getByLabel('Header that the webhook checks').selectOption('webhook-signature')
    await loseAnswer(page, 'rotateProviderSecret')
    await page.getByRole('dialog').getByLabel('Reason').fill('it leaked')
    const rotate = page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true })
    await rotate.click()
    await page.getByText('The service cannot be reached.').waitFor()
    await rotate.click()
    await page.getByText('The new secret signs from now on.').waitFor()
    expect(await rotations()).toBe(before + 1)
    await close()
  })

  it('keep the changes that another person made meanwhile, and report a conflict', async () => {
    const { game } = stage
    await game.setProviders({ default: provider(), other: provider() })
    const { page, close } = await stage.open('/env/production/providers')
    await page.getByRole('button', { name: 'Edit default' }).click()
    await page.getByRole('dialog').getByLabel('Webhook').fill(`${operator.url}/mine`)
    await game.setProviders({
      default: { ...provider(), url: `${operator.url}/theirs` },
      other: provider(),
      third: provider(),
    })
    await page.getByRole('dialog').getByLabel('Reason').fill('moved')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`default was changed meanwhile: it is enabled and calls ${operator.url}/theirs.`).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText(`${operator.url}/theirs`).waitFor()

    await page.getByRole('button', { name: 'Edit other' }).click()
    await page.getByLabel('Enabled').uncheck()
    await loseAnswer(page, 'setAuthProviders')
    await page.getByRole('dialog').getByLabel('Reason').fill('maintenance')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The service cannot be reached.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('other is saved.').waitFor()
    await closeDialog(page)
    await page.getByRole('button', { name: 'Edit third' }).waitFor()
    const custom = page.getByRole('region', { name: 'Custom providers' })
    await custom.getByText('disabled', { exact: true }).waitFor()
    await close()
  })

  it('report each fault of a refused setting at its field, and stay unchanged', async () => {
    const { page, close } = await stage.open('/env/staging/providers')
    await page.getByRole('button', { name: 'New provider' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('no spaces!')
    await page.getByLabel('Webhook').fill('ftp://nowhere')
    await page.getByRole('dialog').getByLabel('Secret').fill('s')
    await page.getByRole('dialog').getByLabel('Reason').fill('a slip')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    const fields = await page.evaluate(
      "[...document.querySelectorAll('dialog [aria-invalid=true]')].map(({ name }) => name)",
    )
    expect(fields).toEqual(['name', 'url'])
    // None is below the fields.
    expect(await page.getByRole('dialog').locator('.fault').count()).toBe(2)
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('No provider in staging yet').waitFor()
    await close()
  })

  it('have samples of customData, which the browser keeps until they are deleted', async () => {
    await stage.game.setProviders({ default: provider() })
    const opened = await stage.open('/env/production/providers')
    const { page } = opened
    await page.getByRole('button', { name: 'Test default' }).click()
    await page.getByText('Samples of this browser').click()
    await page.getByLabel('customData (JSON)').fill('{"player":"grace"}')
    await page.getByLabel('Keep as a sample in this browser').fill('an old player')
    await page.getByRole('button', { name: 'Keep', exact: true }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Test default' }).click()
    await page.getByLabel('customData (JSON)').fill('{}')
    await page.getByLabel('Sample', { exact: true }).selectOption('an old player')
    expect(await page.getByLabel('customData (JSON)').inputValue()).toBe('{"player":"grace"}')
    await opened.check('provider-samples')
    await page.getByRole('button', { name: 'Forget an old player' }).click()
    expect(await page.getByLabel('Sample', { exact: true }).count()).toBe(0)
    await opened.close()
  })

  it('stand beside the policy of accounts, whose changes leave the other parts as they are', async () => {
    const { game } = stage
    await game.setAccountPolicy({ maxSessions: 3, linkTickets: true })
    const opened = await stage.open('/env/production/providers')
    const { page } = opened
    const panel = page.locator('section.panel', { has: page.getByRole('heading', { name: 'Accounts of players' }) })
    await panel.getByText('is refused, and lets the client sign in to that player').waitFor()
    await panel.getByRole('button', { name: 'Change' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
    await page.getByLabel('Identities of a player that deletes itself').selectOption('FREE')
    await page.getByLabel('Clients change nickname, region and language').selectOption('REFUSE')
    await page.getByText('Its identities then: become free: a login creates a new player.').waitFor()
    await opened.check('account-policy')
    await confirm(page, 'Save')
    await closeDialog(page)
    await panel.getByText('become free: a login creates a new player').waitFor()
    const { data } = await game.graphql(
      game.platformKey,
      '{ environments { name accountPolicy { maxSessions linkTickets identitiesAtDeletion clientProfile } } }',
    )
    expect((data as { environments: unknown[] }).environments).toContainEqual({
      name: 'production',
      accountPolicy: { maxSessions: 3, linkTickets: true, identitiesAtDeletion: 'FREE', clientProfile: 'REFUSE' },
    })
    await game.setAccountPolicy({})
    await opened.close()
  })

  it('show the log and the figures of logins, and cannot be tested by a viewer', async () => {
    const { game } = stage
    operator.answer((hit, response) => {
      const isFirst = hit.number % 2 === 1
      response
        .writeHead(isFirst ? 503 : 200, { 'content-type': 'application/json' })
        .end(isFirst ? '' : '{"subject":"grace"}')
    })
    await game.setProviders({ default: provider() })
    expect((await game.login({ player: 'grace' })).status).toBe(200)
    const opened = await stage.open('/env/production/providers', { role: 'viewer', width: 390, dark: true })
    const { page } = opened
    const log = page.getByRole('table', { name: 'Login log' })
    await log.getByRole('cell', { name: 'grace', exact: true }).waitFor()
    await page.getByRole('application', { name: 'Logins by outcome' }).locator('canvas').waitFor()
    const figures = page.getByRole('table', { name: 'Logins by provider' }).getByRole('cell', { name: 'default' })
    await figures.waitFor()
    const times = page.getByLabel('Time', { exact: true })
    const ranges = await times.locator('option').allTextContents()
    expect(ranges).toEqual(['Last 24 hours', 'Last 7 days', 'Last 30 days'])
    for (const range of ranges.slice(1)) {
      const answered = page.waitForResponse((response) => /LoginStatistics/.test(response.request().postData() ?? ''))
      await times.selectOption({ label: range })
      expect((await (await answered).json()).errors).toBeUndefined()
      await figures.waitFor()
    }
    await page.getByRole('button', { name: 'Test default' }).press('Enter')
    await page.getByText('This needs the role admin. You are signed in as viewer.').waitFor()
    await page.getByLabel('Subject').fill('nobody')
    await page.getByText('No login matches').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('providers-390-dark')
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    await log.getByRole('cell', { name: 'grace', exact: true }).waitFor()
    await opened.close()
  })
})
