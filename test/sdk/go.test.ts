import { execFile, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServerKey } from '../../src/callers/keys.ts'
import { startGame } from '../harness/game.ts'
import { startReceiver, testReceiver } from './receiver.ts'

const MODULE = fileURLToPath(new URL('../../sdk/go', import.meta.url))
const VECTORS = fileURLToPath(new URL('../../sdk/webhook-vectors.json', import.meta.url))
/** The first build starts with an empty cache. */
const BUILD_TIMEOUT_MS = 300_000
const OLDEST_MINOR = 19

/** Why these tests cannot run here, or an empty text. */
function reasonToSkip(): string {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' })
  if (status !== 0) return 'SKIPPED, go is not installed: '
  const minor = Number(/^go1\.(\d+)/.exec(stdout)?.[1])
  return minor >= OLDEST_MINOR ? '' : `SKIPPED, ${stdout.trim()} is older than 1.${OLDEST_MINOR}: `
}

const skipped = reasonToSkip()

describe.skipIf(skipped !== '')(`${skipped}the Go helper`, () => {
  let work: string

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'tierway-go-'))
  })

  afterAll(() => rm(work, { recursive: true, force: true }))

  /** Runs the Go command in the module, without downloads and without a C compiler. */
  const go = (...args: string[]): Promise<string> => goWith({}, ...args)

  async function goWith(more: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
    const own = { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local', GOWORK: 'off', CGO_ENABLED: '0' }
    const env = { ...process.env, ...own, ...more, GOPATH: join(work, 'path') }
    const { stdout } = await promisify(execFile)('go', args, { cwd: MODULE, env, maxBuffer: 2 ** 26 })
    return stdout
  }

  test('passes go vet and gofmt', { timeout: BUILD_TIMEOUT_MS }, async () => {
    await go('vet', './...')
    const gofmt = join((await go('env', 'GOROOT')).trim(), 'bin/gofmt')
    const { stdout } = await promisify(execFile)(gofmt, ['-l', '.'], { cwd: MODULE })
    expect(stdout).toBe('')
  })

  test('agrees with every shared vector, and passes its own tests (contract 4.4)', {
    timeout: BUILD_TIMEOUT_MS,
  }, async () => {
    const output = await go('test', '-count=1', '-v', './...')
    const passed = (name: string) => output.match(new RegExp(`^    --- PASS: ${name}/`, 'gm'))?.length
    const vectors = JSON.parse(readFileSync(VECTORS, 'utf8'))
    expect(passed('TestVerifyWebhookSignature')).toBe(vectors.signature.length)
    expect(passed('TestVerifyStandardWebhook')).toBe(vectors.standard.length)
    expect(output).toMatch(/^--- PASS: Example /m)
    expect(output).not.toMatch(/--- (FAIL|SKIP)/)
  })

  test('verifies the tokens of the service', { timeout: BUILD_TIMEOUT_MS }, async () => {
    const game = await startGame()
    try {
      const { playerId } = await game.player()
      const { environmentId, projectId, baseUrl } = game
      const issue = (of: string, claims: string | null) =>
        game.app.tokens.issueAccessToken({ environmentId: of, projectId, playerId, claims })
      const { token: operator } = await game.app.tokens.issueOperatorToken({
        ...{ projectId, keyId: playerId, role: 'admin', actor: 'Ada', seconds: 600 },
      })
      const claims = '{"rank":9007199254740993}'
      const tokens = [
        { token: await issue(environmentId, null), playerId },
        { token: await issue(environmentId, claims), playerId, claims },
        { token: await issue(game.stagingId, null), error: 'tierway: the token is of a player of another environment' },
        { token: operator, error: 'tierway: the token is not one of a player' },
        { token: game.platformKey, error: 'tierway: the token is invalid' },
      ]
      const cases = JSON.stringify({ url: baseUrl, environmentId, tokens })
      const output = await goWith({ TOKENS_OF_SERVICE: cases }, 'test', '-count=1', '-v', '-run', 'OfTheService', '.')
      expect(output).toContain('5 tokens of the service')
    } finally {
      await game.stop()
    }
  })

  test('follows the logins that end', { timeout: BUILD_TIMEOUT_MS }, async () => {
    const game = await startGame()
    try {
      const { environmentId, projectId, baseUrl } = game
      const { pool, tokens } = game.app
      const [ended, banned, good] = [randomUUID(), randomUUID(), randomUUID()]
      const issue = async (loginId: string) => {
        const { playerId } = await game.player()
        if (loginId === banned) await pool.query(`UPDATE players SET status = 'banned' WHERE id = $1`, [playerId])
        return tokens.issueAccessToken({ environmentId, projectId, playerId, tokenId: `${loginId}.${randomUUID()}` })
      }
      await pool.query('INSERT INTO ended_access (environment_id, player_id, family_id) VALUES ($1, $2, $3)', [
        ...[environmentId, randomUUID(), ended],
      ])
      const cases = JSON.stringify({
        ...{ url: baseUrl, environmentId, key: (await createServerKey(pool, environmentId)).key },
        tokens: [
          { token: await issue(ended), error: 'tierway: the login of the token has ended' },
          { token: await issue(banned), error: 'tierway: the player is banned' },
          { token: await issue(good), error: '<nil>' },
        ],
      })
      const output = await goWith({ FEED_OF_SERVICE: cases }, 'test', '-count=1', '-v', '-run', 'TheService', '.')
      expect(output).toContain('3 tokens by the feed')
    } finally {
      await game.stop()
    }
  })

  describe('the example receiver in Go', () => {
    let binary: string

    beforeAll(async () => {
      binary = join(work, 'receiver')
      await go('build', '-o', binary, './examples/receiver')
    }, BUILD_TIMEOUT_MS)

    testReceiver((env) => startReceiver(binary, [], env))
  })
})
