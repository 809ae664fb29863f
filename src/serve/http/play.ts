import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Refusal } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import { json } from '../../declare/respond.ts'
import type { Route } from '../../declare/route.ts'
import { getPage, hashOf, SECURITY, sendPageFile, toPageFile, withoutSlash } from './page-files.ts'

/** Everything that a game needs to know about the demo. None of it is secret. */
export interface PlayableDemo {
  readonly sdkKey: string
  readonly scenarioId: string
  readonly passNodeId: string
  /** The `customData` that logs its player in. */
  readonly customData: Readonly<Record<string, string>>
}

/** The example of a game in a browser. From the sources and from the build it is two folders up. */
const GAME = new URL('../../../examples/browser-game/', import.meta.url)
const GAME_FILES = ['game.js', 'view.js', 'style.css']
/** The compiled library: next to this file's folder when this file is compiled, too. */
const CLIENTS = ['../../client/', '../../../dist/client/'].map((path) => new URL(path, import.meta.url))

/**
 * The demo season to play, at `/play`: the example game with the compiled client library, whose modules browsers load
 * unbundled. Files are read for each request, so that a reload shows an edit of the example.
 */
export function playRoutes(readDemo: () => Promise<PlayableDemo | undefined>, log: Logger): Route[] {
  const client = CLIENTS.find((folder) => existsSync(new URL('index.js', folder)))
  if (client === undefined || !existsSync(GAME)) {
    log.warn('the page at /play is off: its files are missing; `npm run build` makes those of the library')
    return []
  }

  const file = (path: string, url: URL): Route =>
    getPage(path, async (_context, request) =>
      sendPageFile(await toPageFile(fileURLToPath(url), await readFile(url)), request),
    )

  return [
    getPage('/play', async (_context, request) => sendPageFile(await page(), request)),
    withoutSlash('/play'),
    getPage('/play/demo.json', async () => {
      const demo = await readDemo()
      // The demo is created once the service answers.
      if (!demo) throw new Refusal('unavailable')
      const { sdkKey, scenarioId, passNodeId, customData } = demo
      const reply = json({ sdkKey, scenarioId, passNodeId, customData })
      return { ...reply, headers: [...reply.headers, ...SECURITY] }
    }),
    ...GAME_FILES.map((name) => file(`/play/${name}`, new URL(name, GAME))),
    getPage('/play/client/:name', async (_context, request, { name = '' }) => {
      const names = await readdir(client)
      if (!name.endsWith('.js') || !names.includes(name)) throw new Refusal('notFound')
      return sendPageFile(await toPageFile(name, await readFile(new URL(name, client))), request)
    }),
  ]
}

async function page() {
  let html = await readFile(new URL('index.html', GAME), 'utf8')
  for (const name of GAME_FILES) {
    const hash = hashOf(await readFile(new URL(name, GAME)))
    html = html.replace(`="${name}"`, `="play/${name}?${hash}"`)
  }
  return toPageFile('index.html', Buffer.from(html))
}
