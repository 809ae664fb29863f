import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { refusalReply } from './respond.ts'

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

const SECURITY = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

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
export function createDocs({ enabled, log }: { enabled: boolean; log: Logger }) {
  const folder = enabled ? findAssets() : undefined
  if (enabled && !folder) log.warn('the page at /docs is off: its files are missing; `npm run build` copies them')
  let loaded: Promise<ReadonlyMap<string, File>> | undefined

  /** Answers when the path is one of the page's; false leaves the request to others. */
  function serve(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    if (folder === undefined || !PATHS.has(path)) return false
    if (request.method !== 'GET' && request.method !== 'HEAD') refuse(response, 'methodNotAllowed')
    else if (path === '/docs/') response.writeHead(308, { location: '../docs' }).end()
    else
      answer(folder, path, request, response).catch((error: unknown) => {
        loaded = undefined
        log.error({ err: error, path }, 'a file of the page could not be read')
        refuse(response, 'internalError')
      })
    return true
  }

  async function answer(from: string, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    loaded ??= load(from)
    const file = (await loaded).get(path)
    if (!file) throw new Error('there is no such file')
    const zip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    const etag = `"${file.hash}${zip ? '-gzip' : ''}"`
    const named = request.url?.endsWith(`?${file.hash}`)
    const headers = {
      ...SECURITY,
      etag,
      vary: 'accept-encoding',
      'cache-control': named ? 'public, max-age=31536000, immutable' : 'no-cache',
      ...(path === '/docs' && { 'content-security-policy': PAGE_POLICY }),
    }
    if (request.headers['if-none-match']?.split(',').some((known) => known.trim().replace(/^W\//, '') === etag)) {
      response.writeHead(304, headers).end()
      return
    }
    const body = zip ? file.zipped : file.plain
    response.writeHead(200, {
      ...headers,
      'content-type': file.type,
      'content-length': body.length,
      ...(zip && { 'content-encoding': 'gzip' }),
    })
    response.end(body)
  }

  return { serve }
}

const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' }
const PATHS: ReadonlySet<string> = new Set([
  '/docs',
  '/docs/',
  ...[...ASSETS, 'start.js'].map((name) => `/docs/${name}`),
])

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

function refuse(response: ServerResponse, kind: 'methodNotAllowed' | 'internalError'): void {
  const requestId = randomUUID()
  const { status, body, headers } = refusalReply(new Refusal(kind), requestId)
  const allow = kind === 'methodNotAllowed' && { allow: 'GET, HEAD' }
  response.writeHead(status, { ...headers, ...allow, 'x-request-id': requestId }).end(body)
}
