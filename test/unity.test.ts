import { execFile, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { adjustWallet } from '../src/dev/adjust-wallet.ts'
import { demoSeason } from '../src/dev/season.ts'
import { RawJson } from '../src/json.ts'
import { cursorAt } from './events/cursors.ts'
import { auditBooks } from './support/audit.ts'
import { endWithTests } from './support/children.ts'
import { gold, scenario, season } from './support/definitions.ts'
import { type Game, generateKeys, type Keys, startGame } from './support/game.ts'
import { type Fate, type Gateway, type Passed, startGateway } from './support/gateway.ts'
import { approve, type Operator, startOperator, status } from './support/operator.ts'
import { buildService, startService, stopService } from './support/service.ts'
import { until } from './support/until.ts'

// The client of Unity, compiled by Mono and run against the service: what a game sees of it.

const PACKAGE = fileURLToPath(new URL('../sdk/unity', import.meta.url))
const HTTP = 'System.Net.Http.dll'
const REFRESH = '/sdk/v1/authorization/refresh'
const XP = '/sdk/v1/battlepass/xp'
/** For what hangs: shorter than the limit of a test, so that no program outlives it. */
const CASE_TIMEOUT_MS = 120_000

/** Why these tests cannot run here, or an empty text. */
function reasonToSkip(): string {
  for (const [tool, ...args] of [
    ['mcs', '--version'],
    ['mono', '--version'],
  ] as const) {
    if (spawnSync(tool, args).status !== 0) return `SKIPPED, ${tool} is not installed: `
  }
  const out = join(tmpdir(), `tierway-unity-${process.pid}.dll`)
  const small = join(PACKAGE, 'Runtime/ITransport.cs')
  const found = spawnSync('mcs', ['-target:library', `-r:${HTTP}`, `-out:${out}`, small])
  rmSync(out, { force: true })
  return found.status === 0 ? '' : `SKIPPED, Mono's ${HTTP} is not installed: `
}

const skipped = reasonToSkip()

const sources = (folder: string): string[] =>
  readdirSync(join(PACKAGE, folder))
    .filter((name) => name.endsWith('.cs'))
    .map((name) => join(PACKAGE, folder, name))

let work: string

/** Compiles by the C# that Unity has; a warning is an error. */
async function compile(output: string, files: readonly string[], ...options: string[]): Promise<string> {
  const path = join(work, output)
  await promisify(execFile)('mcs', ['-langversion:7', '-warnaserror', `-out:${path}`, ...options, ...files])
  return path
}

describe.skipIf(skipped !== '')(`${skipped}the client for Unity`, () => {
  let program: string
  let keys: Keys
  let game: Game
  let operator: Operator
  let gateway: Gateway

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'tierway-unity-'))
    program = await compile('tests.exe', [...sources('Runtime'), ...sources('Tests~')], `-r:${HTTP}`)
    keys = await generateKeys()
    game = await startGame(keys)
    operator = await startOperator((hit, response) => {
      const { player } = JSON.parse(hit.customData)
      if (player === 'reject') return status(403)(hit, response)
      if (player === 'break') return status(500)(hit, response)
      return approve(player === 'babble' ? 'babble' : { subject: player })(hit, response)
    })
    const provider = { enabled: true, url: operator.url, secret: operator.secret }
    expect((await game.setProviders({ default: provider, steam: provider })).status).toBe(200)
    expect((await game.publish('season-1', new RawJson(demoSeason()))).status).toBe(200)
    const story = scenario(
      [
        { id: 'intro', type: 'dialogue', data: { text: 'Welcome' } },
        { id: 'gift', type: 'reward', data: { rewards: [gold(7)] } },
      ],
      [
        { from: 'start', handle: 'onStart', to: 'intro' },
        { from: 'intro', handle: 'onAccept', to: 'gift' },
      ],
    )
    expect((await game.publish('story', story)).status).toBe(200)
    expect((await game.publish('season', season())).status).toBe(200)
    gateway = await startGateway(game.baseUrl)
  })
  afterEach(() => {
    gateway?.decide(() => 'pass')
    gateway?.passed.splice(0)
  })
  afterAll(async () => {
    await gateway?.close()
    await operator?.close()
    await game?.stop()
    await rm(work, { recursive: true, force: true })
  })

  /** What a case asks for while it runs, by its first word. */
  type Asked = Readonly<Record<string, (...words: string[]) => Promise<void> | void>>

  /** Runs a case of the program to its end. */
  async function run(name: string, asked: Asked = {}, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const child = spawn('mono', [program, name], {
      env: {
        PATH: process.env.PATH,
        HOME: work,
        LANG: 'C.UTF-8',
        TIERWAY_URL: gateway.url,
        TIERWAY_SDK_KEY: game.sdkKey,
        ...env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: CASE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
    endWithTests(child)
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    let last = ''
    for await (const line of createInterface(child.stdout)) {
      last = line
      const [, question] = /^ask (.*)$/.exec(line) ?? []
      if (question === undefined) continue
      const [word = '', ...words] = question.split(' ')
      try {
        await asked[word]?.(...words)
      } catch (error) {
        child.kill('SIGKILL')
        throw error
      }
      child.stdin.write(`${asked[word] ? question : 'nothing'}\n`)
    }
    expect([await ended, last, errors]).toEqual([0, 'passed', ''])
  }

  const callsTo = (path: string): Passed[] => gateway.passed.filter((call) => call.path === path)
  const only = (path: string, fate: Fate) => gateway.decide((call) => (call.path === path ? fate : 'pass'))

  /** The next call to a path meets a fate, and all others pass. */
  function next(path: string, fate: Fate): void {
    let isDone = false
    gateway.decide((call) => {
      if (isDone || call.path !== path) return 'pass'
      isDone = true
      return fate
    })
  }

  const FAILURES: Readonly<Record<string, Fate>> = {
    pass: 'pass',
    cut: 'cut',
    page: { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Welcome to our hotel</h1>' },
  }
  const failure = (name: string): Fate => FAILURES[name] ?? { status: Number(name), body: 'no' }
  const refresh = (name = '') => only(REFRESH, failure(name))

  const books = async (playerId = '') => {
    await auditBooks(game.app.pool)
    const { rows } = await game.app.pool.query('SELECT FROM xp_ledger WHERE player_id = $1', [playerId])
    expect(rows.length).toBeGreaterThan(0)
  }

  test('JSON: every malformed text is refused, 64-bit integers are exact, texts keep their characters', () =>
    run('json'))

  test('a player plays the season from the first login to the last tier, and hears of all that is crossed', () =>
    run('season', { books }))

  test('stored texts and 64-bit balances come back to the character', () =>
    run('storage', {
      async rich(playerId = '') {
        const ref = { environmentId: game.environmentId, playerId }
        const amount = 9_223_372_036_854_775_807n
        await game.app.service.run(adjustWallet(ref, { currency: 'shards', amount, reference: 'test' }))
      },
    }))

  test("customData reaches the studio's backend to the character, and identities are linked", () =>
    run('login', {
      customData(player = '') {
        const text = `{"player":"${player}", "steam":76561197960287930,"x":1.0 ,"a":1,"a":"\\u0041"}`
        expect(operator.hits.map(({ customData }) => customData)).toContain(text)
      },
    }))

  test('a login that is refused says why, and what the studio has refused is not asked again', async () => {
    await run('login-refused')
    expect(callsTo('/sdk/v1/authorization/custom')).toHaveLength(5)
  })

  test('twenty calls with a refused token make one refresh, and all are answered', async () => {
    await run('refresh')
    expect(callsTo(REFRESH)).toHaveLength(1)
  })

  test('a pair that another client has kept is taken over before anything is refreshed or ended', async () => {
    await run('adopt')
    // Of the one that was first, and of the one whose token is none.
    expect(callsTo(REFRESH).map(({ status }) => status)).toEqual([200, 401])
  })

  test('a token is replaced before it ends, and used as long as it is good where that fails', () =>
    run('early', {
      refresh,
      early(step = '') {
        const refused = callsTo('/sdk/v1/player/get').filter(({ status }) => status !== 200)
        expect(refused).toEqual([])
        // After the failure nobody waits for another one.
        expect(callsTo(REFRESH)).toHaveLength(Number(step))
        refresh('pass')
      },
    }))

  test('what a token says is not compared with the clock of the device', () =>
    run('clock', {
      clock(token = '') {
        const paths = gateway.passed.slice(1).map(({ path, headers }) => {
          return [path.split('/').at(-1), headers.authorization === `Bearer ${token}`]
        })
        const once = [
          ['get', true],
          ['refresh', false],
          ['get', false],
        ]
        expect(paths).toEqual([...once, ...once])
      },
    }))

  test('no failure of the network or of the service ends a login', () => run('offline', { refresh }))

  test('a login that the service has ended is told once, when that is kept already', () => run('ended'))

  test('a logout counts at once on the device, also when the service cannot be told', () =>
    run('logout', {
      freeze: () => gateway.decide(() => 'freeze'),
      down() {
        gateway.decide(() => 'cut')
        gateway.cut()
      },
      up: () => gateway.decide(() => 'pass'),
    }))

  test('a token storage that fails or hangs does not keep a player from playing', () => run('broken-storage'))

  test('a refusal names its code, every fault and the id of the request', () => run('refusals'))

  /** The first answers to each path and key are lost. */
  function lose(times = ''): void {
    const lost = new Map<string, number>()
    gateway.decide(({ path, headers }) => {
      const call = `${path} ${headers['idempotency-key']}`
      lost.set(call, (lost.get(call) ?? 0) + 1)
      return (lost.get(call) ?? 0) <= Number(times) ? 'lose' : 'pass'
    })
  }

  test('when answers are lost, calls are made again with the same key, and count once', async () => {
    await run('lost', { lose, books })
    for (const path of [XP, '/sdk/v1/battlepass/claim', '/sdk/v1/battlepass/premium', '/sdk/v1/scenarios/start']) {
      const calls = callsTo(path)
      expect(calls.map(({ status }) => status)).toEqual([200, 200])
      expect(new Set(calls.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`)).size).toBe(1)
      expect(calls[0]?.headers['idempotency-key']).toMatch(/^[\da-f]{8}-[\da-f]{4}-4/)
    }
    const { rows } = await game.app.pool.query(
      "SELECT count(*)::int AS count FROM wallet_ledger WHERE reason = 'premium_purchase'",
    )
    expect(rows[0].count).toBeGreaterThan(0)
  })

  test('a call without any answer says that its outcome is not known, and its key makes it count once', () =>
    run('unknown', {
      lose,
      freeze: () => gateway.decide(() => 'freeze'),
      thaw: () => gateway.decide(() => 'pass'),
    }))

  test('what passes is waited for as the service asks, and nothing else is tried again', () =>
    run('waits', {
      answer: (code = '', seconds = '') =>
        next(XP, { status: Number(code), headers: { 'retry-after': seconds }, body: '{"error":"no","code":"no"}' }),
    }))

  test('what is no answer of the service is not taken for one', () =>
    run('foreign', {
      foreign(name = '') {
        const fates: Record<string, Fate> = {
          page: failure('page'),
          list: { status: 200, body: '[]' },
          bytes: { status: 200, body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) },
          redirect: { status: 302, headers: { location: '/elsewhere' }, body: '' },
          less: { status: 200, body: '{"level":1}' },
          half: { status: 200, body: '{"level":1', length: 60 },
        }
        const fate = fates[name] ?? 'pass'
        let isDone = false
        gateway.decide(({ path }) => {
          if (isDone || !path.startsWith('/sdk/v1/battlepass')) return 'pass'
          isDone = true
          return fate
        })
      },
    }))

  test('all is told on the thread of the caller, and a handler that throws breaks no call', () => run('context'))

  test('who stops waiting does not keep others from their answer', () => {
    let release = () => {}
    return run('cancel', {
      hold() {
        const released = new Promise<void>((resolve) => {
          release = resolve
        })
        only(REFRESH, { after: () => released })
      },
      held: () => until('the refresh is on its way', () => callsTo(REFRESH).length === 1),
      release: () => release(),
      freeze: () => gateway.decide(() => 'freeze'),
      thaw: () => gateway.decide(() => 'pass'),
    })
  })

  test('events are told one after the other, and again after a cursor', () => run('events'))

  test('no event is lost or told twice when the connection breaks', () =>
    run('events-cut', { cut: () => gateway.cut() }))

  test('a stream that has died without a word is given up, and what was missed is told', () =>
    run('events-silent', { 'freeze-streams': () => gateway.freeze() }))

  test('a cursor that cannot be honoured is cursor_expired', () =>
    run('events-expired', {}, { TIERWAY_OLD_CURSOR: cursorAt(game.stagingId, 1n) }))

  test('a stream goes on with a new token, and ends with the login', () =>
    run('events-token', { cut: () => gateway.cut() }, { TIERWAY_CURSOR: cursorAt(game.environmentId, 0n) }))

  test('calls are made again until a killed service is back, and the books are exact', async () => {
    await buildService()
    const settings = { ...keys, DATABASE_URL: game.databaseUrl, WEBHOOK_PRIVATE_ADDRESSES: 'allow' }
    let service = await startService(settings)
    gateway.lead(service.baseUrl)
    try {
      await run('crash', {
        async kill() {
          await stopService(service)
          // Calls fail meanwhile, and are made again.
          service = await startService(settings)
          gateway.lead(service.baseUrl)
        },
      })
      await auditBooks(game.app.pool)
    } finally {
      gateway.lead(game.baseUrl)
      await stopService(service)
    }
  })

  test.each([[[]], [['-define:UNITY_WEBGL']]])(
    'what needs Unity compiles against its signatures: %j',
    async (defines) => {
      const files = [...sources('Runtime'), ...sources('Samples~/BattlePass'), ...sources('Tests~/Unity')]
      await compile('unity.dll', files, '-target:library', '-define:UNITY_5_3_OR_NEWER', ...defines)
    },
  )
})

// Packages that come by a git URL are read-only: there Unity ignores what has no meta file.
test('every asset of the package for Unity has an id of its own', () => {
  const names = readdirSync(PACKAGE, { recursive: true, encoding: 'utf8' }).filter((name) => !name.includes('~'))
  const assets = names.filter((name) => !name.endsWith('.meta'))
  expect(assets).toContain('package.json')
  expect(names.filter((name) => name.endsWith('.meta')).sort()).toEqual(assets.map((name) => `${name}.meta`).sort())
  const ids = assets.map(
    (name) => /^guid: ([\da-f]{32})$/m.exec(readFileSync(join(PACKAGE, `${name}.meta`), 'utf8'))?.[1],
  )
  expect(ids).not.toContain(undefined)
  expect(new Set(ids).size).toBe(assets.length)
})
