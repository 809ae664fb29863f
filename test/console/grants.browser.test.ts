import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  giftOf,
  giftText,
  idsOf,
  NO_GIFT,
  NO_REWARD,
  policyText,
  targetText,
  undoRows,
} from '../../console/src/grants/gift.ts'
import { isOutdated, withProgress } from '../../console/src/grants/job-progress.ts'
import { messageOf, NO_MESSAGE } from '../../console/src/grants/message-fields.ts'
import { filterParameters, filtersText, readFilters, unreadFilters } from '../../console/src/players/filters.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm, loseAnswer } from '../harness/console-dialog.ts'
import type { TestPlayer } from '../harness/game.ts'
import { workbookOf } from '../harness/workbook.ts'

describe('the fields of a grant', () => {
  const place = { scenarioId: 's', nodeId: 'pass' }

  it.each([
    ['nothing yet', {}, false, undefined, ''],
    [
      'currencies and items',
      {
        rewards: [
          { id: 0, kind: 'currency', name: ' gold ', amount: '1000' },
          { id: 1, kind: 'itemId', name: 'sword', amount: '2' },
        ],
      },
      false,
      {
        rewards: [
          { currency: 'gold', amount: '1000' },
          { itemId: 'sword', amount: '2' },
        ],
      },
      '1,000 gold and 2 × sword',
    ],
    [
      'a boost',
      { rewards: [{ ...NO_REWARD, kind: 'boost', percent: '50', minutes: '1440' }] },
      false,
      { rewards: [{ boost: { percent: 50, minutes: 1440 } }] },
      '50% more xp for 1,440 minutes',
    ],
    ['a boost for too long', { rewards: [{ ...NO_REWARD, kind: 'boost', minutes: '43201' }] }, false, undefined, ''],
    [
      'amounts of the list',
      { rewards: [{ id: 0, kind: 'currency', name: 'gold', amount: '' }] },
      true,
      { rewards: [{ currency: 'gold' }] },
      'gold by the list',
    ],
    ['xp', { kind: 'xp', ...place, xp: '50' }, false, { xp: { ...place, amount: '50' } }, '50 xp of s'],
    ['no xp', { kind: 'xp', ...place, xp: '0' }, false, undefined, ''],
    ['levels', { kind: 'levels', ...place }, false, { levels: { ...place, levels: 1 } }, '1 level of s'],
    ['no pass', { kind: 'premium', scenarioId: 's' }, false, undefined, ''],
    ['premium', { kind: 'premium', ...place }, false, { premium: place }, 'premium of s'],
    ['a message', { kind: 'message' }, false, null, 'a message'],
  ] as const)('make a gift: %s', (_what, fields, hasAmounts, gift, text) => {
    const made = giftOf({ ...NO_GIFT, ...fields } as typeof NO_GIFT, hasAmounts)
    expect(made).toEqual(gift)
    if (made !== undefined) expect(giftText(made)).toBe(text)
  })

  it('make a message in its languages, the players and their words', () => {
    const text = { id: 0, language: ' en ', title: 'Sorry', body: '' }
    expect(messageOf(NO_MESSAGE)).toBeNull()
    expect(messageOf({ ...NO_MESSAGE, isSent: true })).toBeUndefined()
    expect(messageOf({ isSent: true, texts: [text], image: ' ui/sorry ', days: '7' })).toEqual({
      message: [{ language: 'en', title: 'Sorry', body: '' }],
      image: 'ui/sorry',
      expiresInDays: 7,
    })
    expect(idsOf(' a, b\n\na;c')).toEqual(['a', 'b', 'c'])
    expect(targetText({ kind: 'FILTER', segment: 'whales', filter: null })).toBe('the segment whales')
    expect(targetText({ kind: 'FILTER', segment: null, filter: null })).toBe('all players')
    expect(policyText({ approvalAbovePlayers: null, approvalAboveAmount: null })).toMatch(/^No grant needs/)
    expect(policyText({ approvalAbovePlayers: 1000, approvalAboveAmount: '5000' })).toBe(
      'A grant for more than 1,000 players, or with more than 5,000 of one currency, one item or xp in all waits until a second person approves it.',
    )
    const gold = { currency: 'gold', itemId: null, boost: null }
    const boost = (percent: number) => ({ currency: null, itemId: null, boost: { percent, minutes: 60 }, amount: '2' })
    const given = [{ ...gold, amount: '100' }, boost(50), boost(100)]
    expect(undoRows({ given, taken: [{ ...gold, amount: '40' }, boost(100)] })).toEqual([
      { name: 'gold', given: '100', taken: '40', spent: '60' },
      { name: '50% more xp for 60 minutes', given: '2', taken: '0', spent: '2' },
      { name: '100% more xp for 60 minutes', given: '2', taken: '2', spent: '0' },
    ])
  })

  it('keep filters with hours in an address, as they were', () => {
    const address = 'status=ACTIVE&seen=2026-02-01T14%3A30&seenTo=2026-02-01&scenario=s&pass=p&from=3&premium=no'
    const { filter } = readFilters(new URLSearchParams(address))
    expect(filter).toMatchObject({ lastLoginFrom: '2026-02-01T14:30:00.000Z', lastLoginTo: '2026-02-02T00:00:00.000Z' })
    expect(readFilters(filterParameters(filter)).filter).toEqual(filter)
    expect(filtersText(filter)).toBe(
      'status active, last login from 2026-02-01 14:30, last login until 2026-02-01, on s / p, from level 3, without premium',
    )
  })

  it('name what an address has that is no filter, since a list without it has other players', () => {
    const unread = (address: string) => unreadFilters(new URLSearchParams(address))
    expect(unread('status=ACTIVE&seen=2026-02-01&scenario=s&pass=p&from=3&premium=no&sort=oldest&whom=filter')).toEqual(
      [],
    )
    expect(unread('stauts=BANNED&status=banned&seen=yesterday&from=3&premium=no&scenario=s')).toEqual([
      ...['stauts=BANNED', 'status=banned', 'seen=yesterday', 'from=3', 'premium=no', 'scenario=s'],
    ])
    expect(unread('scenario=s&pass=p&from=many&to=-1&premium=maybe&search=')).toEqual([
      ...['from=many', 'to=-1', 'premium=maybe'],
    ])
  })

  it('follow events: counts of the same state are shown, another state is read again', () => {
    const job = { jobId: 'b', state: 'RUNNING', players: 10, granted: 4, failed: 0 } as const
    const event = { ...job, cursor: 'c', granted: 6, failed: 1 }
    expect(withProgress(job, event)).toEqual({ ...job, granted: 6, failed: 1 })
    expect(withProgress(job, { ...event, granted: 2, failed: 0 })).toBe(job)
    expect(withProgress(job, { ...event, state: 'DONE' })).toBe(job)
    expect(
      [event, { ...event, state: 'DONE' }, { ...event, jobId: 'a' }, { ...event, jobId: 'c' }].map((one) =>
        isOutdated([job], one),
      ),
    ).toEqual([...[false, true, false, true]])
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the pages of grants`, () => {
  const PLAYERS = 30
  let stage: ConsoleStage
  let ada: TestPlayer
  let bea: TestPlayer
  beforeAll(async () => {
    stage = await startConsole({ players: PLAYERS })
    ada = await stage.game.player()
    bea = await stage.game.player()
  })
  afterAll(() => stage?.stop())

  const balance = async ({ playerId }: TestPlayer) => {
    const { data } = await stage.game.graphql(
      stage.game.platformKey,
      'query ($id: ID!) { player(id: $id) { wallet { currency balance } } }',
      { id: playerId },
    )
    const wallet = data.player.wallet as { currency: string; balance: string }[]
    return wallet.find(({ currency }) => currency === 'gems')?.balance ?? '0'
  }

  it('make good an outage to the players of a page, once, and undo it', async () => {
    const opened = await stage.open('/env/production/players?status=ACTIVE', { role: 'operator' })
    const { page } = opened
    await page.getByRole('button', { name: 'Save as segment…' }).click()
    await page.getByLabel('Name', { exact: true }).fill('active')
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByRole('button', { name: /^Give to these \d+ players…$/ }).click()

    await page.getByRole('heading', { name: 'New grant' }).waitFor()
    expect(await page.getByLabel('Status').inputValue()).toBe('ACTIVE')
    await page.getByLabel('Currency', { exact: true }).fill('gem')
    await page.getByLabel('Amount').fill('100')
    await page.getByText('Unknown currency.').waitFor()
    await page.getByLabel('Currency', { exact: true }).fill('gems')
    await page.getByLabel('Reason').fill('the outage of Friday')
    const give = page.getByRole('button', { name: /^Give 100 gems to \d+ players$/ })
    await give.waitFor()
    await opened.check('grant-new')
    await loseAnswer(page, 'ConsoleCreateGrantJob')
    await give.click()
    await page.getByText('The service cannot be reached').waitFor()
    await give.click()
    await page.getByRole('heading', { name: 'Grant: 100 gems' }).waitFor()
    // The browser notes the lost answer.
    opened.complaints.splice(0)
    await page.getByText('done', { exact: true }).waitFor()
    await page.getByRole('table', { name: 'Players of the grant' }).getByText('granted').first().waitFor()
    expect(await balance(ada)).toBe('100')
    await opened.check('grant-job')

    const debit = 'mutation ($input: DebitWalletInput!) { debitWallet(input: $input) { error } }'
    const spent = { playerId: bea.playerId, currency: 'gems', amount: '70', reason: 'test', idempotencyKey: 'spent' }
    await stage.game.graphql(stage.game.platformKey, debit, { input: spent })
    await page.getByRole('button', { name: 'Undo' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('cell', { name: '70', exact: true }).waitFor()
    await opened.check('grant-undo')
    await confirm(page, 'Take it back')
    await dialog.getByRole('link', { name: 'Follow it' }).click()
    await page.getByRole('heading', { name: 'Grant: takes back 100 gems' }).waitFor()
    await page.getByText('done', { exact: true }).waitFor()
    expect([await balance(ada), await balance(bea)]).toEqual(['0', '0'])
    await opened.close()
  })

  it('plan a boost for the players of a segment, which stands in the calendar, and cancel it', async () => {
    const opened = await stage.open('/env/production/grants/new?whom=segment&segment=active', { role: 'operator' })
    const { page } = opened
    await page.getByLabel('Kind').selectOption('boost')
    await page.getByLabel('Percent more xp').fill('50')
    const inAWeek = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 16)
    await page.getByLabel('Starts (UTC)').fill(inAWeek)
    // By the clock of the computer, it is the same moment.
    await page.getByRole('button', { name: 'Times: UTC. Switch.' }).click()
    const local = page.getByLabel('Starts (local time)')
    const shown = await local.inputValue()
    expect([1, 2]).toContain((Date.parse(`${shown}Z`) - Date.parse(`${inAWeek}Z`)) / 3_600_000)
    await local.fill(shown.replace(/^\d{4}/, '2098'))
    await local.fill(shown)
    await page.getByRole('button', { name: 'Times: local. Switch.' }).click()
    expect(await page.getByLabel('Starts (UTC)').inputValue()).toBe(inAWeek)
    await page.getByLabel('Reason').fill('the weekend')
    await page.getByRole('button', { name: /^Give 50% more xp for 60 minutes to \d+ players later$/ }).click()
    await page.getByRole('heading', { name: 'Grant: 50% more xp for 60 minutes' }).waitFor()
    await page.getByText(`starts ${inAWeek.replace('T', ' ')}`).waitFor()
    await opened.check('grant-planned')
    await page.getByRole('navigation').getByRole('link', { name: 'Calendar' }).click()
    await page.getByRole('link', { name: /^grant, planned: 50% more xp .*, for the segment active/ }).click()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByText('It never begins, and nobody gets anything.').waitFor()
    await confirm(page, 'Cancel the grant')
    await closeDialog(page)
    await page.getByText('cancelled', { exact: true }).waitFor()
    await opened.close()
  })

  it('wait for a second person above the size that an admin sets', async () => {
    const admin = await stage.open('/env/production/grants', { actor: 'cleo@studio.example' })
    await admin.page.getByRole('button', { name: 'Change the approval' }).click()
    await admin.page.getByLabel('More players than').fill('10')
    await confirm(admin.page, 'Save')
    await closeDialog(admin.page)
    await admin.page.getByText('A grant for more than 10 players waits').waitFor()

    const opened = await stage.open('/env/production/segments', { role: 'operator' })
    const { page } = opened
    await page.getByRole('cell', { name: 'status active' }).waitFor()
    await opened.check('segments')
    await page.getByRole('link', { name: 'Give', exact: true }).click()
    await page.getByLabel('Each player gets').selectOption('premium')
    await page.getByLabel('Scenario').selectOption('season-1')
    await page.getByLabel('With a message in the inbox').check()
    await page.getByLabel('Title').fill('Premium for you')
    await page.getByRole('button', { name: 'Add a language' }).click()
    await page.getByLabel('Language', { exact: true }).fill('de')
    await page.getByLabel('Title').fill('Premium für dich')
    await page.getByLabel('Reason').fill('the outage of Friday')
    await page.getByText('A second person must approve this grant').waitFor()
    await page.getByRole('button', { name: /^Give premium of season-1 to \d+ players$/ }).click()
    await page.getByText('You made this grant, so another person must approve it.').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)

    // The list of the other person follows live.
    await admin.page.getByRole('cell', { name: 'awaiting approval' }).waitFor()
    await admin.check('grants')
    await admin.page.getByRole('link', { name: 'premium of season-1' }).click()
    await admin.page.getByRole('button', { name: 'Approve' }).click()
    await confirm(admin.page, 'Approve')
    await closeDialog(admin.page)
    await page.getByText('done', { exact: true }).waitFor()
    await page.getByLabel('Outcome', { exact: true }).selectOption('GRANTED')
    await page.getByRole('table', { name: 'Players of the grant' }).getByText('granted').first().waitFor()
    await admin.page.getByRole('link', { name: 'Approve a grant job' }).waitFor()
    await admin.page.getByRole('table', { name: 'Players of the grant' }).getByText('granted').first().waitFor()
    await admin.check('grant-approved')
    await admin.close()
    await opened.close()
  })

  it('take a file, with its faults by row, and save the outcomes as one', async () => {
    const opened = await stage.open('/env/production/grants/new?whom=list', { role: 'operator' })
    const { page } = opened
    const upload = (rows: readonly string[]) =>
      page.getByLabel('CSV file or workbook').setInputFiles({
        ...{ name: 'players.csv', mimeType: 'text/csv', buffer: Buffer.from(`playerId,amount\n${rows.join('\n')}\n`) },
      })
    await upload([`${ada.playerId},5`, 'nobody,5', `${ada.playerId},many`])
    await page.getByRole('row', { name: /^3 Has a playerId that is no id/ }).waitFor()
    // The browser notes the refused request.
    opened.complaints.splice(0)
    await opened.check('grant-file')
    const ids = [
      ['provider', 'subject', 'amount'],
      ['custom', 123, 5],
    ]
    await page.getByLabel('CSV file or workbook').setInputFiles({
      ...{ name: 'players.xlsx', mimeType: '', buffer: workbookOf([{ name: 'Winners', rows: ids }]) },
    })
    await page.getByText('The sheet Winners is used.').waitFor()
    await page.getByRole('row', { name: '2 Cell B2 is the number 123.' }).waitFor()
    await stage.game.app.pool.query('UPDATE players SET nickname = $1 WHERE id = $2', [
      'Bea of the grant',
      bea.playerId,
    ])
    await upload([`${ada.playerId},5`, `${bea.playerId},7`])
    await page.getByText('The file names 2 players, each with an amount.').waitFor()
    await page.getByLabel('Currency', { exact: true }).fill('gems')
    await page.getByLabel('Reason').fill('prizes')
    await page.getByRole('cell', { name: '7', exact: true }).waitFor()
    const name = `Bea of the grant …${bea.playerId.slice(-8)}`
    const first = page.getByRole('table', { name: 'The players of the file' })
    await first.getByRole('row', { name: `3 ${name} 7` }).waitFor()
    await page.getByRole('table', { name: 'The largest amounts' }).getByRole('link', { name }).waitFor()
    await page.getByRole('button', { name: 'Give gems by the list to 2 players' }).click()
    await page.getByText('done', { exact: true }).waitFor()
    const given = page.getByRole('table', { name: 'Players of the grant' })
    await given
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name }) })
      .getByText(/^(just now|\d+ (seconds?|minutes?) ago)$/)
      .waitFor()
    expect([await balance(ada), await balance(bea)]).toEqual(['5', '7'])

    await page.getByRole('button', { name: 'CSV of the players' }).click()
    const saved = page.waitForEvent('download')
    await page.getByLabel('Reason').fill('for the record')
    await page.getByRole('button', { name: 'Save the file' }).click()
    expect((await saved).suggestedFilename()).toMatch(/^grant-.*\.csv$/)
    await closeDialog(page)

    await page.goto(`${stage.game.baseUrl}/console/env/production/calendar`)
    await page.getByRole('link', { name: /^grant, done: gems by the list, 2 players/ }).waitFor()
    await opened.close()
  })

  it('are shown to a viewer, whom they let change nothing, also on a phone in the dark theme', async () => {
    const opened = await stage.open('/env/production/grants', { role: 'viewer', width: 390, dark: true })
    const { page } = opened
    await page.getByRole('link', { name: 'gems by the list' }).waitFor()
    await opened.check('grants-phone')
    await page.getByRole('button', { name: 'New grant' }).click({ force: true })
    await page.getByText('This needs the role operator or admin.').first().waitFor()
    await page.getByRole('link', { name: 'gems by the list' }).click()
    await page.getByRole('button', { name: 'Undo' }).click({ force: true })
    expect(await page.getByRole('dialog').count()).toBe(0)
    await opened.check('grant-job-phone')
    await opened.close()
    const operator = await stage.open('/env/production/grants/new', { role: 'operator', width: 390, dark: true })
    await operator.page.getByText('Fill in the steps').waitFor()
    await operator.check('grant-new-phone')
    await operator.close()
  })
})
