import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Logger } from '../log.ts'
import type { Reply } from './respond.ts'
import type { Route } from './route.ts'

/** What the page takes from the package swagger-ui-dist. The build copies it, so that no installation needs the package. */
export const ASSETS = ['swagger-ui-bundle.js', 'swagger-ui.css'] as const
export const ASSET_LICENSES = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'] as const

/** Where the build puts them: beside this file. */
export const copiedAssets = (): string => fileURLToPath(new URL('./docs/', import.meta.url))

/** Where the package has them: there in development alone. */
export function packagedAssets(): string {
  return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
}

/** Scripts and styles of this origin alone, and nothing from anywhere else. The styles are the package's own. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const SECURITY = ['x-content-type-options', 'nosniff', 'referrer-policy', 'no-referrer']

const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})
`

/** The page; what it loads carries its hash, so that browsers keep it until it changes. */
const page = (address: (name: string) => string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tierway: REST</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${address('swagger-ui.css')}">
</head>
<body>
<div id="docs"><p>The contract of the REST surface. Without scripts, read <a href="openapi.json">openapi.json</a>.</p></div>
<script src="${address('swagger-ui-bundle.js')}"></script>
<script src="${address('start.js')}"></script>
</body>
</html>
`

interface File {
  readonly type: string
  readonly plain: Buffer
  readonly zipped: Buffer
  readonly hash: string
}

/**
 * The contract of the REST surface to browse, at `/docs`, without the internet. It tells nothing that `/openapi.json` does
 * not, so it is there in production, too.
 */
export function docsRoutes(log: Logger): Route[] {
  const folder = findAssets()
  if (folder === undefined) log.warn('the page at /docs is off: its files are missing; `npm run build` copies them')
  return folder === undefined ? [] : routesOf(folder)
}

function routesOf(folder: string): Route[] {
  let loaded: ReturnType<typeof load> | undefined

  async function respond(path: string, { headers: sent, url }: IncomingMessage): Promise<Reply> {
    loaded ??= load(folder).catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    const file = (await loaded).get(path)
    if (!file) throw new Error('there is no such file')
    const zip = /\bgzip\b/.test(String(sent['accept-encoding'] ?? ''))
    const etag = `"${file.hash}${zip ? '-gzip' : ''}"`
    const cache = url?.endsWith(`?${file.hash}`) ? 'public, max-age=31536000, immutable' : 'no-cache'
    const headers = [...SECURITY, 'etag', etag, 'vary', 'accept-encoding', 'cache-control', cache]
    if (path === '/docs') headers.push('content-security-policy', PAGE_POLICY)
    if (sent['if-none-match']?.split(',').some((known) => known.trim().replace(/^W\//, '') === etag))
      return { status: 304, body: null, headers }
    headers.push('content-type', file.type)
    if (zip) headers.push('content-encoding', 'gzip')
    return { status: 200, body: zip ? file.zipped : file.plain, headers }
  }

  const paths = ['/docs', ...[...ASSETS, 'start.js'].map((name) => `/docs/${name}`)]
  const get = (path: string, respond: Route['respond']): Route => ({ method: 'GET', path, isPage: true, respond })
  return [
    ...paths.map((path) => get(path, (_context, request) => respond(path, request))),
    get('/docs/', () => ({ status: 308, body: '', headers: ['location', '../docs'] })),
  ]
}

const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' }

function findAssets(): string | undefined {
  const folders = [copiedAssets, packagedAssets].flatMap((find) => {
    try {
      return [find()]
    } catch {
      return []
    }
  })
  return folders.find((folder) => ASSETS.every((name) => existsSync(join(folder, name))))
}

/** Reads what is served, once: it is asked for seldom, and then by several requests at once. */
async function load(folder: string): Promise<ReadonlyMap<string, File>> {
  const assets = await Promise.all(
    ASSETS.map(async (name) => [name, await toFile(name, await readFile(join(folder, name)))] as const),
  )
  const files = new Map<string, File>([...assets, ['start.js', await toFile('start.js', Buffer.from(START))]])
  const text = page((name) => `docs/${name}?${files.get(name)?.hash}`)
  return new Map([
    ['/docs', await toFile('docs.html', Buffer.from(text))],
    ...[...files].map(([name, file]) => [`/docs/${name}`, file] as const),
  ])
}

async function toFile(name: string, plain: Buffer): Promise<File> {
  return {
    type: `${TYPES[name.split('.').at(-1) ?? ''] ?? 'text/html'}; charset=utf-8`,
    plain,
    zipped: await promisify(gzip)(plain),
    hash: createHash('sha256').update(plain).digest('hex').slice(0, 16),
  }
}
