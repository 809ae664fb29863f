import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Tierway } from '../../src/client/index.ts'
import { auditBooks } from '../harness/audit.ts'
import { type Site, sharedBrowser, startSite, withoutChromium } from '../harness/browser.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { until } from '../harness/until.ts'

// The hook of docs/client.md in a page with React's strict mode, which mounts each component twice.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A game that shows a pass twice, as two components that follow one session. */
const PAGE = `
import { StrictMode, useMemo } from 'react'
import { createRoot } from 'react-dom/client'
import { Tierway } from 'tierway-client'

function Pass({ season }) {
  const pass = useMemo(() => season.battlePass('pass'), [season])
  const progress = useProgress(pass)
  return <p>{progress === null ? 'unknown' : 'level ' + progress.level}</p>
}

globalThis.play = async ({ baseUrl, sdkKey, player }) => {
  const tierway = new Tierway({ baseUrl, sdkKey })
  await tierway.login({ customData: { player } })
  const season = await tierway.scenario('season-1').start()
  const heard = []
  season.battlePass('pass').on('onLevelUp', ({ toLevel }) => heard.push(toLevel))
  const root = createRoot(document.body)
  root.render(<StrictMode><Pass season={season} /><Pass season={season} /></StrictMode>)
  globalThis.game = { heard, root, addXp: async () => void (await season.battlePass('pass').addXp(100)) }
}
`

describe.skipIf(withoutChromium !== '')(`${withoutChromium}in Chromium`, () => {
  let game: Game
  let operator: Operator
  let site: Site
  let browser: Browser

  beforeAll(async () => {
    site = await startSite()
    game = await startGame({ ALLOWED_ORIGINS: site.origin })
    operator = await startOperator()
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
    await game.publish('season-1', season({ levels: times(20, (index) => index * 100) }))
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    if (game) await auditBooks(game.app.pool)
    await operator?.close()
    await game?.stop()
    await site?.close()
  })

  async function openPage(faults: string[]): Promise<Page> {
    const page = await readFile(`${ROOT}/docs/client.md`, 'utf8')
    const hook = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
    const { outputFiles } = await build({
      stdin: {
        contents: hook.filter((code) => code.includes(`from 'react'`)).join('') + PAGE,
        resolveDir: ROOT,
        loader: 'tsx',
      },
      jsx: 'automatic',
      bundle: true,
      write: false,
      alias: { 'tierway-client': `${ROOT}/src/client/index.ts` },
    })
    const tab = await browser.newPage()
    tab.on('pageerror', (error) => faults.push(String(error)))
    tab.on('console', (message) => {
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico')) faults.push(message.text())
    })
    await tab.goto(site.page)
    await tab.addScriptTag({ content: outputFiles[0]?.text ?? '' })
    return tab
  }

  it('the hook for React shows the progress from all devices, and hears each level-up once', async () => {
    const faults: string[] = []
    const page = await openPage(faults)
    const { baseUrl, sdkKey } = game
    const evaluate = <Result>(code: string) => page.evaluate<Result>(code)
    await evaluate(`play(${JSON.stringify({ baseUrl, sdkKey, player: 'ada' })})`)
    const shows = (level: number) =>
      until(`level ${level} is shown`, async () => {
        const shown = await page.locator('p').allTextContents()
        return shown.join() === `level ${level},level ${level}`
      })
    await shows(1)

    const other = new Tierway({ baseUrl, sdkKey })
    await other.login({ customData: { player: 'ada' } })
    const pass = (await other.scenario('season-1').start()).battlePass('pass')
    await evaluate('game.addXp()')
    await shows(2)
    await pass.addXp(100)
    await shows(3)
    await evaluate('game.addXp()')
    await shows(4)
    await evaluate('game.root.unmount()')
    await evaluate('game.addXp()')
    expect(await evaluate('game.heard')).toEqual([2, 3, 4, 5])
    expect(faults).toEqual([])
    await page.close()
  })
})
