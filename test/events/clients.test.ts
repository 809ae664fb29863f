import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ApolloClient, gql, InMemoryCache } from '@apollo/client'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { buildSchema, parse, validate } from 'graphql'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { WebSocket } from 'ws'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { generateTokenKey, type TokenKey } from '../../src/callers/tokens.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { endWithTests } from '../harness/children.ts'
import { createDatabase } from '../harness/database.ts'
import { season } from '../harness/definitions.ts'
import { expiringToken } from '../harness/expiring-token.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { without } from '../harness/needs.ts'
import { type PostgresProxy, startProxy } from '../harness/proxy.ts'
import { buildService, createWorld, startService, stopService } from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'
import { cursorAt, positionOf, storedCursor } from './cursors.ts'
import { fill } from './fill.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const EVENTS = `subscription ($environment: String!, $after: String) {
  events(environment: $environment, after: $after) { cursor handle data }
}`

const PLACE = { scenarioId: 'season', nodeId: 'pass' }

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
type Event = any

let game: Game
let tokenKey: TokenKey
let home: string
/** The exports of the programs in docs/listeners.md. */
let programs: { listen(place: object): AsyncGenerator<Event>; apollo: { liveEvents(...args: unknown[]): Event } }

beforeAll(async () => {
  // Node 20 has no global WebSocket, and Apollo's link needs one.
  Object.assign(globalThis, { WebSocket })
  tokenKey = await generateTokenKey()
  game = await startGame({ TOKEN_KEYS: JSON.stringify([tokenKey]) })
  await game.publish('season', season({ levels: times(1_000, (index) => index), tiers: [] }))
  home = await mkdtemp(join(tmpdir(), 'tierway-listeners-'))
  await symlink(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  await writeFile(join(home, 'package.json'), '{"type": "module"}')
  const [listener, apollo] = blocks('ts')
  await writeFile(join(home, 'listen.ts'), listener ?? '')
  await writeFile(join(home, 'apollo.ts'), apollo ?? '')
  const load = (name: string) => import(/* @vite-ignore */ join(home, name))
  programs = { ...(await load('listen.ts')), apollo: await load('apollo.ts') }
})
afterAll(async () => {
  await game?.stop()
  await rm(home, { recursive: true, force: true })
})

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The code blocks of docs/listeners.md in one language. */
function blocks(language: string): string[] {
  return [...read('docs/listeners.md').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text]) =>
    name === language ? [text ?? ''] : [],
  )
}

const endOf = async ({ graphql, platformKey }: Game): Promise<string> =>
  (await graphql(platformKey, '{ streamCursor(environment: "production") }')).data.streamCursor

async function storedAfter({ app, environmentId }: Game, cursor: string): Promise<string[]> {
  await settled(game.app.pool)
  const { rows } = await app.pool.query(
    'SELECT position, occurred_at FROM events WHERE environment_id = $1 ORDER BY position',
    [environmentId],
  )
  const all = rows.map((row) => storedCursor(environmentId, row))
  return all.slice(all.indexOf(cursor) + 1)
}

/** Creates a hundred players a second until the returned function is called. */
function write({ app, environmentId }: Game): () => Promise<void> {
  let writing = true
  const writers = times(2, async () => {
    while (writing) {
      await Promise.all(times(2, () => app.service.run(createPlayer(environmentId, 'Ada'))))
      await pause(30)
    }
  })
  return async () => {
    writing = false
    await Promise.all(writers)
  }
}

/** Cuts the connection again and again, each time after more events. The last cut lasts until more are written. */
async function breakAgainAndAgain(proxy: PostgresProxy, heard: () => number, rounds = 5): Promise<void> {
  for (const round of times(rounds, Number)) {
    const before = heard()
    await until(`more is heard in round ${round}`, () => heard() > before + Math.random() * 20)
    const isLast = round === rounds - 1
    proxy.cut({ refuse: isLast })
    if (isLast) {
      const written = await endOf(game)
      await until('more was written meanwhile', async () => (await endOf(game)) !== written)
      proxy.restore()
    }
  }
}

describe('a listener in this process (contract 14)', () => {
  async function withProxy(
    hear: (url: string, heard: string[], start: string) => () => Promise<void> | void,
  ): Promise<void> {
    const proxy = await startProxy(game.baseUrl)
    const start = await endOf(game)
    const heard: string[] = []
    const stop = hear(`${proxy.url.replace('http', 'ws')}graphql`, heard, start)
    const stopWriting = write(game)
    try {
      await breakAgainAndAgain(proxy, () => heard.length)
      await stopWriting()
      const expected = await storedAfter(game, start)
      await until('all is heard', () => heard.length >= expected.length)
      expect(heard).toEqual(expected)
    } finally {
      await stopWriting()
      await stop()
      await proxy.close()
    }
  }

  const options = (url: string) => ({
    url,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${game.platformKey}` },
  })

  it('on graphql-ws receives every event once and in order through broken connections when its retries send the current cursor', () =>
    withProxy((url, heard, start) => {
      const client = createClient({
        ...options(url),
        retryAttempts: Number.POSITIVE_INFINITY,
        retryWait: () => new Promise((resolve) => setTimeout(resolve, 20 * Math.random())),
        shouldRetry: () => true,
      })
      const variables = {
        environment: 'production',
        // The message is serialized again for every connection.
        get after() {
          return heard.at(-1) ?? start
        },
      }
      client.subscribe<{ events: { cursor: string } }>(
        { query: EVENTS, variables },
        {
          next: ({ data }) => void heard.push(data?.events.cursor ?? ''),
          error: (error) => heard.push(String(error)),
          complete: () => undefined,
        },
      )
      return () => client.dispose()
    }))

  it('on Apollo Client receives every event once and in order through broken connections, with `liveEvents` of docs/listeners.md', () =>
    withProxy((url, heard, start) => {
      const connection = createClient({ ...options(url), retryAttempts: 0 })
      const apollo = new ApolloClient({ link: new GraphQLWsLink(connection), cache: new InMemoryCache() })
      const subscription = programs.apollo
        .liveEvents(apollo, 'production', start)
        .subscribe((event: Event) => heard.push(event.cursor))
      return async () => {
        subscription.unsubscribe()
        apollo.stop()
        await connection.dispose()
      }
    }))

  it('on `listen` of docs/listeners.md receives every event once and in order, and ends when its key is revoked', () =>
    withProxy((url, heard, start) => {
      const made = createPlatformKey(game.app.pool, game.projectId, 'viewer')
      const token = async () => (await made).key
      const ended = (async () => {
        for await (const event of programs.listen({ url, token, environment: 'production', after: start })) {
          heard.push(event.cursor)
        }
      })().catch((error: Event) => error)
      return async () => {
        await game.app.pool.query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [(await made).id])
        expect(await ended).toMatchObject({ code: 4403 })
      }
    }))

  it('of a player continues with the next access token when the previous one expires (contract 5)', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    const after = await endOf(game)
    const ends: number[] = []
    const heard: Event[] = []
    function token(): Promise<string> {
      ends.push(Date.now() / 1_000 + 4)
      return expiringToken(tokenKey, { ...player, projectId: game.projectId }, 4_000)
    }
    let end: Event
    const ended = (async () => {
      const url = `${game.baseUrl.replace('http', 'ws')}/graphql`
      for await (const event of programs.listen({ url, token, after })) heard.push(event)
    })().catch((error: Event) => {
      end = error
    })
    for (const logins of [1, 2, 3]) {
      await until('it has said who it is', () => ends.length >= logins || end !== undefined)
      for (const event of times(5, Number)) {
        await player.post('/sdk/v1/battlepass/xp', { ...PLACE, runId, amount: 1, source: 'quest' })
        // Events of other players must not arrive.
        await game.player()
        await until('it is heard', () => heard.length > (logins - 1) * 5 + event || end !== undefined)
      }
      expect(end).toBeUndefined()
    }
    await settled(game.app.pool)
    const { rows } = await game.app.pool.query(
      'SELECT position, occurred_at FROM events WHERE player_id = $1 AND position > $2 ORDER BY position',
      [player.playerId, positionOf(after)],
    )
    await until('all is heard', () => heard.length >= rows.length)
    expect(heard.map(({ cursor }) => cursor)).toEqual(rows.map((row) => storedCursor(game.environmentId, row)))
    await game.app.pool.query("UPDATE players SET status = 'banned' WHERE id = $1", [player.playerId])
    await ended
    expect(end).toMatchObject({ code: 4403 })
  })

  it('on Apollo Client shows a history and then the live events from its end, in one list without a gap', async () => {
    const connection = createClient(options(`${game.baseUrl.replace('http', 'ws')}/graphql`))
    const apollo = new ApolloClient({ link: new GraphQLWsLink(connection), cache: new InMemoryCache() })
    const stopWriting = write(game)
    try {
      const { data } = await apollo.query({
        query: gql`
          query { events(environment: "production", last: 50) { edges { node { cursor } } pageInfo { endCursor } } }`,
        fetchPolicy: 'no-cache',
      })
      const { edges, pageInfo } = (data as { events: Event }).events
      const list: string[] = edges.map(({ node }: Event) => node.cursor)
      const first = list[0] ?? ''
      const subscription = apollo
        .subscribe<{ events: { cursor: string } }>({
          query: gql(EVENTS),
          variables: { environment: 'production', after: pageInfo.endCursor },
          fetchPolicy: 'no-cache',
        })
        .subscribe((result) => list.push(result.data?.events.cursor ?? String(result.error)))
      await until('twenty live ones are on the list', () => list.length >= 70)
      subscription.unsubscribe()
      await stopWriting()
      expect(list.slice(1)).toEqual((await storedAfter(game, first)).slice(0, list.length - 1))
    } finally {
      await stopWriting()
      apollo.stop()
      await connection.dispose()
    }
  })
})

