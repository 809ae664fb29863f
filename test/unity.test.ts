import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { RawJson } from '../src/base/json.ts'
import { adjustWallet } from '../src/dev/adjust-wallet.ts'
import { demoSeason } from '../src/dev/season.ts'
import { cursorAt } from './events/cursors.ts'
import { auditBooks } from './harness/audit.ts'
import { CASES, publishCases, REJECTED } from './harness/cases.ts'
import { endWithTests } from './harness/children.ts'
import { gold, passNode, scenario, season, tier } from './harness/definitions.ts'
import { type Game, generateKeys, type Keys, startGame } from './harness/game.ts'
import { type Fate, type Gateway, type Passed, startGateway } from './harness/gateway.ts'
import { AUDIENCE, startIssuer, type TestIssuer } from './harness/issuer.ts'
import { MONO_HTTP, withoutMonoHttp } from './harness/mono.ts'
import { approve, type Operator, startOperator, status } from './harness/operator.ts'
import { buildService, startService, stopService } from './harness/service.ts'
import { settled } from './harness/settled.ts'
import { until } from './harness/until.ts'

// The client for Unity, compiled by Mono and run against the service as a game does.

const PACKAGE = fileURLToPath(new URL('../sdk/unity', import.meta.url))
const REFRESH = '/sdk/v1/authorization/refresh'
const XP = '/sdk/v1/battlepass/xp'
/** Ends a program that hangs. Shorter than the timeout of a test, so that no program outlives its test. */
const CASE_TIMEOUT_MS = 120_000

const skipped = withoutMonoHttp()

const sources = (folder: string): string[] =>
  readdirSync(join(PACKAGE, folder))
    .filter((name) => name.endsWith('.cs'))
    .map((name) => join(PACKAGE, folder, name))

let work: string

