import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame, startInstance } from '../../harness/game.ts'
import { buildService } from '../../harness/service.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const STYLE = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

let game: Game

beforeAll(async () => {
  await buildService()
  game = await startGame()
})
afterAll(() => game?.stop())

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${game.baseUrl}${path}`, { method, headers, redirect: 'manual' })

/** The files that a page names. */
async function named(page: string): Promise<string[]> {
  const html = await (await get(page)).text()
  return [...html.matchAll(/ (?:src|href)="((?:docs|play)\/[^"]+)"/g)].map(([, address]) => `/${address}`)
}

/** The status of a path that is sent unchanged, without a URL parser. */
function statusOf(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${game.baseUrl}`, { path }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .once('error', reject)
      .end()
  })
}

interface Page {
  readonly path: string
  /** The types of the files that it names. */
  readonly types: readonly string[]
  /** Further files that it consists of. */
  readonly files: readonly string[]
  /** Paths without a file. */
  readonly nothing: readonly string[]
}

const PAGES: readonly Page[] = [
  {
    path: '/docs',
    types: [STYLE, SCRIPT, SCRIPT],
    files: [],
    nothing: [
      ...[
        'package.json',
        'LICENSE',
        'swagger-ui.js',
        '../package.json',
        '..%2f..%2fpackage.json',
        '%2e%2e/package.json',
      ],
      ...['./swagger-ui.css', '/swagger-ui.css', 'swagger-ui.css/', 'swagger-ui.css%00', 'constructor'],
    ].map((name) => `/docs/${name}`),
  },
  {
    path: '/play',
    types: [STYLE, SCRIPT],
    files: ['/play/game.js', '/play/view.js', '/play/client/index.js'],
    nothing: [
      ...['index.html', 'client', 'client/', 'client/index.d.ts', 'client/index.js.map', 'client/missing.js'],
      ...['client/..%2fserver.js', 'client/%2e%2e%2fserver.js', 'client/..%5cserver.js', 'client/index.js%00'],
      ...['..%2f..%2fpackage.json', '.tierway/demo.json'],
    ].map((name) => `/play/${name}`),
  },
]

