import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Refusal } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { Route } from '../../declare/route.ts'
import { getPage, PAGE_POLICY, type PageFile, SECURITY, sendPageFile, toPageFile } from './page-files.ts'

/** The build of `console/`: beside this file's folder when that is compiled, too. */
const FOLDERS = ['../console/', '../../../dist/console/'].map((path) => new URL(path, import.meta.url))

/** The folder of the built console. Undefined before the first build. */
export const findConsole = (): URL | undefined => FOLDERS.find((folder) => existsSync(new URL('index.html', folder)))

/** The documents of the console by their SHA-256, for services that run only known documents. */
export async function consoleOperations(): Promise<ReadonlyMap<string, string>> {
  const folder = findConsole()
  if (folder === undefined) return new Map()
  return new Map(Object.entries(JSON.parse(await readFile(new URL('operations.json', folder), 'utf8'))))
}

/** The console at `/console`, for people of live operations. Its pages are one document, whose script reads the path. */
export function consoleRoutes(log: Logger): Route[] {
  const folder = findConsole()
  if (folder === undefined) {
    log.warn('the console is off: its files are missing; `npm run build` makes them')
    return []
  }
  let loading: Promise<Files> | undefined

  function files(from: URL): Promise<Files> {
    loading ??= load(from).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }

  /** Each answer has a nonce of its own, so that the text editor can add its style sheet. Everything else is a file. */
  const document: Route['respond'] = async () => {
    const nonce = randomBytes(16).toString('base64')
    const { html } = await files(folder)
    return {
      status: 200,
      body: html.replace('</head>', `<meta property="csp-nonce" nonce="${nonce}">\n</head>`),
      headers: [
        ...SECURITY,
        'content-type',
        'text/html; charset=utf-8',
        'cache-control',
        'no-store',
        'content-security-policy',
        `${PAGE_POLICY.replace("style-src 'self'", `style-src 'self' 'nonce-${nonce}'`)}; require-trusted-types-for 'script'`,
      ],
    }
  }

  return [
    getPage('/', (_context, { headers }) => {
      // Programs get a 404. A person who opens the address in a browser looks for the console.
      if (!/\btext\/html\b/.test(headers.accept ?? '')) throw new Refusal('notFound')
      return { status: 302, body: '', headers: ['location', 'console', 'vary', 'accept', 'cache-control', 'no-store'] }
    }),
    getPage('/console', document),
    getPage('/console/', document),
    getPage('/console/*', document),
    getPage('/console/assets/:name', async (_context, request, { name = '' }) => {
      const file = (await files(folder)).assets.get(name)
      if (!file) throw new Refusal('notFound')
      return sendPageFile(file, request, { isNamedByContent: true })
    }),
  ]
}

interface Files {
  readonly html: string
  readonly assets: ReadonlyMap<string, PageFile>
}

/** Reads the files once, at the first request. The build gives each a name with the hash of its content. */
async function load(folder: URL): Promise<Files> {
  const assets = new URL('assets/', folder)
  const names = await readdir(fileURLToPath(assets))
  const files = names.map(
    async (name) => [name, await toPageFile(name, await readFile(new URL(name, assets)))] as const,
  )
  return { html: await readFile(new URL('index.html', folder), 'utf8'), assets: new Map(await Promise.all(files)) }
}