/** An example listener, run as a process. */
interface Listener {
  readonly events: readonly Event[]
  readonly said: string
  readonly exitCode: number | null
  /** Stops reading its output, until it is killed. */
  pause(): void
  kill(): Promise<void>
}

interface ListenerOptions {
  readonly url: string
  readonly key?: string
  readonly environment?: string
  readonly cursorFile: string
}

function startListener(args: readonly string[], options: ListenerOptions): Listener {
  const { url, key = game.platformKey, environment = 'production', cursorFile } = options
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: home,
    env: {
      PATH: process.env.PATH,
      TIERWAY_URL: url.replace(/\/$/, ''),
      TIERWAY_KEY: key,
      ENVIRONMENT: environment,
      CURSOR_FILE: cursorFile,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const events: Event[] = []
  let rest = ''
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    // The last line of a killed process can be incomplete.
    rest = lines.pop() ?? ''
    events.push(...lines.map((line) => JSON.parse(line)))
  })
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk
  })
  const closed = new Promise((resolve) => child.once('close', resolve))
  endWithTests(child)
  return {
    events,
    get said() {
      return said
    },
    get exitCode() {
      return child.exitCode
    },
    pause: () => void child.stdout?.pause(),
    async kill() {
      child.kill('SIGKILL')
      child.stdout?.resume()
      await closed
    },
  }
}