describe.each(PAGES)('the page $path', ({ path: page, types, files, nothing }) => {
  it('loads styles and scripts from this origin, and nothing from elsewhere', async () => {
    const answer = await get(page)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await answer.text()).not.toMatch(/https?:|<script>|<style| on\w+=| style=/)
    const loaded = await Promise.all((await named(page)).map((path) => get(path)))
    expect(loaded.map(({ headers }) => headers.get('content-type'))).toEqual(types)
    for (const asset of loaded) expect([asset.status, (await asset.text()).length > 100]).toEqual([200, true])
  })

  it('has a content security policy that allows scripts and styles of this origin only, and none inline', async () => {
    const { headers } = await get(page)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
      expect(policy).toContain(rule)
    expect([headers.get('x-content-type-options'), headers.get('referrer-policy')]).toEqual(['nosniff', 'no-referrer'])
  })

  it('is sent again only when it has changed, and the files that it names are cached permanently', async () => {
    for (const path of [page, ...files, ...(await named(page))]) {
      for (const encoding of ['gzip', 'identity']) {
        const first = await get(path, { 'accept-encoding': encoding })
        const text = await first.text()
        expect(first.headers.get('content-encoding')).toBe(encoding === 'gzip' ? 'gzip' : null)
        const isNamed = path.includes('?')
        expect(first.headers.get('cache-control')).toBe(isNamed ? 'public, max-age=31536000, immutable' : 'no-cache')
        const etag = first.headers.get('etag') ?? ''
        const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': `"other", W/${etag}` })
        expect([path, again.status, await again.text()]).toEqual([path, 304, ''])
        const changed = await get(path, { 'accept-encoding': encoding, 'if-none-match': '"other"' })
        expect([path, changed.status, await changed.text()]).toEqual([path, 200, text])
      }
    }
    const [first = ''] = await named(page)
    const outdated = await get(first.replace(/\?.*/, '?0123456789abcdef'))
    expect([outdated.status, outdated.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    await outdated.body?.cancel()
  })

  it('answers HEAD without a body, and 405 to any other method', async () => {
    for (const path of [page, ...files]) {
      const head = await get(path, {}, 'HEAD')
      expect([path, head.status, await head.text()]).toEqual([path, 200, ''])
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const { status, body, headers } = await game.request(method, path)
        expect([status, body.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD'])
        expect(body.requestId).toBe(headers.get('x-request-id'))
      }
    }
  })

  it('gives access to no other files, however the path is written', async () => {
    for (const path of [...nothing, page.toUpperCase(), `${page}x`])
      expect([path, await statusOf(path)]).toEqual([path, 404])
    const slash = await get(`${page}/`)
    expect([slash.status, slash.headers.get('location')]).toEqual([308, `..${page}`])
  })
})

describe('the page of the REST contract', () => {
  it('shows the contract that the service serves', async () => {
    const start = (await named('/docs')).find((path) => path.includes('start.js')) ?? ''
    expect(await (await get(start)).text()).toContain("url: 'openapi.json'")
    expect((await game.request('GET', '/openapi.json')).body.openapi).toBe('3.1.0')
  })

  it('is built with its files and their licenses, so that an installation needs no further package', async () => {
    const packaged = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
    for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE']) {
      const built = await readFile(join(ROOT, 'dist/serve/http/docs', name))
      expect([name, built.equals(await readFile(join(packaged, name)))]).toEqual([name, true])
    }
  })

  it('is 404 with DOCS=false, while the contract is served', async () => {
    const without = await startInstance(game.databaseUrl, { DOCS: 'false' })
    for (const path of ['/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json']) {
      const { status } = await fetch(`${without.baseUrl}${path}`, { redirect: 'manual' })
      expect([path, status]).toEqual([path, path === '/openapi.json' ? 200 : 404])
    }
    await without.stop()
  })
})

describe('the demo game', () => {
  it('consists of the unchanged files of the example and the client library', async () => {
    const modules = (await readdir(join(ROOT, 'dist/client'))).filter((name) => name.endsWith('.js'))
    expect(modules).toContain('index.js')
    const own = ['game.js', 'view.js', 'style.css'].map((name) => [name, join('examples/browser-game', name)] as const)
    for (const [name, file] of [...modules.map((name) => [`client/${name}`, `dist/client/${name}`] as const), ...own])
      expect([name, await (await get(`/play/${name}`)).text()]).toEqual([
        name,
        await readFile(join(ROOT, file), 'utf8'),
      ])
  })

  it('has the data that a game needs, and of the keys only the SDK key', async () => {
    const answer = await get('/play/demo.json')
    expect(await answer.json()).toEqual({
      sdkKey: game.sdkKey,
      scenarioId: 'season-1',
      passNodeId: 'pass',
      customData: { player: 'demo' },
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const head = await get('/play/demo.json', {}, 'HEAD')
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect((await get('/play/demo.json', {}, 'POST')).status).toBe(405)
  })

  it('answers 503 with Retry-After until the demo data exists', async () => {
    const early = await startInstance(game.databaseUrl, {}, undefined, async () => undefined)
    const answer = await fetch(`${early.baseUrl}/play/demo.json`)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    await early.stop()
  })

  it('is 404 in production and without demo data', async () => {
    const without = await startInstance(game.databaseUrl, {})
    const demo = async () => ({ sdkKey: 'k', scenarioId: 's', passNodeId: 'p', customData: {} })
    const production = await startInstance(game.databaseUrl, { NODE_ENV: 'production' }, undefined, demo)
    for (const { baseUrl } of [without, production]) {
      for (const path of ['/play', '/play/', '/play/demo.json', '/play/game.js', '/play/client/index.js'])
        expect([path, (await fetch(`${baseUrl}${path}`, { redirect: 'manual' })).status]).toEqual([path, 404])
    }
    await without.stop()
    await production.stop()
  })
})
