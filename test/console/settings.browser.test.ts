import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actionTitle } from '../../console/src/project/actions.ts'
import { changesOf } from '../../console/src/project/changes.ts'
import { clockText } from '../../console/src/shell/clock-text.ts'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm, loseAnswer } from '../harness/console-dialog.ts'
import { until } from '../harness/until.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole()
})
afterAll(() => stage?.stop())

describe.skipIf(withoutChromium !== '')(`${withoutChromium}keys`, () => {
  it('are created, shown once, used and revoked', async () => {
    const { game } = stage
    const opened = await stage.open('/project/keys')
    const { page } = opened
    await page.getByRole('button', { name: 'New SDK key' }).click()
    await page.getByLabel('Environment').last().selectOption('staging')
    await page.getByLabel('Purpose').fill('iOS client')
    await confirm(page, 'Make the key')
    const sdkKey = await page.getByRole('dialog').locator('code').textContent()
    expect(sdkKey).toMatch(/^twsdk_/)
    await page.keyboard.press('Escape')
    await page.getByText('Copy the key now. It is not shown again.').waitFor()
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
    await page.getByLabel('Role', { exact: true }).selectOption('operator')
    await confirm(page, 'Make the key', 'for a tool')
    const platformKey = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    expect((await game.graphql(platformKey, '{ project { name } }')).errors).toBeUndefined()
    await closeDialog(page)

    await page.getByRole('button', { name: 'New server key' }).click()
    await page.getByLabel('Your platform key').fill(await game.key('operator'))
    await page.getByRole('dialog').getByLabel('Reason').fill('for a tool')
    await page.getByRole('button', { name: 'Make the key' }).click()
    await page.getByText('This platform key does not have the role admin.').waitFor()
    await page.getByLabel('Your platform key').fill(game.platformKey)
    await page.getByLabel('Environment', { exact: true }).last().selectOption('staging')
    await page.getByLabel('Purpose').fill('match server')
    await page
      .getByText('Game servers with this key act for the players of staging, until the key is revoked.')
      .waitFor()
    await confirm(page, 'Make the key', 'for a fleet')
    const serverKey = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    const find = () =>
      game.request('POST', '/server/v1/players/find', {
        body: '{"provider":"custom","subject":"nobody"}',
        headers: { authorization: `Bearer ${serverKey}` },
      })
    expect((await find()).status).toBe(404)
    await closeDialog(page)
    const server = page.getByRole('row').filter({ hasText: 'match server' })
    await server.getByRole('button', { name: /^Revoke/ }).click()
    await page
      .getByText('It is the last valid key of staging: no game server can call until it has a new one.')
      .waitFor()
    await confirm(page, 'Revoke')
    await closeDialog(page)
    expect((await find()).status).toBe(401)

    await page.getByRole('button', { name: `Revoke ${platformKey.slice(0, 12)}` }).click()
    await confirm(page, 'Revoke')
    await closeDialog(page)
    expect((await game.graphql(platformKey, '{ project { name } }')).errors?.[0]?.extensions.code).toBe('INVALID_TOKEN')
    // The list is read again after the answer.
    const listed = page.getByText(`${platformKey.slice(0, 12)}…`)
    await until('the key is gone', async () => (await listed.count()) === 0)
    await page.getByLabel('Show revoked keys').check()
    await listed.waitFor()
    await opened.close()
  })

  it('are listed when the answer to their creation is lost, so that they can be revoked', async () => {
    const { page, close } = await stage.open('/project/keys')
    await page.getByRole('button', { name: 'New SDK key' }).click()
    await page.getByLabel('Purpose').fill('Android client')
    await loseAnswer(page, 'createSdkKey')
    await page.getByRole('dialog').getByLabel('Reason').fill('a new client')
    await page.getByRole('button', { name: 'Make the key' }).click()
    await page.getByText('The answer was lost, and a key may have been made that nobody has seen.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('cell', { name: 'Android client' }).waitFor()
    const row = page.getByRole('row').filter({ hasText: 'Android client' })
    await row.getByRole('button', { name: /^Revoke/ }).click()
    await page.getByText('One other valid key of production stays.').waitFor()
    await close()
  })

  it('show which one the session was made with, and a warning before it is revoked', async () => {
    const opened = await stage.open('/project/keys', { width: 390, dark: true })
    const { page } = opened
    const row = page.getByRole('row').filter({ hasText: 'your session' })
    await row.getByRole('button', { name: /^Revoke/ }).click()
    await page.getByText('Your own session was made with this key: you are signed out, too.').waitFor()
    await page
      .getByText('It is the last valid key with the role admin. After that, only the command line can make keys.')
      .waitFor()
    await opened.check('key-revoke-390-dark')
    await opened.close()
  })

  it('are not shown to an operator, and the page says why', async () => {
    const opened = await stage.open('/project/keys', { role: 'operator' })
    await opened.page.getByText('This needs the role admin. You are signed in as operator.').waitFor()
    await opened.check('keys-denied')
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the last way in for admins`, () => {
  /** A project with single sign-on for this role, and a session of an admin that this key made. */
  async function open(role: 'admin' | 'support', path: string, of: 'key' | 'single sign-on') {
    const { pool, service } = stage.game.app
    const { projectId } = await createProject(pool, { name: 'Small', environments: ['production'] })
    const signOn = await createPlatformKey(pool, projectId, role)
    const keyId = of === 'key' ? (await createPlatformKey(pool, projectId, 'admin')).id : signOn.id
    await pool.query(
      `INSERT INTO single_sign_ons (project_id, title, issuer, client_id, console_url, scopes, groups_claim, groups, session_hours)
       VALUES ($1, 'Studio', 'https://studio.example', 'console', '', '{}', 'groups', $2, 8)`,
      [projectId, JSON.stringify([{ group: 'all', role, keyId: signOn.id }])],
    )
    const { token } = await service.tokens.issueOperatorToken({
      ...{ projectId, keyId, role: 'admin', actor: 'Ada', seconds: 600 },
    })
    const opened = await stage.blank()
    await opened.page.goto(`${stage.game.baseUrl}/console${path}#token=${token}`)
    return opened
  }

  it.each([
    ['the last key that somebody holds', 'support', '/project/keys', 'key', 'Revoke', /is revoked\.$/],
    ['single sign-on', 'admin', '/env/production/roles', 'single sign-on', 'Delete', /^Single sign-on is deleted/],
  ] as const)('%s ends only when the box for it is ticked', async (_what, role, path, of, button, done) => {
    const opened = await open(role, path, of)
    const { page } = opened
    const place = of === 'key' ? page.getByRole('row').filter({ hasText: 'your session' }) : page
    await place.getByRole('button', { name: new RegExp(`^${button}`) }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('test')
    await dialog.getByRole('button', { name: button, exact: true }).click()
    await dialog.getByText('Is the last way in for admins.').waitFor()
    await dialog.getByLabel('End the last way in for admins').check()
    await dialog.getByRole('button', { name: button, exact: true }).click()
    await page.getByText(done).waitFor()
    await opened.close()
  })
})

describe('the words for a clock', () => {
  it.each([
    [1, '259200', 'is 3 days ahead.'],
    [60, '-3600', 'is 1 hour behind and runs 60 times as fast.'],
    [10_000, '90', 'is 2 minutes ahead and runs 10,000 times as fast.'],
    [2, '0', 'is at the real time and runs 2 times as fast.'],
  ])('with the rate %i and %s seconds ahead are: %s', (rate, aheadSeconds, text) => {
    expect(clockText('staging', { rate, aheadSeconds })).toBe(`The clock of staging ${text}`)
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the clock of an environment`, () => {
  it('is set by an admin, shown on every page of the environment, and not offered for production', async () => {
    const opened = await stage.open('/project/environments')
    const { page } = opened
    const set = page.getByRole('button', { name: 'Set the clock' })
    await set.first().waitFor()
    expect(await set.count()).toBe(1)
    await set.click()
    await page.getByLabel("The game's time (UTC)").fill('2031-06-10T12:00')
    await page.getByLabel('Times as fast').fill('60')
    await opened.check('clock-set')
    await confirm(page, 'Set the clock')
    await closeDialog(page)
    await page.getByText(/^The clock of staging is [\d,]+ days ahead and runs 60 times as fast\.$/).waitFor()
    await page.goto(`${stage.game.baseUrl}/console/env/staging/calendar`)
    const banner = page.getByRole('status').filter({ hasText: 'The clock of staging is' })
    await banner.waitFor()
    await opened.check('clock-banner')
    await page.goto(`${stage.game.baseUrl}/console/project/environments`)
    await set.click()
    await confirm(page, 'Use the real time')
    await closeDialog(page)
    await page.goto(`${stage.game.baseUrl}/console/env/staging/calendar`)
    await page.getByRole('heading', { name: 'Calendar' }).waitFor()
    await until('the banner is gone', async () => (await banner.count()) === 0)
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}environments`, () => {
  it('are created with a list of next steps, and the project is renamed', async () => {
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

describe.skipIf(withoutChromium !== '')(`${withoutChromium}environments whose answer is lost`, () => {
  it('are created once, and the second press says so', async () => {
    const { page, close } = await stage.open('/project/environments')
    await page.getByRole('button', { name: 'New environment' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('qa')
    await page.getByRole('dialog').getByLabel('Reason').fill('testers')
    await loseAnswer(page, 'createEnvironment')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('The service cannot be reached.').waitFor()
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('The audit log has the earlier request, whose answer was lost.').waitFor()
    await close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the audit log`, () => {
  it('shows an action with its reason and the state before and after, at a URL that keeps the filters', async () => {
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
    await game.app.pool.query('UPDATE players SET nickname = $1 WHERE id = $2', ['Ada of the log', player.playerId])
    const opened = await stage.open(`/project/audit?target=${player.playerId}`)
    const { page } = opened
    await page.getByRole('cell', { name: 'a lost reward' }).waitFor()
    await page.getByRole('link', { name: `Ada of the log …${player.playerId.slice(-8)}` }).waitFor()
    const time = page.getByRole('cell', { name: /^(just now|\d+ (seconds?|minutes?) ago)$/ }).locator('time')
    expect(await time.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    await page.getByRole('button', { name: 'Times in lists: relative. Switch.' }).click()
    await page.getByRole('cell', { name: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/ }).waitFor()
    await page.getByRole('button', { name: 'Times in lists: exact. Switch.' }).click()
    // The words change by themselves.
    await page.evaluate('{ const now = Date.now; Date.now = () => now() + 600_000 }')
    await page.getByRole('cell', { name: /^1\d minutes ago$/ }).waitFor()
    await opened.check('audit')
    await page.getByRole('link', { name: 'Credit a wallet' }).click()
    const dialog = page.getByRole('dialog')
    const row = dialog.getByRole('row').filter({ hasText: 'balance' })
    await row.getByText('505').waitFor()
    await opened.check('audit-entry')
    await page.reload()
    await row.getByText('505').waitFor()
    await dialog.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, (just now|\d+ (seconds?|minutes?) ago)$/).waitFor()
    await dialog.getByRole('button', { name: `Copy ${player.playerId}` }).waitFor()
    await dialog.getByRole('link', { name: 'Ada of the log' }).click()
    await page.waitForURL(`**/env/production/players/${player.playerId}`)
    await opened.close()
  })

  it('marks denied attempts, and is closed to viewers', async () => {
    const { game } = stage
    const denied = await game.graphql(
      await game.key('viewer'),
      'mutation B($input: BanPlayerInput!) { banPlayer(input: $input) { error } }',
      {
        input: { playerId: (await game.player()).playerId, reason: 'no right to' },
      },
    )
    expect(denied.errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    const eve = await game.player()
    await game.app.pool.query('UPDATE players SET nickname = $1 WHERE id = $2', ['Eve', eve.playerId])
    await eve.graphql('mutation { banPlayer(input: { playerId: "x", reason: "x" }) { error } }')
    const { page, close } = await stage.open('/project/audit?action=player.ban.denied')
    await page.getByRole('cell', { name: 'Ban a player denied' }).first().waitFor()
    // A player who tried it has a name, too.
    await page.getByRole('link', { name: `Eve …${eve.playerId.slice(-8)}` }).waitFor()
    await close()
    const viewer = await stage.open('/project/audit', { role: 'viewer', width: 390 })
    await viewer.page.getByText('Not allowed').waitFor()
    await viewer.check('audit-denied-390')
    await viewer.close()
  })
})

describe('actions of the audit log', () => {
  it('have a title each when docs/access.md lists them', async () => {
    const page = await readFile(new URL('../../docs/access.md', import.meta.url), 'utf8')
    const list = page.slice(
      page.indexOf('The actions of the mutations'),
      page.indexOf('## ', page.indexOf('only when denied')),
    )
    const actions = [...list.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].flatMap(([, action = '']) => action)
    expect(actions.length).toBeGreaterThan(40)
    expect(actions.filter((action) => actionTitle(action) === action)).toEqual([])
    expect(actionTitle('player.ban.denied')).toBe('Ban a player')
  })
})

describe('the states before and after', () => {
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