const newCursorFile = (): string => join(home, `${randomUUID()}.cursor`)
const cursorIn = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')

/** The tests of every example listener. `program` returns the arguments of Node that run it. */
function testListener(program: () => Promise<readonly string[]>): void {
  let args: readonly string[]
  beforeAll(async () => {
    args = await program()
  })

  /** Starts a listener without a cursor file, and kills it after use. */
  async function withListener(
    options: Partial<ListenerOptions>,
    use: (listener: Listener, start: string) => Promise<void>,
  ): Promise<void> {
    const cursorFile = newCursorFile()
    const listener = startListener(args, { url: game.baseUrl, cursorFile, ...options })
    try {
      await until(
        'it has its first cursor',
        async () => listener.exitCode !== null || (await cursorIn(cursorFile)) !== '',
      )
      expect(listener.exitCode, listener.said).toBeNull()
      await use(listener, await cursorIn(cursorFile))
    } finally {
      await listener.kill()
    }
  }

  test('receives every event once and in order, however often its connection is cut (contract 14)', async () => {
    const proxy = await startProxy(game.baseUrl)
    try {
      await withListener({ url: proxy.url }, async (listener, start) => {
        const stopWriting = write(game)
        try {
          await breakAgainAndAgain(proxy, () => listener.events.length)
        } finally {
          await stopWriting()
        }
        const expected = await storedAfter(game, start)
        await until('all is heard', () => listener.events.length >= expected.length)
        expect(listener.events.map(({ cursor }) => cursor)).toEqual(expected)
        expect(listener.events[0]).toMatchObject({ type: 'PLAYER_CREATED', handle: null, data: { nickname: 'Ada' } })
      })
    } finally {
      await proxy.close()
    }
  })

  test('continues from its cursor file when it is killed and started again, and repeats at most one event per kill', async () => {
    const cursorFile = newCursorFile()
    const heard: string[] = []
    let kills = 0
    const run = async (enough: (listener: Listener) => Promise<void>) => {
      const listener = startListener(args, { url: game.baseUrl, cursorFile })
      await enough(listener)
      await listener.kill()
      heard.push(...listener.events.map(({ cursor }) => cursor))
    }
    await run(() => until('it has its first cursor', async () => (await cursorIn(cursorFile)) !== ''))
    const start = await cursorIn(cursorFile)
    const stopWriting = write(game)
    try {
      for (; kills < 2; kills += 1) {
        await run(({ events }) => until('some are heard', () => events.length > 1 + 20 * Math.random()))
      }
    } finally {
      await stopWriting()
    }
    const expected = await storedAfter(game, start)
    await run(() => until('all are heard', async () => (await cursorIn(cursorFile)) === expected.at(-1)))
    const once = heard.filter((cursor, index) => cursor !== heard[index - 1])
    expect(once).toEqual(expected)
    expect(heard.length - once.length).toBeLessThanOrEqual(kills)
  })

  test('stores only cursors of events that its reader has, also when it is killed while its reader is stalled', async () => {
    const cursorFile = newCursorFile()
    const listener = startListener(args, { url: game.baseUrl, cursorFile })
    await until('it has its first cursor', async () => (await cursorIn(cursorFile)) !== '')
    const start = await cursorIn(cursorFile)
    listener.pause()
    // More than fits between the two.
    await fill(game, 1_000, { bytes: 1_000, type: 'player.created' })
    let remembered = start
    let still = 0
    await until('it waits for its reader', async () => {
      const now = await cursorIn(cursorFile)
      still = now === remembered ? still + 1 : 0
      remembered = now
      return still >= 20 && now !== start
    })
    await listener.kill()
    const heard = listener.events.map(({ cursor }) => cursor)
    expect(heard).toContain(await cursorIn(cursorFile))
    expect(heard).toEqual((await storedAfter(game, start)).slice(0, heard.length))
  })

  test('survives an unreachable database, and receives what is written afterwards', async () => {
    const database = await createDatabase()
    const proxy = await startProxy(database.url)
    const server = await startGame({ DATABASE_URL: proxy.url })
    const link = await startProxy(server.baseUrl)
    try {
      await withListener({ url: link.url, key: server.platformKey }, async (listener) => {
        proxy.cut({ refuse: true })
        link.cut()
        // Twice, so that one attempt was made while the database was unreachable.
        await until('it was sent away', () => listener.said.split('again in').length > 2)
        proxy.restore()
        const { playerId } = await untilWritten(server)
        await until('it hears', () => listener.events.length === 1)
        expect(listener.events).toMatchObject([{ playerId }])
      })
    } finally {
      await link.close()
      await server.stop()
      await proxy.close()
      await database.drop()
    }
  })

  async function untilWritten(server: Game) {
    let player: { playerId: string } | undefined
    await until('the database is back', async () => {
      player = await server.app.service.run(createPlayer(server.environmentId, null)).catch(() => undefined)
      return player !== undefined
    })
    return player ?? { playerId: '' }
  }

  test('ends with code 1 and prints the reason when a retry would not help', async () => {
    const { id, key } = await createPlatformKey(game.app.pool, game.projectId, 'viewer')
    const ends = async (listener: Listener): Promise<string> => {
      await until('it ends', () => listener.exitCode !== null)
      expect(listener.exitCode).toBe(1)
      await listener.kill()
      return listener.said
    }
    const cursorFile = newCursorFile()
    const start = (more: Partial<ListenerOptions>) => startListener(args, { url: game.baseUrl, cursorFile, ...more })
    expect(await ends(start({ key: 'twplat_junk' }))).toMatch(/^given up: /)
    expect(await ends(start({ environment: 'elsewhere' }))).toBe('given up: environment not found\n')
    expect(await cursorIn(cursorFile)).toBe('')
    await writeFile(cursorFile, cursorAt(game.stagingId, 0n))
    expect(await ends(start({}))).toMatch(/^given up: cursor expired: .*remove \S+\.cursor\n$/)
    await writeFile(cursorFile, 'junk')
    expect(await ends(start({}))).toBe('given up: invalid request\n')
    await rm(cursorFile)
    await withListener({ key }, async (listener) => {
      await game.player()
      await until('it hears', () => listener.events.length === 1)
      await game.app.pool.query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [id])
      expect(await ends(listener)).toMatch(/given up: /)
    })
  })
}

