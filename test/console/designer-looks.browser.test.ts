import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { publish, SUMMER } from '../harness/designer.ts'

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole()
})
afterAll(() => stage?.stop())

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the designer`, () => {
  it('is usable at 390 pixels, and in dark mode', async () => {
    await publish(stage, 'small', SUMMER)
    for (const [width, dark] of [
      [390, false],
      [390, true],
      [1280, true],
    ] as const)
      for (const tab of ['graph', 'node', 'table', 'json', 'review', 'versions']) {
        const opened = await stage.open(
          `/env/production/scenarios/small/${tab === 'node' ? 'graph?at=nodes[1]' : tab}`,
          { width, height: 800, dark },
        )
        const { page } = opened
        await page.getByRole('heading', { name: 'small' }).waitFor()
        await page.getByText('Loading…').waitFor({ state: 'detached' })
        if (tab === 'json') await page.getByLabel('Definition as JSON').waitFor()
        if (tab === 'node') await page.getByRole('heading', { name: 'pass', exact: true }).waitFor()
        if (tab === 'graph') await page.getByLabel('battle-pass node pass').waitFor({ state: 'attached' })
        if (tab === 'versions') await page.getByRole('cell', { name: '1 current' }).waitFor()
        await opened.check(`designer-${tab}-${width}-${dark ? 'dark' : 'light'}`)
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
        await opened.close()
      }
  })
})