/** Compiles with Unity's version of C#; a warning is an error. */
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
  let issuer: TestIssuer
  let google: TestIssuer
  let gateway: Gateway

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'tierway-unity-'))
    program = await compile('tests.exe', [...sources('Runtime'), ...sources('Tests~')], `-r:${MONO_HTTP}`)
    // Else each of the forty programs compiles itself at its start. It needs an assembler, which may be missing.
    await promisify(execFile)('mono', ['--aot', program]).catch(() => undefined)
    keys = await generateKeys()
    google = await startIssuer('RS256', 'https://accounts.google.com')
    game = await startGame({ ...keys, GOOGLE_KEYS_URL: google.keysUrl })
    operator = await startOperator((hit, response) => {
      const { player } = JSON.parse(hit.customData)
      if (player === 'reject' || player === REJECTED) return status(403)(hit, response)
      if (player === 'break') return status(500)(hit, response)
      return approve(player === 'babble' ? 'babble' : { subject: player })(hit, response)
    })
    const provider = { enabled: true, url: operator.url, secret: operator.secret }
    expect((await game.setProviders({ default: provider, steam: provider })).status).toBe(200)
    issuer = await startIssuer()
    const oidc = { studio: { enabled: true, issuer: issuer.url, audiences: [AUDIENCE] } }
    const set = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
      body: JSON.stringify({ environment: 'production', authProviders: { oidc, device: { enabled: true } } }),
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    expect(set.status).toBe(200)
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
    const halves = ['level-2', 'level-3', 'level-4']
    const long = scenario(
      [
        passNode('pass', {
          levels: Array.from({ length: 100 }, (_, index) => index * 10),
          tiers: [2, 3, 4].map((level) => tier(level, 'free', [gold(1)])),
        }),
        ...halves.map((id, index) => {
          return { id, type: 'battle-pass-level', data: { levelNumber: index + 2, passNodeId: 'pass' } }
        }),
        { id: 'shop', type: 'popup', data: {} },
        { id: 'counter', type: 'popup', data: {} },
      ],
      [
        ...['pass', ...halves, 'shop'].map((to) => ({ from: 'start', handle: 'onStart', to })),
        { from: 'shop', handle: 'onClick', to: 'counter' },
      ],
    )
    expect((await game.publish('long', long)).status).toBe(200)
    await publishCases(game)
    gateway = await startGateway(game.baseUrl)
  })
  afterEach(() => {
    gateway?.decide(() => 'pass')
    gateway?.passed.splice(0)
  })
  afterAll(async () => {
    await gateway?.close()
    await operator?.close()
    await issuer?.close()
    await google?.close()
    await game?.stop()
    await rm(work, { recursive: true, force: true })
  })

  /** What a case can ask the test to do, by the first word of the question. */
  type Asked = Readonly<Record<string, (...words: string[]) => Promise<void> | void>>

  /** Runs a case of the program to its end. Returns the lines that it printed. */
  async function run(name: string, asked: Asked = {}, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
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
    const lines: string[] = []
    for await (const line of createInterface(child.stdout)) {
      lines.push(line)
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
    expect([await ended, lines.at(-1), errors]).toEqual([0, 'passed', ''])
    return lines
  }

  /** No call gets an answer. */
  const down = () => {
    gateway.decide(() => 'cut')
    gateway.cut()
  }
  const up = () => gateway.decide(() => 'pass')
  const callsTo = (path: string): Passed[] => gateway.passed.filter((call) => call.path === path)
  const only = (path: string, fate: Fate) => gateway.decide((call) => (call.path === path ? fate : 'pass'))

  /** Applies a fate to the next call to a path; all other calls pass. */
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

  test('refuses malformed JSON, reads 64-bit integers exactly, and keeps every character of texts', () => run('json'))

  // test/twins.test.ts has the same cases over REST, GraphQL, a WebSocket and the client for JavaScript.
  test('has the answers and refusals of every other surface', async () => {
    const file = join(work, 'cases.json')
    await writeFile(file, JSON.stringify(CASES))
    const lines = await run('cases', {}, { TIERWAY_CASES: file })
    const replies = lines.flatMap((line) => (line.startsWith('reply ') ? [JSON.parse(line.slice(6))] : []))
    expect(CASES.map(({ call, input }, at) => [call, input, replies[at]])).toEqual(
      CASES.map(({ call, input, reply }) => [call, input, reply]),
    )
  })

  test('plays a season from the first login to the last tier, and reports every crossing', () =>
    run('season', { books }))

  test('reads stored texts and 64-bit balances back exactly', () =>
    run('storage', {
      async rich(playerId = '') {
        const ref = { environmentId: game.environmentId, playerId }
        const amount = 9_223_372_036_854_775_807n
        await game.app.service.run(adjustWallet(ref, { currency: 'shards', amount, reference: 'test' }))
      },
    }))

  test("sends customData to the studio's backend verbatim, and links identities", () =>
    run('login', {
      customData(player = '') {
        const text = `{"player":"${player}", "steam":76561197960287930,"x":1.0 ,"a":1,"a":"\\u0041"}`
        expect(operator.hits.map(({ customData }) => customData)).toContain(text)
      },
    }))

  test('makes and keeps the id of a guest, who stays the same player after a logout and a link', () => run('guest'))

  test('logs in and links by ID tokens, and reports why one is rejected', async () =>
    run('id-token', {}, { ID_TOKEN: await issuer.token({ sub: 'unity', nonce: 'a nonce' }) }))

  test('lets a guest link Google, switch to the old account that it meets, sign out a lost phone and take its data along', async () => {
    const set = async (google: object | null) => {
      const answer = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
        body: JSON.stringify({ environment: 'production', authProviders: { google } }),
        headers: { authorization: `Bearer ${game.platformKey}` },
      })
      expect(answer.status).toBe(200)
    }
    await set({ enabled: true, clientIds: [AUDIENCE] })
    await game.setAccountPolicy({ linkTickets: true })
    await run('account', {}, { GOOGLE_TOKEN: await google.token({ sub: 'unity of google' }) })
    await set(null)
  })

  test('reports why a login is refused, and does not repeat a refused login', async () => {
    await run('login-refused')
    expect(callsTo('/sdk/v1/authorization/custom')).toHaveLength(5)
  })

  test('makes one refresh for twenty calls with a refused token, and answers them all', async () => {
    await run('refresh')
    expect(callsTo(REFRESH)).toHaveLength(1)
  })

  test.each(['refresh', 'turns', 'outbox', 'follow'])(
    'needs no thread pool, which WebGL does not have: %s',
    async (name) => {
      await run(`parked-${name}`)
    },
  )

  test('adopts a token pair that another client has stored before it refreshes or ends the login', async () => {
    await run('adopt')
    // The refresh of the first client, and that of the client whose refresh token is invalid.
    expect(callsTo(REFRESH).map(({ status }) => status)).toEqual([200, 401])
  })

  test('replaces a token before it expires, and keeps using it while it is valid when that fails', () =>
    run('early', {
      refresh,
      early(step = '') {
        const refused = callsTo('/sdk/v1/player/get').filter(({ status }) => status !== 200)
        expect(refused).toEqual([])
        // After the failure, the next call does not refresh again.
        expect(callsTo(REFRESH)).toHaveLength(Number(step))
        refresh('pass')
      },
    }))

  test('does not compare the times in a token with the clock of the device', () =>
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

  test('keeps the login when the network or the service fails', () => run('offline', { refresh }))

  test('reports once that the service has ended the login, after it has cleared the stored pair', () => run('ended'))

  test('logs out at once on the device, even when the service is unreachable', () =>
    run('logout', {
      freeze: () => gateway.decide(() => 'freeze'),
      ...{ down, up },
    }))

  test('lets a player play with a token storage that fails or hangs', () => run('broken-storage'))

  test('reports a refusal with its code, every fault and the id of the request', () => run('refusals'))

  /** Loses the first answers to each path and key. */
  function lose(times = ''): void {
    const lost = new Map<string, number>()
    gateway.decide(({ path, headers }) => {
      const call = `${path} ${headers['idempotency-key']}`
      lost.set(call, (lost.get(call) ?? 0) + 1)
      return (lost.get(call) ?? 0) <= Number(times) ? 'lose' : 'pass'
    })
  }

  test('retries calls with the same key when answers are lost, and each call counts once', async () => {
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

  test('reports that the outcome of a call without an answer is unknown, and a repeat with its key counts once', () =>
    run('unknown', {
      lose,
      freeze: () => gateway.decide(() => 'freeze'),
      thaw: () => gateway.decide(() => 'pass'),
    }))

  const answer = (code = '', seconds = '') =>
    next(XP, { status: Number(code), headers: { 'retry-after': seconds }, body: '{"error":"no","code":"no"}' })

  test('retries temporary failures after the wait that the service asks for, and no other failure', () =>
    run('waits', { answer }))

  test('makes a call with limits of its own, which hold for no other call', async () => {
    await run('limits', { answer, freeze: () => gateway.decide(() => 'freeze'), thaw: up })
    const made = (path: string) => callsTo(`/sdk/v1/${path}`).length
    const once = ['battlepass/progress', 'player/get', 'inbox/list', 'storage/get', 'sessions/list']
    expect(once.map(made)).toEqual(once.map(() => 1))
    // The first login, and the one with limits; xp with limits twice, and once with a retry.
    expect(['authorization/custom', 'battlepass/xp'].map(made)).toEqual([2, 4])
  })

  test('rejects answers that do not come from the service or are incomplete', () =>
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

  test('calls every handler on the thread of the caller, and a handler that throws breaks no call', () =>
    run('context'))

  /** Holds a refresh on its way. */
  function holding(): Asked {
    let release = () => {}
    return {
      hold() {
        const released = new Promise<void>((resolve) => {
          release = resolve
        })
        only(REFRESH, { after: () => released })
      },
      held: () => until('the refresh is on its way', () => callsTo(REFRESH).length === 1),
      release: () => release(),
    }
  }

  test('logs the first player out when another one logs in, and makes no call of the one for the other', () =>
    run('replaced', holding()))

  test('cancels one call without cancelling the refresh that other calls wait for', () =>
    run('cancel', {
      ...holding(),
      freeze: () => gateway.decide(() => 'freeze'),
      thaw: () => gateway.decide(() => 'pass'),
    }))

  test('delivers events one after the other, and again after a cursor', () => run('events'))

  test('delivers only the events that a filter lets through', () => run('events-filter'))

  test.each([
    ['follow', 'raises each crossing of any device once and in order while it follows, for several followers'],
    ['follow-toggled', 'loses no crossing and raises none twice while followers come and go'],
    ['follow-claims', 'raises onComplete once for each of several claims at once'],
    ['former', 'makes no call of a session for another player, and opens a session without a call'],
  ])('%s: a session %s', async (name) => {
    await run(name)
  })

  test('a session that is followed reports that its run was cancelled', () =>
    run('follow-cancelled', {
      async publish(id = '') {
        const nodes = [{ id, type: 'popup' }]
        expect((await game.publish('fleeting', { name: 'S', start: id, nodes, edges: [] })).status).toBe(200)
      },
    }))

  test('a session stops following with the login, and can begin again', () =>
    run('follow-ended', { cut: () => gateway.cut() }))

  test('an outbox sends xp that was earned offline in order and once, also after the game has ended', () =>
    run('outbox', { down, up, lose, books }))

  test('an outbox gives up xp that is refused or too old to be safe, and goes on', () =>
    run('outbox-refused', {
      ...{ down, up },
      async end(runId = '') {
        await game.app.pool.query(`UPDATE runs SET status = 'cancelled' WHERE id = $1`, [runId])
      },
    }))

  test("an outbox keeps a player's xp for that player", () => run('outbox-players', { down, up }))

  test.each([
    ['outbox-storage', 'leaves what it cannot read in the storage, and refuses xp that it cannot store'],
    ['outbox-held', 'does not count xp whose write failed or was given up, although it was written'],
  ])('%s: an outbox %s', async (name) => {
    await run(name)
  })

  test('delivers each event once and in order while the connection breaks', () =>
    run('events-cut', { cut: () => gateway.cut() }))

  test('replaces a dead connection, and delivers the events that it missed', () =>
    run('events-silent', { 'freeze-streams': () => gateway.freeze() }))

  test('reports cursor_expired for a cursor of another stream, and for one whose next event was removed', async () => {
    await run('events-expired', {}, { TIERWAY_OLD_CURSOR: cursorAt(game.stagingId, 1n) })

    const other = await startGame()
    try {
      const provider = { enabled: true, url: operator.url, secret: operator.secret }
      expect((await other.setProviders({ default: provider })).status).toBe(200)
      await other.player()
      await settled(other.app.pool)
      await other.app.pool.query('DELETE FROM events')
      const after = cursorAt(other.environmentId, 0n)
      const env = { TIERWAY_URL: other.baseUrl, TIERWAY_SDK_KEY: other.sdkKey, TIERWAY_OLD_CURSOR: after }
      await run('events-expired', {}, env)
    } finally {
      await other.stop()
    }
  })

  test('continues a stream with a new token, and ends it with the login', () =>
    run('events-token', { cut: () => gateway.cut() }, { TIERWAY_CURSOR: cursorAt(game.environmentId, 0n) }))

  test('retries calls until a killed service is back, and the books are exact', async () => {
    await buildService()
    const settings = { ...keys, DATABASE_URL: game.databaseUrl, WEBHOOK_PRIVATE_ADDRESSES: 'allow' }
    let service = await startService(settings)
    gateway.lead(service.baseUrl)
    try {
      await run('crash', {
        async kill() {
          await stopService(service)
          // Calls fail meanwhile, and are retried.
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
    'compiles the code for Unity against its signatures: %j',
    async (defines) => {
      const files = [...sources('Runtime'), ...sources('Samples~/BattlePass'), ...sources('Tests~/Unity')]
      await compile('unity.dll', files, '-target:library', '-define:UNITY_5_3_OR_NEWER', ...defines)
    },
  )
})

// Packages from a git URL are read-only: Unity ignores their files without a meta file.
test('every asset of the package for Unity has a meta file with a unique id', () => {
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