async function example(name: string): Promise<readonly string[]> {
  await copyFile(join(ROOT, 'examples', name), join(home, name))
  return [name]
}

const examples = {
  'examples/listener.mjs, over a WebSocket': 'listener.mjs',
  'examples/listener-sse.mjs, over server-sent events': 'listener-sse.mjs',
}
for (const [title, name] of Object.entries(examples)) describe(title, () => testListener(() => example(name)))

describe('the listeners of a killed instance', () => {
  test('receive every event once and in order from the next instance, through three kills (contract 14)', async () => {
    await buildService()
    const database = await createDatabase()
    const world = await createWorld(database.url)
    await world.publish('season', season())
    const { rows } = await world.pool.query('SELECT project_id FROM environments WHERE id = $1', [world.environmentId])
    const { key } = await createPlatformKey(world.pool, rows[0].project_id, 'viewer')
    let service = await startService(world.env)
    const { origin, port } = new URL(service.baseUrl)
    const listeners = await Promise.all(
      Object.values(examples).map(async (name) => {
        const cursorFile = newCursorFile()
        return { cursorFile, listener: startListener(await example(name), { url: origin, key, cursorFile }) }
      }),
    )
    let writing = true
    try {
      for (const { cursorFile } of listeners) {
        await until('it has its first cursor', async () => (await cursorIn(cursorFile)) !== '')
      }
      const work = (async () => {
        for (; writing; await pause(10)) await world.player('season')
      })()
      for (const kill of times(3, Number)) {
        const before = listeners.map(({ listener }) => listener.events.length)
        await until(`both hear more before kill ${kill}`, () =>
          listeners.every(({ listener }, index) => listener.events.length > (before[index] ?? 0)),
        )
        service.kill('SIGKILL')
        await service.exited
        service = await startService({ ...world.env, PORT: port })
      }
      writing = false
      await work
      await settled(world.pool)
      const { rows: events } = await world.pool.query('SELECT position, occurred_at FROM events ORDER BY position')
      for (const { listener } of listeners) {
        await until('all is heard', () => listener.events.length >= events.length)
        expect(listener.events.map(({ cursor }) => cursor)).toEqual(
          events.map((row) => storedCursor(world.environmentId, row)),
        )
      }
    } finally {
      writing = false
      await Promise.all(listeners.map(({ listener }) => listener.kill()))
      await stopService(service)
      await world.close()
      await database.drop()
    }
  })
})

