import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  bonusText,
  claimableTiers,
  closedClaims,
  closedSeason,
  newlyClaimable,
  premiumText,
  tiersText,
} from '../../console/src/players/actions/forecast.ts'
import type { PassView } from '../../console/src/scenario/read-definition.ts'
import { ActionKey } from '../../console/src/ui/action-key.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole, translate } from '../harness/console.ts'
import { choose, closeDialog, confirm, loseAnswer } from '../harness/console-dialog.ts'
import type { TestPlayer } from '../harness/game.ts'
import { until } from '../harness/until.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole()
})
afterAll(() => stage?.stop())

/** A player with a run of the season and this much xp. */
async function newPlayer(amount = 600): Promise<TestPlayer> {
  const player = await stage.game.player({ wallet: { gems: 120n } })
  const runId = await player.start('season-1')
  const grant = { scenarioId: 'season-1', runId, nodeId: 'pass', amount, source: 'match' }
  if (amount > 0) await player.post('/sdk/v1/battlepass/xp', grant)
  return player
}

const PLAYER = `query P($id: ID!) {
  player(id: $id) {
    wallet { currency balance } walletLedger(first: 200) { nodes { amount reference } }
    passes { xp level premiumOwned claims { level track } }
    auditLog(first: 20) { nodes { id action reason operator } }
  }
}`

async function read({ playerId }: { playerId: string }) {
  const { data } = await stage.game.graphql(stage.game.platformKey, PLAYER, { id: playerId })
  return data.player
}

/** The amounts that support credited. */
async function credited(player: { playerId: string }): Promise<string[]> {
  const { nodes } = (await read(player)).walletLedger
  return nodes
    .filter(({ reference }: { reference: string }) => reference.startsWith('support/'))
    .map(({ amount }: { amount: string }) => amount)
}

const open = (player: { playerId: string }, tab = '', options = {}) =>
  stage.open(`/env/production/players/${player.playerId}${tab}`, { role: 'operator', ...options })

