import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { until } from '../harness/until.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole({ players: 40 })
})
afterAll(() => stage?.stop())

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the console`, () => {
  it('signs a person in with a platform key and a name, forgets the key, and keeps the token for the tab', async () => {
    const { game } = stage
    const opened = await stage.blank()
    const { page } = opened
    await page.goto(`${game.baseUrl}/`, { waitUntil: 'networkidle' })
    expect(page.url()).toBe(`${game.baseUrl}/console`)
    await page.getByLabel('Platform key').fill(game.platformKey)
    await page.getByLabel('Your name').fill('Ada')
    await opened.check('sign-in')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Today' }).waitFor()
    expect(page.url()).toBe(`${game.baseUrl}/console/env/production/today`)
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    expect(kept).not.toContain('twplat_')
    expect(kept).toContain('"tierway.operator-token":"ey')

    const { data } = await game.graphql(game.platformKey, '{ auditLog(first: 1) { nodes { action after reason } } }')
    expect(data).toMatchObject({
      auditLog: { nodes: [{ action: 'operator_token.create', after: { actor: 'Ada', role: 'admin' } }] },
    })
    await opened.close()
  })

  it('has a navigation in groups, which can be as narrow as its icons, and stays so', async () => {
    const opened = await stage.open('/env/production/today')
    const { page } = opened
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByRole('list', { name: 'Season' }).getByRole('link', { name: 'Calendar' }).waitFor()
    const width = async () => (await pages.boundingBox())?.width ?? 0
    expect(await width()).toBe(200)
    await page.getByRole('button', { name: 'Only icons in the navigation' }).click()
    expect(await width()).toBe(56)
    await page.reload()
    await pages.getByRole('link', { name: 'Calendar' }).click()
    await page.getByRole('heading', { name: 'Calendar' }).waitFor()
    expect(await width()).toBe(56)
    await opened.check('navigation-narrow')
    await page.getByRole('button', { name: 'Names in the navigation' }).click()
    expect(await width()).toBe(200)
    await opened.close()
  })

  it('has one session in all tabs of a browser, without a token in storage that tabs share', async () => {
    const { page, close } = await stage.open('/env/production/players')
    const { baseUrl } = stage.game
    const isSignedIn = (tab: Page, who: string) => tab.locator('.person', { hasText: who }).waitFor()
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Keys' }).click({ modifiers: ['ControlOrMeta'] })
    const other = await opening
    await other.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    expect(await other.evaluate('JSON.stringify({ ...localStorage })')).not.toContain('"ey')

    // A link of somebody else asks in a new tab, too. Its answer is that of every tab.
    const third = await page.context().newPage()
    await third.goto(`${baseUrl}/console/env/production/live#token=${await stage.token('operator', 'Mallory')}`)
    await third.getByRole('dialog').getByText('You are signed in as ada@studio.example').waitFor()
    await third.getByRole('button', { name: 'Sign in as Mallory' }).click()
    for (const tab of [third, other, page]) await isSignedIn(tab, 'Mallory')

    // A tab that the browser has put away does not hear of the sign-out.
    await other.goto(`${baseUrl}/livez`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    for (const tab of [page, third]) await tab.getByText('You have signed out, in every tab').waitFor()
    await other.goto(`${baseUrl}/console/project/environments`)
    await other.getByText('You have signed out, in every tab').waitFor()
    const fourth = await page.context().newPage()
    await fourth.goto(`${baseUrl}/console/project/audit?role=none`)
    await fourth.getByText('You are not signed in in this browser.').waitFor()

    await third.getByLabel('Platform key').fill(stage.game.platformKey)
    await third.getByLabel('Your name').fill('Ada')
    await third.getByRole('button', { name: 'Sign in' }).click()
    for (const tab of [third, page, other, fourth]) await isSignedIn(tab, 'Ada')
    await fourth.getByRole('heading', { name: 'Audit log' }).waitFor()
    expect(fourth.url()).toBe(`${baseUrl}/console/project/audit?role=none`)
    for (const tab of [other, third, fourth]) await tab.close()
    await close()
  })

  it('says why it refuses a sign-in, and marks the faulty field', async () => {
    const { page, close } = await stage.blank()
    await page.goto(`${stage.game.baseUrl}/console`)
    await page.getByLabel('Platform key').fill('twplat_wrong')
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This platform key is unknown or revoked.').waitFor()
    await page.getByLabel('Platform key').fill(await stage.game.key('viewer'))
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.getByLabel('Role').selectOption('admin')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText("Must be at most the key's own, viewer.").waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    const faulty = () =>
      page.evaluate("[...document.querySelectorAll('[aria-invalid=true]')].map(({ labels }) => labels[0].textContent)")
    expect(await faulty()).toEqual(['Role'])
    await page.getByLabel('Your name').fill('x'.repeat(300))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(/^Must be 1 to \d+ characters/).waitFor()
    expect(await faulty()).toEqual(['Your name'])
    // A fault goes when its field is corrected. Without a choice, the role is that of the key.
    await page.getByLabel('Your name').fill('Vera')
    expect(await faulty()).toEqual([])
    await page.getByLabel('Role').selectOption('that of the key')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.person', { hasText: 'Vera viewer' }).waitFor()
    await close()
  })

  it('is signed in by a link, and removes the token from the URL', async () => {
    const { page, close } = await stage.open('/env/production/players')
    await page.getByRole('heading', { name: 'Players' }).waitFor()
    expect(page.url()).toBe(`${stage.game.baseUrl}/console/env/production/players`)
    await close()
  })

  it.each(['a new page', 'the open page'])(
    'asks before a link that is followed in %s replaces a session',
    async (where) => {
      const opened = await stage.open('/env/production/players')
      const { page } = opened
      const link = `${stage.game.baseUrl}/console/env/production/players#token=${await stage.token('operator', 'Mallory')}`
      const follow = async () => {
        if (where === 'a new page') await page.goto(`${stage.game.baseUrl}/livez`)
        await page.goto(link)
        await page.getByRole('dialog').waitFor()
      }
      const kept = () => page.evaluate("sessionStorage.getItem('tierway.operator-token')")
      const before = await kept()
      await follow()
      expect(page.url()).not.toContain('token')
      const said = await page.getByRole('dialog').textContent()
      expect(said).toContain('You are signed in as ada@studio.example admin.')
      expect(said).toContain('signs in as Mallory operator.')
      await opened.check('shell-another-person')
      await page.getByRole('button', { name: 'Stay signed in as ada@studio.example' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.reload()
      await page.locator('.person', { hasText: 'ada@studio.example' }).waitFor()
      expect(await kept()).toBe(before)
      await follow()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await kept()).toBe(before)
      await follow()
      await page.getByRole('button', { name: 'Sign in as Mallory' }).click()
      await page.locator('.person', { hasText: 'Mallory' }).waitFor()
      expect(await page.getByRole('dialog').count()).toBe(0)
      await opened.close()
    },
  )

  it('keeps a session when a link has no valid token, and says why such a link does not sign in', async () => {
    const { page, close } = await stage.open('/env/production/players')
    await page.goto(`${stage.game.baseUrl}/console/env/production/players#token=nonsense`)
    await page.reload()
    await page.locator('.person', { hasText: 'ada@studio.example' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.goto(`${stage.game.baseUrl}/console#token=nonsense`)
    await page.getByText('The link has expired, or is incomplete.').waitFor()
    await close()
  })

  it('signs in although the storage of the browser is full, and refuses a key with letters that no key has', async () => {
    const { page, close } = await stage.blank()
    await page.goto(`${stage.game.baseUrl}/console`)
    await page.evaluate("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }")
    await page.getByLabel('Platform key').fill('twplat_schlüssel–')
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This platform key is unknown or revoked.').waitFor()
    await page.getByLabel('Platform key').fill(stage.game.platformKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Today' }).waitFor()
    await close()
  })

  it('says that the service is away when a page cannot be loaded, and goes on when it answers', async () => {
    const { page, close } = await stage.open('/env/production/players')
    await page.route(/\.(js|css)$|\/livez$/, (route) => route.abort())
    await page.getByRole('navigation').getByRole('link', { name: 'Providers' }).click()
    await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.unrouteAll()
    await page.getByRole('heading', { name: 'Providers', level: 1 }).waitFor()
    await close()
  })

  it('marks production, switches the environment, and stays on the page', async () => {
    const opened = await stage.open('/env/production/players')
    const { page } = opened
    await page.locator('.top .badge.production').waitFor()
    await page.getByLabel('Environment').selectOption('staging')
    await page.waitForURL('**/console/env/staging/players')
    await page.locator('.top .badge.production').waitFor({ state: 'detached' })
    await opened.check('shell-staging')
    await opened.close()
  })

  it('says how many players a search finds, when it lists the first ones', async () => {
    const { app, environmentId } = stage.game
    await app.pool.query(
      `INSERT INTO players (environment_id, id, nickname)
       SELECT $1, gen_random_uuid(), 'Legion ' || n FROM generate_series(1, 217) n`,
      [environmentId],
    )
    const { page, close } = await stage.open('/env/production/players')
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search players, pages and commands' }).fill('Legion')
    await page.getByRole('option', { name: 'All 217 players with “Legion”' }).click()
    await page.getByText('217 players', { exact: true }).waitFor()
    await page.getByText('50 of 217 players shown').waitFor()
    await page.getByRole('link', { name: 'Live', exact: true }).click()
    await page.getByLabel('Player').fill('Legion')
    await page.getByText('Which of them? 6 of 217 players are listed: type more.').waitFor()
    await close()
  })

  it('finds a player and a page by keyboard, and runs a command', async () => {
    const opened = await stage.open('/env/production/players')
    const { page } = opened
    const { data } = await stage.game.graphql(
      stage.game.platformKey,
      '{ players(environment: "production", first: 1) { nodes { playerId nickname } } }',
    )
    const [player] = (data as { players: { nodes: { playerId: string; nickname: string }[] } }).players.nodes
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search players, pages and commands' }).fill(player?.playerId ?? '')
    await page.getByRole('option', { name: player?.nickname ?? '' }).waitFor()
    await opened.check('command-menu')
    // The Enter that ends a conversion, as of Japanese, is of the text.
    await page.evaluate(
      `document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true }))`,
    )
    await page.getByRole('option', { name: player?.nickname ?? '' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/players/${player?.playerId}`)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('audit')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/project/audit')
    const theme = () => page.evaluate('document.documentElement.dataset.theme')
    for (const [text, set] of [
      ['dark', 'dark'],
      ['light col', 'light'],
    ] as const) {
      expect(await theme()).not.toBe(set)
      await page.keyboard.press('Control+k')
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
      await until(`the colours are ${set}`, async () => (await theme()) === set)
    }
    await opened.close()
  })

  it('is usable at 390 pixels, in dark and in light mode', async () => {
    for (const dark of [false, true]) {
      const opened = await stage.open('/env/production/players', { width: 390, height: 800, dark })
      const { page } = opened
      await page.getByRole('button', { name: 'Navigation' }).click()
      await opened.check(`shell-390-${dark ? 'dark' : 'light'}`)
      await page.getByRole('link', { name: 'Keys' }).click()
      await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
      await opened.close()
    }
  })

  const shortToken = async (expiresInSeconds: number, key = stage.game.platformKey) => {
    const { data } = await stage.game.graphql(
      key,
      'mutation ($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) { token } }',
      { input: { role: 'ADMIN', actor: 'Ada', expiresInSeconds, reason: 'test' } },
    )
    return data.createOperatorToken.token as string
  }
  const signInAgain = async (page: Page) => {
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    expect(await dialog.getByLabel('Your name').inputValue()).toBe('Ada')
    await dialog.getByLabel('Platform key').fill(stage.game.platformKey)
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  it('signs in again over the page when the session expires or is refused, and keeps what was typed in every tab', async () => {
    const opened = await stage.blank()
    const { page } = opened
    const { baseUrl } = stage.game
    await page.goto(`${baseUrl}/console/env/production/boosts#token=${await shortToken(30)}`)
    // A session of minutes says so in advance.
    await page.getByText('Your session ends in 1 minute.').waitFor()
    const other = await page.context().newPage()
    await other.goto(`${baseUrl}/console/env/production/grants/new`)
    await other.getByLabel('Reason').fill('the outage of Friday')
    await page.getByRole('button', { name: 'New boost' }).click()
    const form = page.getByRole('dialog', { name: 'New boost in production' })
    await form.getByLabel('Reason').fill('the weekend')
    for (const tab of [page, other]) await tab.getByText('Your session has expired.').waitFor()
    await opened.check('shell-sign-in-again')
    await page.keyboard.press('Escape')
    await signInAgain(page)
    expect(await form.getByLabel('Reason').inputValue()).toBe('the weekend')
    await other.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await other.getByLabel('Reason').inputValue()).toBe('the outage of Friday')
    await other.close()
    await opened.close()

    // A token ends with its key, too. What was sent waits for the sign-in, and is then sent.
    const again = await stage.blank()
    const key = await stage.game.key('admin')
    const token = await shortToken(3600, key)
    await again.page.goto(`${baseUrl}/console/project/keys#token=${token}`)
    await again.page.getByRole('button', { name: 'New SDK key' }).click()
    await again.page.getByLabel('Reason').fill('the beta')
    const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    await stage.game.graphql(
      stage.game.platformKey,
      'mutation ($input: RevokePlatformKeyInput!) { revokePlatformKey(input: $input) { platformKey { id } } }',
      { input: { id: sub, reason: 'lost' } },
    )
    await again.page.getByRole('button', { name: 'Make the key' }).click()
    await again.page.getByText('Your session has ended.').waitFor()
    await signInAgain(again.page)
    await again.page.getByRole('dialog').getByText('Row of the audit log').waitFor()
    await again.close()
  })

  it('says so when the service takes a request and never answers', async () => {
    const opened = await stage.open('/env/production/boosts')
    const { page } = opened
    await page.getByText('No boost in production yet').waitFor()
    await page.route('**/graphql', () => undefined)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('The service has not answered in time.').waitFor()
    await opened.close()
    const { page: signIn, close } = await stage.blank()
    await signIn.route('**/console/sign-on/option*', () => undefined)
    await signIn.goto(`${stage.game.baseUrl}/console`)
    await signIn.getByLabel('Platform key').waitFor()
    await close()
  })

  it('keeps the focus in the page: at its title, or at the tab that was chosen', async () => {
    const { page, close } = await stage.open('/env/production/players')
    const place = "[document.activeElement.tagName, document.activeElement.textContent].join(' ')"
    const focused = (what: string) =>
      until(`the focus is on ${what}`, async () => String(await page.evaluate(place)).startsWith(what))
    await page.getByRole('table', { name: 'Players' }).getByRole('link').first().press('Enter')
    await page.getByRole('navigation', { name: 'Parts of the player' }).waitFor()
    await focused('H1')
    await page.getByRole('link', { name: 'Wallet ledger' }).press('Enter')
    await page.waitForURL('**/wallet')
    await focused('A Wallet ledger')
    await close()
  })

  it('asks for a new sign-in when the token is invalid, and goes on at the same page', async () => {
    const { page, close } = await stage.open('/env/production/players')
    await page.evaluate("sessionStorage.setItem('tierway.operator-token', 'nonsense')")
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Platform key').fill(stage.game.platformKey)
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Players' }).waitFor()
    await close()
  })
})
