import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame, startInstance } from '../../harness/game.ts'
import { buildService } from '../../harness/service.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

let game: Game

beforeAll(async () => {
  await buildService()
  game = await startGame()
})
afterAll(() => game?.stop())

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${game.baseUrl}${path}`, { method, headers, redirect: 'manual' })

/** The files that the page names. */
async function named(): Promise<string[]> {
  const html = await (await get('/play')).text()
  return [...html.matchAll(/ (?:src|href)="(play\/[^"]+)"/g)].map(([, address]) => `/${address}`)
}

describe('the demo game', () => {
  it('is a page that loads a style and a script from this origin, and nothing from elsewhere', async () => {
    const answer = await get('/play')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await answer.text()).not.toMatch(/https?:|<script>|<style| on\w+=| style=/)
    const types = await Promise.all((await named()).map(async (path) => (await get(path)).headers.get('content-type')))
    expect(types).toEqual(['text/css; charset=utf-8', 'text/javascript; charset=utf-8'])
  })

  it('has the content security policy, security headers and caching of /docs', async () => {
    const [play, docs] = await Promise.all([get('/play'), get('/docs')])
    for (const name of ['content-security-policy', 'x-content-type-options', 'referrer-policy', 'cache-control'])
      expect([name, play.headers.get(name)]).toEqual([name, docs.headers.get(name)])
  })

  it('consists of the unchanged files of the example and the client library', async () => {
    const modules = (await readdir(join(ROOT, 'dist/client'))).filter((name) => name.endsWith('.js'))
    expect(modules).toContain('index.js')
    const files = [
      ...modules.map((name) => [`/play/client/${name}`, join('dist/client', name)] as const),
      ...['game.js', 'view.js', 'style.css'].map(
        (name) => [`/play/${name}`, join('examples/browser-game', name)] as const,
      ),
    ]
    for (const [path, file] of files) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers.get('cache-control')]).toEqual([path, 200, 'no-cache'])
      expect([path, await answer.text()]).toEqual([path, await readFile(join(ROOT, file), 'utf8')])
    }
  })

  it('is sent again only when it has changed, and the files that the page names are cached permanently', async () => {
    for (const path of ['/play', '/play/view.js', '/play/client/index.js', ...(await named())]) {
      const first = await get(path)
      await first.body?.cancel()
      const isNamed = path.includes('?')
      expect(first.headers.get('cache-control')).toBe(isNamed ? 'public, max-age=31536000, immutable' : 'no-cache')
      const again = await get(path, { 'if-none-match': first.headers.get('etag') ?? '' })
      expect([path, again.status, await again.text()]).toEqual([path, 304, ''])
    }
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
  })

  it('answers HEAD without a body, and 405 to any other method', async () => {
    for (const path of ['/play', '/play/demo.json', '/play/game.js', '/play/client/index.js']) {
      const head = await get(path, {}, 'HEAD')
      expect([path, head.status, await head.text()]).toEqual([path, 200, ''])
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const answer = await game.request(method, path)
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
      }
    }
    const slash = await get('/play/')
    expect([slash.status, slash.headers.get('location')]).toEqual([308, '../play'])
  })

  it('gives access to no other files, however the path is written', async () => {
    const paths = [
      '/play/index.html',
      '/play/client',
      '/play/client/',
      '/play/client/index.d.ts',
      '/play/client/index.js.map',
      '/play/client/missing.js',
      '/play/client/..%2fserver.js',
      '/play/client/%2e%2e%2fserver.js',
      '/play/client/..%5cserver.js',
      '/play/client/index.js%00',
      '/play/..%2f..%2fpackage.json',
      '/play/.tierway/demo.json',
    ]
    for (const path of paths) expect([path, (await game.request('GET', path)).body.code]).toEqual([path, 'not_found'])
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
