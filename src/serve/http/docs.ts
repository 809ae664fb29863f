import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../base/log.ts'
import type { Reply } from '../../declare/respond.ts'
import type { Route } from '../../declare/route.ts'
import { getPage, type PageFile, sendPageFile, toPageFile, withoutSlash } from './page-files.ts'

/**
 * The files that the page needs from the package swagger-ui-dist. The build copies them, so that no installation needs
 * the package.
 */
export const ASSETS = ['swagger-ui-bundle.js', 'swagger-ui.css'] as const
export const ASSET_LICENSES = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'] as const

export const copiedAssets = (): string => fileURLToPath(new URL('./docs/', import.meta.url))

/** The folder of the package, which is installed for development only. */
export function packagedAssets(): string {
  return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
}

const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})
`

/** The page. The addresses of its files contain their hash, so that browsers cache them until they change. */
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

/**
 * The contract of the REST surface to browse, at `/docs`, without the internet. It contains nothing that
 * `/openapi.json` does not, so production serves it, too.
 */
export function docsRoutes(log: Logger): Route[] {
  const folder = findAssets()
  if (folder === undefined) log.warn('the page at /docs is off: its files are missing; `npm run build` copies them')
  return folder === undefined ? [] : routesOf(folder)
}

function routesOf(folder: string): Route[] {
  let loaded: ReturnType<typeof load> | undefined

  async function respond(path: string, request: IncomingMessage): Promise<Reply> {
    loaded ??= load(folder).catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    const file = (await loaded).get(path)
    if (!file) throw new Error('there is no such file')
    return sendPageFile(file, request)
  }

  const paths = ['/docs', ...[...ASSETS, 'start.js'].map((name) => `/docs/${name}`)]
  return [...paths.map((path) => getPage(path, (_context, request) => respond(path, request))), withoutSlash('/docs')]
}

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

/** Reads the files once, at the first request. */
async function load(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const assets = await Promise.all(
    ASSETS.map(async (name) => [name, await toPageFile(name, await readFile(join(folder, name)))] as const),
  )
  const files = new Map<string, PageFile>([...assets, ['start.js', await toPageFile('start.js', Buffer.from(START))]])
  const text = page((name) => `docs/${name}?${files.get(name)?.hash}`)
  return new Map([
    ['/docs', await toPageFile('docs.html', Buffer.from(text))],
    ...[...files].map(([name, file]) => [`/docs/${name}`, file] as const),
  ])
}