describe.concurrent('a dead connection', () => {
  for (const [title, name] of Object.entries(examples)) {
    test(`is noticed and replaced by ${title}`, async () => {
      const server = await startGame()
      const proxy = await startProxy(server.baseUrl)
      const cursorFile = newCursorFile()
      const listener = startListener(await example(name), { url: proxy.url, key: server.platformKey, cursorFile })
      try {
        await until('it has its first cursor', async () => (await cursorIn(cursorFile)) !== '')
        const start = await cursorIn(cursorFile)
        await server.player()
        await until('it hears', () => listener.events.length === 1)
        proxy.pause()
        await server.player()
        await until('it has noticed', () => listener.said.includes('again in'), { deadlineMs: 40_000 })
        proxy.cut()
        proxy.resume()
        await until('all is heard', () => listener.events.length === 2)
        expect(listener.events.map(({ cursor }) => cursor)).toEqual(await storedAfter(server, start))
      } finally {
        await listener.kill()
        await proxy.close()
        await server.stop()
      }
    })
  }
})

describe('docs/listeners.md', () => {
  test('contains examples/listener-sse.mjs unchanged', () => {
    expect(blocks('js')).toContain(read('examples/listener-sse.mjs'))
  })

  test('has programs that are valid TypeScript', async () => {
    await copyFile(join(ROOT, 'examples/listener-sse.mjs'), join(home, 'listener-sse.ts'))
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: ['*.ts'],
    }
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify(config))
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      ...['-p', home],
    ]).catch((error) => error)
    expect(stdout).toBe('')
  })

  test('has valid GraphQL documents, and a history that continues live', async () => {
    const schema = buildSchema(read('schema.graphql'))
    const documents = blocks('graphql')
    expect(documents).toHaveLength(3)
    for (const document of documents) {
      expect([document, validate(schema, parse(document))]).toEqual([document, []])
    }
    await game.player()
    const [, history = '', live = ''] = documents
    const { data } = await game.graphql(game.platformKey, history)
    const { endCursor } = data.events.pageInfo
    const subscription = game.subscribe(game.platformKey, live, { endCursor })
    const { playerId } = await game.player()
    expect(await subscription.next()).toMatchObject({ playerId, data: { nickname: null } })
    await subscription.close()
  })

  const withoutCurl = without('curl')
  test.skipIf(withoutCurl !== '')(`${withoutCurl}has curl commands that work`, async () => {
    const player = await game.player()
    const start = await endOf(game)
    const commands = blocks('sh').filter((block) => block.startsWith('curl'))
    expect(commands).toHaveLength(3)
    const runs = commands.map((command) =>
      // Without a limit they would never end.
      promisify(execFile)('sh', ['-c', command.replace('curl -N', 'curl -sN --max-time 4')], {
        env: {
          PATH: process.env.PATH,
          TIERWAY_URL: game.baseUrl,
          TIERWAY_KEY: game.platformKey,
          ACCESS_TOKEN: player.token,
          CURSOR: start,
        },
      }).catch((error) => error),
    )
    const open = async () => (await game.app.metrics.subscriptions.get()).values[0]?.value ?? 0
    await until('all listen', async () => (await open()) === 3)
    const runId = await player.start('season')
    await player.post('/sdk/v1/battlepass/xp', { ...PLACE, runId, amount: 1, source: 'match' })
    const [first, resumed, own] = (await Promise.all(runs)).map(({ stdout }) => String(stdout))
    expect(first).toMatch(/^:\n\nid: \S+\nevent: next\ndata: \{"data":\{"onEvent":\{"cursor":"\S+","occurredAt":"/)
    for (const text of [first, resumed]) {
      expect([...(text ?? '').matchAll(/"handle":"(\w+)"/g)].map(([, handle]) => handle)).toEqual([
        'onStart',
        'onLevelUp',
      ])
    }
    expect(own).toContain('{"data":{"onLevelUp":{"cursor":"')
    expect(own).toContain('"fromLevel":1,"toLevel":2,"xp":"1"}}}')
  })

  test('names tests that exist for its promises', () => {
    const [, table = ''] = read('docs/listeners.md').split('## Tests of each promise')
    const rows = [...table.matchAll(/^\|[^|]*\| `(test\/[^`]+)`: (.+) \|$/gm)]
    expect(rows.length).toBeGreaterThan(15)
    for (const [, path = '', title = ''] of rows)
      expect([path, title, read(path).includes(title)]).toEqual([path, title, true])
  })
})
