import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame, startInstance } from '../harness/game.ts'
import { buildService } from '../harness/service.ts'

let game: Game

beforeAll(async () => {
  await buildService()
  game = await startGame()
})
afterAll(() => game?.stop())

const get = (path: string, headers: Record<string, string> = {}, baseUrl = game.baseUrl) =>
  fetch(`${baseUrl}${path}`, { headers, redirect: 'manual' })

describe('the files of the console', () => {
  it('are one document at every path, with a strict content security policy and a unique nonce', async () => {
    const nonces = await Promise.all(
      ['/console', '/console/', '/console/env/production/players'].map(async (path) => {
        const answer = await get(path)
        expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
          path,
          200,
          'text/html; charset=utf-8',
        ])
        const policy = answer.headers.get('content-security-policy') ?? ''
        expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[^']+'; /)
        expect(policy).not.toMatch(/unsafe|\*|https?:/)
        const html = await answer.text()
        expect(html).not.toMatch(/https?:|<style| on\w+=| style=|<script>/)
        const [, nonce] = /nonce="([^"]+)"/.exec(html) ?? []
        expect(policy).toContain(`'nonce-${nonce}'`)
        return nonce
      }),
    )
    expect(new Set(nonces).size).toBe(3)
  })

  it('are compressed, cached for a year, and below 300 KB for the first page', async () => {
    const html = await (await get('/console')).text()
    const names = [...html.matchAll(/ (?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, name]) => name ?? '')
    expect(names.length).toBeGreaterThanOrEqual(2)
    let bytes = Buffer.byteLength(html)
    for (const name of names) {
      const answer = await get(name, { 'accept-encoding': 'gzip' })
      expect([name, answer.headers.get('cache-control')]).toEqual([name, 'public, max-age=31536000, immutable'])
      bytes += Number(answer.headers.get('content-length'))
    }
    expect(bytes).toBeLessThan(300 * 1024)
    expect((await get('/console/assets/none.js')).status).toBe(404)
    expect((await get('/console/assets/..%2f..%2fserver.js')).status).toBe(404)
  })

  it('are the target of a redirect from / for browsers, and not for programs', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml' })
    expect([browser.status, browser.headers.get('location')]).toEqual([302, 'console'])
    expect((await get('/', { accept: 'application/json' })).status).toBe(404)
  })

  it('are not served with CONSOLE=false', async () => {
    const other = await startInstance(game.databaseUrl, { CONSOLE: 'false' })
    try {
      for (const path of ['/', '/console', '/console/env'])
        expect([path, (await get(path, { accept: 'text/html' }, other.baseUrl)).status]).toEqual([path, 404])
    } finally {
      await other.stop()
    }
  })
})