async function credit(page: Page, amount: string, currency = 'gems'): Promise<void> {
  await page.getByRole('button', { name: 'Credit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Currency', { exact: true }).fill(currency)
  await dialog.getByLabel('Amount').fill(amount)
  await dialog.getByLabel('Reason').fill('ticket 12')
}

describe.skipIf(withoutChromium !== '')(`${withoutChromium}a support action`, () => {
  it('takes effect once when its answer is lost and the fields change before the next press', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    await loseAnswer(page, 'ConsoleCreditWallet')
    await credit(page, '5')
    const dialog = page.getByRole('dialog')
    const press = dialog.getByRole('button', { name: 'Credit', exact: true })
    await press.click()
    await dialog.getByText('The service cannot be reached.').waitFor()
    await dialog.getByLabel('Amount').fill('50')
    await press.click()
    await dialog.getByText(/Your first press took effect/).waitFor()
    expect(await credited(player)).toEqual(['5'])
    // The service has answered, so other fields are another action now.
    await dialog.getByLabel('Amount').fill('7')
    await press.click()
    await dialog.getByText('7 gems credited.').waitFor()
    expect(await credited(player)).toEqual(['7', '5'])
    await close()
  })

  it('takes effect once when its answer is lost and only the reason changes before the next press', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    await loseAnswer(page, 'ConsoleCreditWallet')
    await credit(page, '5')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByText('The service cannot be reached.').waitFor()
    await dialog.getByLabel('Reason').fill('ticket 12, pressed again')
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByText('5 gems credited.').waitFor()
    expect(await credited(player)).toEqual(['5'])
    await close()
  })

  it('whose answer cannot be read says so, and takes effect once when it is pressed again', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    let unreadable = 1
    await page.route('**/graphql', async (route: Route) => {
      if (!route.request().postData()?.includes('ConsoleCreditWallet') || unreadable-- <= 0) return route.continue()
      await route.fetch()
      await route.fulfill({ json: { data: {} } })
    })
    await credit(page, '5')
    const dialog = page.getByRole('dialog')
    const press = dialog.getByRole('button', { name: 'Credit', exact: true })
    await press.click()
    await dialog.getByText('The page cannot show how this ended').waitFor()
    await dialog.getByLabel('Amount').fill('50')
    await press.click()
    await dialog.getByText(/Your first press took effect/).waitFor()
    expect(await credited(player)).toEqual(['5'])
    await close()
  })

  it('that was refused can be repeated with the same fields, once its cause is gone', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    await credit(page, '5', 'shells')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await credited(player)).toEqual([])
    await dialog.getByLabel('Credit it even if no scenario names this currency').check()
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByText('5 shells credited.').waitFor()
    expect(await credited(player)).toEqual(['5'])
    await close()
  })

  it('that credits waits until the page has read the currencies, and says so when it cannot', async () => {
    const player = await newPlayer()
    for (const isRefused of [false, true]) {
      const { page, close } = await open(player)
      let goOn = () => {}
      const held = new Promise<void>((resolve) => {
        goOn = resolve
      })
      await page.route('**/graphql', async (route: Route) => {
        if (!route.request().postData()?.includes('ConsoleCurrencies')) return route.fallback()
        await held
        await (isRefused ? route.abort() : route.continue())
      })
      await page.reload()
      const button = page.getByRole('button', { name: 'Credit' })
      await button.and(page.locator('[aria-busy=true]:disabled')).waitFor()
      goOn()
      await button.click()
      const text = isRefused ? 'The page could not read which currencies' : 'Known here: '
      await page.getByRole('dialog').getByText(text).waitFor()
      await close()
    }
  })

  it('debits a wallet, and shows the credit limit of an operator before it refuses', async () => {
    const { game } = stage
    const player = await newPlayer()
    const limit = 'mutation L($input: SetCreditLimitInput!) { setCreditLimit(input: $input) { auditEntry { id } } }'
    const set = await game.graphql(game.platformKey, limit, {
      input: { environment: 'production', currency: 'gold', limit: '100', reason: 'test' },
    })
    expect(set.errors).toBeUndefined()
    const { page, close } = await open(player)
    const dialog = page.getByRole('dialog')
    await credit(page, '100', 'gold')
    await dialog.getByText('At most 100 at once without the role admin.').waitFor()
    await dialog.getByLabel('Amount').fill('101')
    await dialog.getByText('More than 100 at once needs the role admin.').waitFor()
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Debit' }).click()
    await dialog.getByLabel('Currency').selectOption('gems')
    await dialog.getByLabel('Amount').fill('20')
    await dialog.getByText('gems: 1,120 → 1,100.').waitFor()
    await dialog.getByLabel('Reason').fill('ticket 16')
    await dialog.getByRole('button', { name: 'Debit', exact: true }).click()
    await dialog.getByText('20 gems debited.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('table', { name: 'Balances' }).getByText('1,100').waitFor()
    expect(await credited(player)).toEqual(['-20'])
    await close()
  })

  it('links to its row of the audit log, with the state before and after', async () => {
    const player = await newPlayer()
    const { page, check, close } = await open(player)
    await credit(page, '5')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('gems: 1,120 → 1,125.').waitFor()
    await check('player-credit')
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByRole('link', { name: 'Row of the audit log' }).click()
    const entry = page.getByRole('dialog', { name: 'Entry of the audit log' })
    await entry.getByText('player.credit_wallet').waitFor()
    await entry.getByText('ticket 12').waitFor()
    await entry.getByRole('row', { name: /balance/ }).waitFor()
    expect(new URL(page.url()).searchParams.get('entry')).toBe((await read(player)).auditLog.nodes[0].id)
    // The URL leads to the same entry.
    await page.reload()
    await entry.getByText('player.credit_wallet').waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL(({ search }) => search === '')
    // The list of the player's entries has the action in words, and the person.
    const listed = page.getByRole('table', { name: 'Actions of operators on this player' })
    await listed.getByRole('link', { name: 'Credit a wallet' }).waitFor()
    await listed.getByText('ada@studio.example', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Wallet ledger' }).click()
    await page.getByRole('link', { name: 'support' }).click()
    await entry.getByText('player.credit_wallet').waitFor()
    await close()
  })

  it('says why a premium tier is not granted, before and after the press', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player, '/passes')
    await page.getByRole('button', { name: /^premium tier of level 2 .*needs premium$/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The player does not own premium: this will be refused. Grant premium first.').waitFor()
    await dialog.getByLabel('Reason').fill('ticket 13')
    await dialog.getByRole('button', { name: 'Grant', exact: true }).click()
    await dialog.getByRole('alert').getByText('The player does not own premium. Grant premium first.').waitFor()
    expect((await read(player)).passes[0].claims).toEqual([])
    await close()
  })

  it('grants xp on a pass that the player has not begun', async () => {
    const player = await newPlayer(0)
    expect((await read(player)).passes).toEqual([])
    const opened = await open(player, '/passes')
    const { page } = opened
    await page.getByText(/Not begun yet/).waitFor()
    await opened.check('player-pass-not-begun')
    await page.getByRole('button', { name: 'Grant xp' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Xp').fill('600')
    await dialog.getByText('Xp: 0 → 600. Level: 1 → 2. Can be claimed then: free 2.').waitFor()
    await dialog.getByLabel('Reason').fill('the match was lost')
    await dialog.getByRole('button', { name: 'Grant', exact: true }).click()
    await dialog.getByText('600 xp granted. The player is at level 2.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('button', { name: /^free tier of level 2 .*claimable$/ }).waitFor()
    expect((await read(player)).passes[0]).toMatchObject({ xp: '600', level: 2 })
    await opened.close()
  })

  it('shows the new figures also under a translation of the browser, which replaces texts by its own', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player, '/passes')
    await page.getByText('600 xp').first().waitFor()
    await translate(page)
    await page.getByRole('button', { name: 'Grant xp' }).click()
    await page.getByRole('dialog').getByLabel('Xp').fill('600')
    await confirm(page, 'Grant')
    await closeDialog(page)
    await page.locator('main').getByText('1,200 xp').first().waitFor()
    await close()
  })

  it('is refused on a pass without an active run, as the dialog says before', async () => {
    const player = await newPlayer()
    const { game } = stage
    const { data } = await game.graphql(
      game.platformKey,
      'query R($id: ID!) { player(id: $id) { runs { nodes { runId } } } }',
      { id: player.playerId },
    )
    const cancel = 'mutation C($input: CancelRunInput!) { cancelRun(input: $input) { error } }'
    const [run] = data.player.runs.nodes
    await game.graphql(game.platformKey, cancel, {
      input: { playerId: player.playerId, runId: run.runId, reason: 'x' },
    })
    const { page, close } = await open(player, '/passes')
    await page.getByText('No active run of season-1: xp and tiers are granted in one.').waitFor()
    await page.getByRole('button', { name: 'Grant xp' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Xp').fill('5')
    await dialog.getByText('The player has no active run of season-1. This will be refused.').waitFor()
    await dialog.getByLabel('Reason').fill('ticket 14')
    await dialog.getByRole('button', { name: 'Grant', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    expect((await read(player)).passes[0].xp).toBe('600')
    await close()
  })

  it('returns the focus to its button, or to the title when the button is gone', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.getByRole('button', { name: 'Credit' }).press('Enter')
    await page.getByRole('dialog').getByLabel('Reason').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until('the button has the focus', async () => (await focused()) === 'Credit')

    // What was typed is not lost by a slip.
    await page.getByRole('button', { name: 'Credit' }).press('Enter')
    const reason = page.getByRole('dialog').getByLabel('Reason')
    await reason.fill('a long story')
    for (const slip of [() => page.keyboard.press('Escape'), () => page.mouse.click(5, 5)]) {
      await slip()
      await slip()
      await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
      expect(await reason.inputValue()).toBe('a long story')
    }
    await reason.press('Escape')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard it' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await choose(page, 'More', 'Ban the player')
    await page.getByRole('button', { name: 'Cancel' }).press('Enter')
    await until('the button of the menu has the focus', async () => (await focused()) === 'More ▾')
    await choose(page, 'More', 'Delete the player')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/^Type /).fill(player.playerId)
    await dialog.getByLabel('Reason').fill('asked for it, ticket 15')
    await page.keyboard.press('Tab')
    await dialog.getByRole('button', { name: 'Delete for good' }).press('Enter')
    await dialog.getByText('The player is deleted.').waitFor()
    await page.getByText('This player is deleted:').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().press('Enter')
    await until('the title has the focus', async () => (await focused()) === player.playerId)
    await close()
  })

  it('closes its dialog when the page changes to another player', async () => {
    const [one, other] = [await newPlayer(), await newPlayer()]
    const { page, close } = await open(one)
    await page.getByRole('heading', { name: one.playerId }).waitFor()
    await page.evaluate(`history.pushState(null, '', '/console/env/production/players/${other.playerId}')`)
    await page.getByRole('heading', { name: other.playerId }).waitFor()
    await choose(page, 'More', 'Ban the player')
    await page.getByRole('dialog').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: one.playerId }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    await close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the header of a player`, () => {
  it('says the level, premium, money and last login in a line, of an active run alone', async () => {
    const player = await newPlayer()
    const opened = await open(player)
    const { page } = opened
    const line = page.locator('header', { has: page.getByRole('heading', { level: 1 }) })
    await line.getByText('120 gems').waitFor()
    await line.getByText('active', { exact: true }).waitFor()
    await until('the level is there', async () => /Level\s*2/.test((await line.textContent()) ?? ''))
    expect(await line.getByText('premium').count()).toBe(0)
    await choose(page, 'Grant', 'Grant premium')
    await page.getByText('The player owns premium of pass without paying for it.').waitFor()
    await confirm(page, 'Grant premium')
    await closeDialog(page)
    await line.getByText('premium', { exact: true }).waitFor()
    await opened.check('player-header')
    const { data } = await stage.game.graphql(
      stage.game.platformKey,
      'query R($id: ID!) { player(id: $id) { runs { nodes { runId } } } }',
      { id: player.playerId },
    )
    const cancel = 'mutation C($input: CancelRunInput!) { cancelRun(input: $input) { error } }'
    const [{ runId }] = data.player.runs.nodes
    await stage.game.graphql(stage.game.platformKey, cancel, {
      input: { playerId: player.playerId, runId, reason: 'a test' },
    })
    await page.reload()
    await line.getByText('120 gems').waitFor()
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Give a boost' }).waitFor()
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Give a boost', 'Send a message'])
    expect(await line.getByText('Level').count()).toBe(0)
    await opened.close()
  })

  it('has menus for the keyboard: arrows go around, Home and End, and Escape, Tab and a press elsewhere close', async () => {
    const player = await newPlayer()
    const opened = await open(player)
    const { page } = opened
    const focused = () => page.evaluate('document.activeElement.firstChild.textContent')
    const button = page.getByRole('button', { name: 'More', exact: true })
    const isOpen = async () => (await page.getByRole('menu').count()) === 1
    await button.press('ArrowDown')
    expect(await focused()).toBe('Debit the wallet')
    expect(await button.getAttribute('aria-expanded')).toBe('true')
    await opened.check('player-menu')
    await page.keyboard.press('ArrowUp')
    expect(await focused()).toBe('Delete the player')
    await page.keyboard.press('ArrowDown')
    expect(await focused()).toBe('Debit the wallet')
    await page.keyboard.press('End')
    expect(await focused()).toBe('Delete the player')
    await page.keyboard.press('Home')
    expect(await focused()).toBe('Debit the wallet')
    await page.keyboard.press('Escape')
    expect(await isOpen()).toBe(false)
    expect(await focused()).toBe('More')
    for (const leave of [() => page.keyboard.press('Tab'), () => page.getByRole('heading', { level: 1 }).click()]) {
      await button.press('Enter')
      expect(await isOpen()).toBe(true)
      await leave()
      expect(await isOpen()).toBe(false)
    }
    await page.setViewportSize({ width: 390, height: 800 })
    for (const name of ['Grant', 'More']) {
      await page.getByRole('button', { name, exact: true }).click()
      const box = await page.getByRole('menu').boundingBox()
      expect([box && box.x >= 0, box && box.x + box.width <= 390]).toEqual([true, true])
      await page.keyboard.press('Escape')
    }
    await opened.close()
  })

  it('has its actions in the menu of commands, on its own page and for the role operator alone', async () => {
    const player = await newPlayer()
    const { page, close } = await open(player)
    await page.getByText('120 gems').first().waitFor()
    const find = async (text: string) => {
      await page.keyboard.press('/')
      await page.getByRole('combobox', { name: /^Search/ }).fill(text)
    }
    await find('credit')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Currency', { exact: true }).fill('gems')
    await dialog.getByLabel('Amount').fill('5')
    await confirm(page, 'Credit')
    expect(await credited(player)).toEqual(['5'])
    await closeDialog(page)
    await page.getByRole('link', { name: 'Players', exact: true }).click()
    await page.getByRole('heading', { name: 'Players' }).waitFor()
    await find('credit')
    await page.getByRole('option', { name: /All players with/ }).waitFor()
    expect(await page.getByRole('option', { name: 'Credit the wallet' }).count()).toBe(0)
    await close()

    const viewer = await open(player, '', { role: 'viewer' })
    await viewer.page.getByText('120 gems').or(viewer.page.getByText('125 gems')).first().waitFor()
    await viewer.page.keyboard.press('/')
    await viewer.page.getByRole('combobox', { name: /^Search/ }).fill('credit')
    await viewer.page.getByRole('option', { name: /All players with/ }).waitFor()
    expect(await viewer.page.getByRole('option', { name: 'Credit the wallet' }).count()).toBe(0)
    await viewer.close()
  })
})

describe('the idempotency key of a dialog', () => {
  it('stays the same until the service has answered, and changes with other fields afterwards', () => {
    const key = new ActionKey()
    const first = key.keyOf('5 gems')
    expect([key.keyOf('5 gems'), key.keyOf('7 gems')]).toEqual([first, first])
    key.onAnswer('5 gems')
    expect(key.keyOf('5 gems')).toBe(first)
    const second = key.keyOf('7 gems')
    expect(second).not.toBe(first)
    expect(key.keyOf('8 gems')).toBe(second)
  })

  it('stays the same while an answer is lost, whatever is refused meanwhile', () => {
    const key = new ActionKey()
    const first = key.keyOf('5 gems')
    key.onLost()
    expect(key.keyOf('no gems')).toBe(first)
    key.onRefusal('no gems')
    expect(key.keyOf('5 gems')).toBe(first)
    key.onAnswer('5 gems')
    expect(key.keyOf('7 gems')).not.toBe(first)
  })
})

describe('the forecast of an action', () => {
  const reward = [{ currency: 'gold', itemId: null, amount: '1' }]
  const view: PassView = {
    id: 'pass',
    levels: [1, 2, 3].map((level) => ({ level, xp: BigInt(level * 100) })),
    tiers: [1, 2, 3].flatMap((level) => [
      { level, track: 'FREE' as const, rewards: reward, choice: [] },
      { level, track: 'PREMIUM' as const, rewards: reward, choice: [] },
    ]),
    price: null,
    xpPercent: null,
    instant: [],
    bonus: null,
    announcedAt: null,
    startsAt: '2026-01-01T00:00:00Z',
    endingHours: null,
    endsAt: '2026-02-01T00:00:00Z',
    claimUntil: '2026-02-08T00:00:00Z',
    grantsAtEnd: false,
  }
  const state = { xp: '250', premiumOwned: false, claims: [{ level: 1, track: 'FREE' as const }] }

  it('lists the tiers that are reached, owned and not claimed', () => {
    expect(tiersText(claimableTiers(view, state))).toBe('free 2')
    expect(tiersText(newlyClaimable(view, state, { ...state, xp: '300' }))).toBe('free 3')
    expect(tiersText(newlyClaimable(view, state, { ...state, premiumOwned: true }))).toBe('premium 1, premium 2')
    expect(tiersText(claimableTiers(view, { ...state, xp: '99' }))).toBe('')
    const withBonus = { ...view, bonus: { every: 50n, rewards: [], choice: [], max: 2, perDay: 1 } }
    expect(tiersText(newlyClaimable(withBonus, state, { ...state, xp: '349' }))).toBe('free 3')
    const claims = [...state.claims, { level: 1, track: 'BONUS' as const }]
    expect(tiersText(claimableTiers(withBonus, { ...state, claims, xp: '900' }))).toBe('free 2, free 3, bonus 2')
    expect(bonusText(withBonus, { ...state, claims, xp: '900' })).toBe(
      'Bonus tiers: 2 earned, 1 claimed, at most 1 on a day.',
    )
    expect(bonusText(withBonus, state)).toBe(undefined)
    expect(tiersText(view.tiers, 2)).toBe('free 1, premium 1 and 4 more')
  })

  it('says what a grant of premium brings, and what it does not', () => {
    expect(premiumText(view)).toBe('')
    expect(premiumText({ ...view, xpPercent: 20 })).toBe(' From then on the player gets 20% more xp.')
    const instant = [...reward, { currency: null, itemId: 'hat', amount: '2' }]
    expect(premiumText({ ...view, instant })).toBe(' What the purchase grants at once is not granted: 1 gold, 2 hat.')
  })

  it('says when the season accepts no xp, and when tiers cannot be claimed', () => {
    const at = (time: string) => Date.parse(`2026-${time}T00:00:00Z`)
    expect(closedSeason(view, at('01-01'))).toBeUndefined()
    expect(closedSeason(view, at('02-01'))).toBe('The season ended 2026-02-01 00:00 UTC.')
    expect(closedSeason(view, at('01-01') - 1)).toBe('The season begins 2026-01-01 00:00 UTC.')
    expect(closedClaims(view, at('02-01'))).toBeUndefined()
    expect(closedClaims(view, at('02-08'))).toBe('The time to claim ended 2026-02-08 00:00 UTC.')
    expect(closedClaims({ ...view, claimUntil: null }, at('02-01'))).toBe(
      'The time to claim ended 2026-02-01 00:00 UTC.',
    )
    expect(closedClaims({ ...view, startsAt: null, endsAt: null, claimUntil: null }, 0)).toBeUndefined()
  })
})
