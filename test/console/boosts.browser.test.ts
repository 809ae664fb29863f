import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { effectOf, linesOf, previewText, targetText } from '../../console/src/boosts/boost-fields.ts'
import { fieldOf, localOf, momentOf, utcOf } from '../../console/src/ui/moment-field.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { closeDialog, confirm, loseAnswer } from '../harness/console-dialog.ts'
import { season } from '../harness/definitions.ts'

describe('the fields of a boost', () => {
  it('are read as a person types them', () => {
    expect(momentOf('2027-01-15T18:00')).toBe('2027-01-15T18:00:00.000Z')
    for (const utc of ['2027-01-15T18:00', '2027-07-15T18:00:30', '2027-03-28T01:30'])
      expect([new Date(localOf(utc)).toISOString().startsWith(utc), utcOf(localOf(utc))]).toEqual([true, utc])
    expect([localOf(''), utcOf('')]).toEqual(['', ''])
    expect([momentOf(''), momentOf('2027')]).toEqual([undefined, '2027-01-01T00:00:00.000Z'])
    expect(['2027-01-15T18:00:00.000Z', '2027-01-15T18:00:30.000Z'].map(fieldOf)).toEqual([
      '2027-01-15T18:00',
      '2027-01-15T18:00:30',
    ])
    expect(linesOf(' a \n\nb\na')).toEqual(['a', 'b'])
    const fields = {
      name: 'x',
      startsAt: '',
      endsAt: '',
      scenarios: '',
      sources: 'match',
      audience: 'PREMIUM',
    } as const
    expect(['', '0', '1.5', 'x'].map((percent) => effectOf({ ...fields, percent }))).toEqual(Array(4).fill(undefined))
    expect(effectOf({ ...fields, percent: '100' })).toEqual({
      ...{ percent: 100, scenarios: [], sources: ['match'], audience: 'PREMIUM' },
    })
  })

  it('are told in sentences', () => {
    expect(previewText({ players: 1200, xp: '34500', levelGained: 310 }, 3)).toBe(
      'In the last 3 days it would have moved 310 of 1,200 players up a level, with 34,500 more xp.',
    )
    expect(previewText({ players: 1, xp: '5', levelGained: 0 }, 1)).toBe(
      'In the last day it would have moved 0 of 1 player up a level, with 5 more xp.',
    )
    expect(previewText({ players: 0, xp: '0', levelGained: 0 }, 1)).toBe(
      'Nobody got xp in the last day that this boost is for.',
    )
    expect(targetText({ scenarios: [], sources: [], audience: 'EVERYBODY' })).toBe('all scenarios; all xp')
    expect(targetText({ scenarios: ['a', 'b'], sources: ['match', ''], audience: 'PREMIUM' })).toBe(
      'a, b; xp of match, no source; owners of premium',
    )
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the page of boosts`, () => {
  let stage: ConsoleStage
  beforeAll(async () => {
    stage = await startConsole()
  })
  afterAll(() => stage?.stop())

  it('creates a boost with its preview, once, changes its end and ends it', async () => {
    const { game } = stage
    await game.publish('weekend', season())
    const player = await game.player()
    const place = { scenarioId: 'weekend', nodeId: 'pass', runId: await player.start('weekend') }
    const give = async () => (await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 60 })).body.xp
    await give()

    const opened = await stage.open('/env/production/boosts')
    const { page } = opened
    await page.getByText('No boost in production yet').waitFor()
    await opened.check('boosts-empty')
    await page.getByRole('button', { name: 'New boost' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Double xp weekend')
    await dialog.getByLabel('Starts (UTC)').fill('2020-01-01T00:00')
    await dialog.getByLabel('Ends (UTC)').fill('2098-01-01T00:00')
    await dialog.getByText('it would have moved 1 of 1 player up a level, with 60 more xp').waitFor()
    await opened.check('boost-new')
    await dialog.getByLabel('Scenarios').fill('weekend\nnone')
    await dialog.getByLabel('Reason').fill('weekend')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('Is no scenario of this environment.').waitFor()
    await dialog.getByLabel('Scenarios').fill('weekend')
    await loseAnswer(page, 'ConsoleCreateBoost')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('The service cannot be reached').waitFor()
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('The boost is created.').waitFor()
    await closeDialog(page)
    // The browser notes the lost answer.
    opened.complaints.splice(0)
    expect(await give()).toBe(180)
    await page.getByRole('cell', { name: 'running' }).waitFor()
    expect(await page.getByRole('button', { name: 'End Double xp weekend' }).count()).toBe(1)

    await page.getByRole('button', { name: 'Change Double xp weekend' }).click()
    await dialog.getByLabel('Ends (UTC)').fill('2097-01-01T00:00')
    await dialog.getByText('It ends 2097-01-01 00:00').waitFor()
    await confirm(page, 'Save')
    await closeDialog(page)
    await page.getByRole('cell', { name: '2097-01-01 00:00' }).waitFor()
    await opened.check('boosts')

    await page.getByRole('button', { name: 'End Double xp weekend' }).click()
    await confirm(page, 'End the boost')
    await closeDialog(page)
    await page.getByRole('cell', { name: 'ended' }).waitFor()
    expect(await give()).toBe(240)
    await opened.close()
  })

  it('is shown to a viewer, whom it lets change nothing, also on a phone in the dark theme', async () => {
    const opened = await stage.open('/env/production/boosts', { role: 'viewer', width: 390, dark: true })
    const { page } = opened
    await page.getByText('Double xp weekend').waitFor()
    await page.getByRole('button', { name: 'New boost' }).click({ force: true })
    await page.getByText('This needs the role designer or admin.').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    await opened.check('boosts-phone')
    await opened.close()
  })
})
