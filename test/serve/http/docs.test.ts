import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame } from '../../harness/game.ts'
import { buildService } from '../../harness/service.ts'

let game: Game

beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${game.baseUrl}${path}`, { method, headers, redirect: 'manual' })

/** The files that the page loads. */
async function assets(): Promise<string[]> {
  const html = await (await get('/docs')).text()
  return [...html.matchAll(/ (?:src|href)="(docs\/[^"]+)"/g)].map(([, address]) => `/${address}`)
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

describe('the page of the REST contract', () => {
  it('loads a style and two scripts from this origin, and nothing from elsewhere', async () => {
    const answer = await get('/docs')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const html = await answer.text()
    expect(html).not.toMatch(/https?:|<script>|<style| on\w+=| style=/)
    const types = []
    for (const path of await assets()) {
      const asset = await get(path)
      expect([path, asset.status, (await asset.text()).length > 100]).toEqual([path, 200, true])
      types.push(asset.headers.get('content-type'))
    }
    expect(types).toEqual(['text/css', 'text/javascript', 'text/javascript'].map((type) => `${type}; charset=utf-8`))
  })

  it('has a content security policy that allows scripts and styles of this origin only, and none inline', async () => {
    const { headers } = await get('/docs')
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
      expect(policy).toContain(rule)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('shows the contract that the service serves', async () => {
    const start = (await assets()).find((path) => path.includes('start.js')) ?? ''
    expect(await (await get(start)).text()).toContain("url: 'openapi.json'")
    expect((await game.request('GET', '/openapi.json')).body.openapi).toBe('3.1.0')
  })

  it('is sent again only when it has changed, and the files that it loads are cached permanently', async () => {
    for (const path of ['/docs', ...(await assets())]) {
      for (const encoding of ['gzip', 'identity']) {
        const first = await get(path, { 'accept-encoding': encoding })
        const text = await first.text()
        expect(first.headers.get('content-encoding')).toBe(encoding === 'gzip' ? 'gzip' : null)
        expect(first.headers.get('cache-control')).toBe(
          path === '/docs' ? 'no-cache' : 'public, max-age=31536000, immutable',
        )
        const etag = first.headers.get('etag') ?? ''
        const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': `"other", W/${etag}` })
        expect([path, again.status, await again.text()]).toEqual([path, 304, ''])
        const changed = await get(path, { 'accept-encoding': encoding, 'if-none-match': '"other"' })
        expect([path, changed.status, await changed.text()]).toEqual([path, 200, text])
      }
    }
    const outdated = await get('/docs/swagger-ui.css?0123456789abcdef')
    expect([outdated.status, outdated.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    await outdated.body?.cancel()
  })

  it('answers HEAD without a body, and 405 to any other method', async () => {
    const head = await get('/docs', {}, 'HEAD')
    expect([head.status, await head.text()]).toEqual([200, ''])
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await game.request(method, '/docs')
      expect([method, answer.status, answer.body.code, answer.headers.get('allow')]).toEqual([
        method,
        405,
        'method_not_allowed',
        'GET, HEAD',
      ])
      expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'))
    }
  })

  it('gives access to no other files, however the path is written', async () => {
    const paths = [
      '/docs/package.json',
      '/docs/LICENSE',
      '/docs/swagger-ui.js',
      '/docs/../package.json',
      '/docs/..%2f..%2fpackage.json',
      '/docs/%2e%2e/package.json',
      '/docs/./swagger-ui.css',
      '/docs//swagger-ui.css',
      '/docs/swagger-ui.css/',
      '/docs/swagger-ui.css%00',
      '/docs/constructor',
      '/DOCS',
      '/docsx',
    ]
    for (const path of paths) expect([path, await statusOf(path)]).toEqual([path, 404])
    const slash = await get('/docs/')
    expect([slash.status, slash.headers.get('location')]).toEqual([308, '../docs'])
  })

  it('is built with its files and their licenses, so that an installation needs no further package', async () => {
    await buildService()
    const packaged = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
    const built = new URL('../../../dist/serve/http/docs/', import.meta.url)
    for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE'])
      expect([name, (await readFile(new URL(name, built))).equals(await readFile(join(packaged, name)))]).toEqual([
        name,
        true,
      ])
  })

  it('is 404 with DOCS=false, while the contract is served', async () => {
    const without = await startGame({ DOCS: 'false' })
    for (const path of ['/docs', '/docs/', '/docs/swagger-ui.css'])
      expect((await without.request('GET', path)).body.code).toBe('not_found')
    expect((await without.request('GET', '/openapi.json')).status).toBe(200)
    await without.stop()
  })
})
