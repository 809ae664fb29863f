import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { cell, published, valid, view } from '../harness/designer.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole({ players: 80 })
})
afterAll(() => stage?.stop())

describe.skipIf(withoutChromium !== '')(`${withoutChromium}an operator of the game`, () => {
  it('sees the season, credits a player, finds the audit row, and changes a tier and undoes it', async () => {
    const { game } = stage
    const { data } = await game.graphql(
      game.platformKey,
      '{ players(environment: "production", first: 60) { nodes { playerId nickname wallet { currency balance } } } }',
    )
    const player = data.players.nodes.find(({ nickname }: { nickname: string }) => /^\w{6,}$/.test(nickname))
    const gems = BigInt(player.wallet.find((one: { currency: string }) => one.currency === 'gems')?.balance ?? 0)
    const before = await published(stage, 'season-1')
    const { page, close } = await stage.open('')
    const pages = page.getByRole('navigation', { name: 'Pages' })

    // The day, and the season, live.
    await page.getByRole('heading', { name: 'Today' }).waitFor()
    await page.getByText('All is well').waitFor()
    await pages.getByRole('link', { name: 'Live' }).click()
    await page.getByRole('heading', { name: 'Live' }).waitFor()
    await page.getByText('Players today').waitFor()
    await page.getByRole('region', { name: 'Events, the latest first' }).getByRole('listitem').first().waitFor()

    // A player by a part of the nickname, and 500 gems.
    await page.keyboard.press('/')
    await page.keyboard.type(player.nickname.slice(1))
    await page.getByRole('option', { name: player.nickname }).first().click()
    await page.getByRole('heading', { name: player.nickname }).waitFor()
    await page.getByRole('button', { name: 'Credit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Currency', { exact: true }).fill('gems')
    await dialog.getByLabel('Amount').fill('500')
    await dialog.getByText(`gems: ${gems.toLocaleString('en')} → ${(gems + 500n).toLocaleString('en')}.`).waitFor()
    await dialog.getByLabel('Reason').fill('lost after a crash, ticket 4711')
    await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page
      .getByRole('table', { name: 'Balances' })
      .getByText((gems + 500n).toLocaleString('en'))
      .waitFor()

    // The row of the audit log.
    await pages.getByRole('link', { name: 'Audit log' }).click()
    await page.getByLabel('Target').fill(player.playerId)
    await page.getByRole('cell', { name: 'lost after a crash, ticket 4711' }).waitFor()
    await page.getByRole('cell', { name: 'ada@studio.example' }).waitFor()

    // Where players stop.
    await pages.getByRole('link', { name: 'Battle pass' }).click()
    await page.getByLabel('Time', { exact: true }).selectOption('Last 30 days')
    await page.getByText(/^Players stop most at level \d+\.$/).waitFor()

    // A change of a tier: its effect, its publication, and the return to the old version.
    await pages.getByRole('link', { name: 'Designer' }).click()
    await page.getByRole('link', { name: 'season-1' }).click()
    await view(page, 'Table')
    await cell(page, 3, 'free rewards').fill('90 gold')
    await valid(page)
    await view(page, 'Review and publish')
    await page.getByText('The free tier of level 3 grants 90 gold instead of 65 gold.').waitFor()
    await page.getByRole('button', { name: 'Publish…' }).click()
    await page.getByLabel('Reason').fill('players stop here')
    await page.getByRole('button', { name: 'Publish version 2' }).click()
    await page.getByText('Version 2 of season-1 is published in production.').waitFor()
    await page.getByRole('dialog').getByText('Close').click()
    await view(page, 'Versions')
    await page.getByRole('button', { name: 'Go back to version 1' }).click()
    await page.getByLabel('Reason').fill('one tier too many')
    await page.getByRole('button', { name: 'Publish version 3' }).click()
    await page.getByText('Version 3 is published, with the text of version 1.').waitFor()
    expect(await published(stage, 'season-1')).toEqual({ ...before, version: 3 })
    await close()
  })
})
