import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import type pg from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type App, createApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/base/config.ts'
import { generateSecretsKey } from '../../src/base/secrets.ts'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { generateTokenKey, type TokenKey } from '../../src/callers/tokens.ts'
import { createPool } from '../../src/db/pool.ts'
import { type Bus, createLocalBus } from '../../src/events/bus.ts'
import type { StreamEvent } from '../../src/events/catalogue.ts'
import { PAGE } from '../../src/events/read-stream.ts'
import { createSubscriptions } from '../../src/events/subscriptions.ts'
import { startRun } from '../../src/game/battlepass/start-run.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { countingBus } from '../harness/counting-bus.ts'
import { createDatabase } from '../harness/database.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { startProxy } from '../harness/proxy.ts'
import { pull } from '../harness/pull.ts'
import { settled } from '../harness/settled.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { cursorAt, positionOf, storedCursor } from './cursors.ts'
import { fill } from './fill.ts'
import { EVERY_EVENT } from './filters.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
type Event = any

/** A subscription over either protocol. */
interface Subscriber {
  next(): Promise<Event>
  take(count: number): Promise<Event[]>
  close(): Promise<void>
}

let key: TokenKey
let game: Game
let second: App
let otherKey: string
let stagingId: string

const place = { scenarioId: 'season', nodeId: 'pass' }
const EVENT = 'cursor type occurredAt playerId scenarioId nodeId runId handle data'
const ALL = `subscription ($environment: String, $types: [EventType!], $handles: [String!], $scenarioId: String,
  $nodeId: String, $playerId: ID, $after: String) { events(environment: $environment, types: $types,
  handles: $handles, scenarioId: $scenarioId, nodeId: $nodeId, playerId: $playerId, after: $after) { __typename ${EVENT} } }`
const production = { environment: 'production' }

beforeAll(async () => {
  key = await generateTokenKey()
  game = await startGame({ TOKEN_KEYS: JSON.stringify([key]) })
  await game.publish('season', season())
  await game.publish(
    'two',
    scenario([passNode('a'), passNode('b', { tiers: [tier(1, 'free', [gold(1), item('x')])] })], []),
  )
  const other = await createProject(game.app.pool, { name: 'Other', environments: ['production', 'elsewhere'] })
  otherKey = (await createPlatformKey(game.app.pool, other.projectId, 'admin')).key
  const { rows } = await game.app.pool.query("SELECT id FROM environments WHERE project_id = $1 AND name = 'staging'", [
    game.projectId,
  ])
  stagingId = rows[0].id
  const secretsKeys = [generateSecretsKey()]
  second = await createApp({
    config: readConfig({
      NODE_ENV: 'test',
      DATABASE_URL: game.databaseUrl,
      TOKEN_KEYS: JSON.stringify([key]),
      SECRETS_KEYS: JSON.stringify(secretsKeys),
    }),
    log: pino({ level: 'silent' }),
    databaseUrl: game.databaseUrl,
    tokenKeys: [key],
    secretsKeys,
  })
})
const opened: Subscriber[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((subscriber) => subscriber.close()))
  await until('no subscription is left', async () => (await subscriptions()) === 0)
})
afterAll(async () => {
  await second?.stop()
  await game?.stop()
})

const subscriptions = async (): Promise<number> => (await game.app.metrics.subscriptions.get()).values[0]?.value ?? 0

function overSocket(token: string, query: string, variables: Record<string, unknown> = {}): Subscriber {
  const subscriber = game.subscribe(token, query, variables)
  opened.push(subscriber)
  return subscriber
}

/** The same over server-sent events, read frame by frame. */
function overSse(token: string, query: string, variables: Record<string, unknown> = {}): Subscriber {
  const abort = new AbortController()
  async function* read() {
    const response = await fetch(`${game.baseUrl}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ query, variables }),
      signal: abort.signal,
    })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      const frames = text.split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const fields = new Map(
          frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
        )
        if (fields.get('event') === 'complete') return
        if (fields.get('event') === 'next') yield JSON.parse(fields.get('data') ?? '')
      }
    }
  }
  const frames = read()
  async function next() {
    const { value, done } = await frames.next()
    if (done) throw new Error('the subscription ended')
    if (value.errors) throw Object.assign(new Error(value.errors[0].message), { errors: value.errors })
    return Object.values(value.data)[0]
  }
  const subscriber: Subscriber = {
    next,
    async take(count) {
      const events = []
      while (events.length < count) events.push(await next())
      return events
    },
    close: async () => abort.abort(),
  }
  opened.push(subscriber)
  return subscriber
}

const ways = { WebSocket: overSocket, SSE: overSse }

async function refusalOf(subscriber: Subscriber): Promise<Event> {
  try {
    await subscriber.next()
  } catch (error) {
    const [first] = Array.isArray(error) ? error : ((error as { errors?: Event[] }).errors ?? [])
    return first?.extensions ?? { code: String(error) }
  }
  return { code: 'none' }
}

const codeOf = async (subscriber: Subscriber): Promise<string> => (await refusalOf(subscriber)).code

const cursorOf = async (token: string, variables: Record<string, unknown> = {}): Promise<string> =>
  (await game.graphql(token, 'query ($environment: String) { streamCursor(environment: $environment) }', variables))
    .data.streamCursor
const at = (position: bigint) => ({ position, at: null })
const endOf = () => cursorOf(game.platformKey, production)

const add = (player: TestPlayer, runId: string, amount: number | bigint, at = place) =>
  player.post('/sdk/v1/battlepass/xp', { ...at, runId, amount, source: 'quest' })

async function stored(afterCursor: string): Promise<string[]> {
  await settled(game.app.pool)
  const { rows } = await game.app.pool.query(
    'SELECT position, occurred_at FROM events WHERE environment_id = $1 AND position > $2 ORDER BY position',
    [game.environmentId, positionOf(afterCursor)],
  )
  return rows.map((row) => storedCursor(game.environmentId, row))
}

for (const [way, subscribe] of Object.entries(ways)) {
  describe(`subscriptions over ${way} (contract 14)`, () => {
    it('give onLevelUp, onMaxLevel, onPremiumPurchase and onComplete with their own data', async () => {
      const player = await game.player({ wallet: { gems: 950n } })
      const runId = await player.start('season')
      const after = await cursorOf(player.token)
      const common = { playerId: player.playerId, scenarioId: 'season', nodeId: 'pass', runId }
      const open = (name: string, own: string) =>
        subscribe(player.token, `subscription ($after: String) { ${name}(after: $after) { ${EVENT} ${own} } }`, {
          after,
        })
      const [levelUp, maxLevel, premium, complete] = [
        open('onLevelUp', 'fromLevel toLevel xp source'),
        open('onMaxLevel', 'level xp source'),
        open('onPremiumPurchase', 'price { currency amount }'),
        open('onComplete', ''),
      ] as const
      await add(player, runId, 150)
      await add(player, runId, 2n ** 60n)
      await player.post('/sdk/v1/battlepass/premium', { ...place, runId })
      await player.graphql(`mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed { level } } }`, {
        input: { ...place, runId },
      })
      expect(await levelUp.take(2)).toMatchObject([
        { ...common, type: 'CROSSING', handle: 'onLevelUp', fromLevel: 1, toLevel: 2, xp: '150', source: 'quest' },
        { ...common, fromLevel: 2, toLevel: 5, xp: String(2n ** 60n + 150n), data: { xp: String(2n ** 60n + 150n) } },
      ])
      expect(await maxLevel.next()).toMatchObject({ ...common, handle: 'onMaxLevel', level: 5, source: 'quest' })
      expect(await premium.next()).toMatchObject({ ...common, price: { currency: 'gems', amount: '950' } })
      const completed = await complete.next()
      expect(completed).toMatchObject({ ...common, handle: 'onComplete' })
      expect(Math.abs(Date.now() - Date.parse(completed.occurredAt))).toBeLessThan(60_000)
    })

    it('give playerCreated, and through `events` all events in the order of the stream', async () => {
      const after = await endOf()
      const created = subscribe(
        game.platformKey,
        'subscription ($after: String) { playerCreated(environment: "production", after: $after) { playerId nickname scenarioId } }',
        { after },
      )
      const all = subscribe(game.platformKey, ALL, { ...production, after })
      const player = await game.player()
      const runId = await player.start('season')
      await add(player, runId, 100)
      expect(await created.next()).toEqual({ playerId: player.playerId, nickname: null, scenarioId: null })
      const events = await all.take(3)
      expect(events).toMatchObject([
        { __typename: 'PlayerCreatedEvent', type: 'PLAYER_CREATED', handle: null, runId: null },
        { __typename: 'HandleCrossedEvent', handle: 'onStart', nodeId: 'start', runId },
        { __typename: 'LevelUpEvent', handle: 'onLevelUp', nodeId: 'pass', runId },
      ])
      expect(events.map(({ cursor }) => cursor)).toEqual(await stored(after))
    })

    it('are filtered by scenario, node, player, handles and types, alone and together', async () => {
      const after = await endOf()
      const [a, b] = [await game.player(), await game.player()]
      for (const player of [a, b]) {
        await add(player, await player.start('season'), 400)
        const runId = await player.start('two')
        for (const nodeId of ['a', 'b']) await add(player, runId, 100, { scenarioId: 'two', nodeId })
      }
      const everything = await subscribe(game.platformKey, ALL, { ...production, after }).take(
        (await stored(after)).length,
      )
      const filters: [Record<string, unknown>, (event: Event) => boolean][] = [
        [{ scenarioId: 'two' }, (event) => event.scenarioId === 'two'],
        [{ nodeId: 'b' }, (event) => event.nodeId === 'b'],
        [{ playerId: a.playerId }, (event) => event.playerId === a.playerId],
        [{ playerId: a.playerId.toUpperCase() }, (event) => event.playerId === a.playerId],
        [{ handles: ['onMaxLevel', 'onStart'] }, ({ handle }) => ['onMaxLevel', 'onStart'].includes(handle)],
        [{ types: ['PLAYER_CREATED'] }, ({ type }) => type === 'PLAYER_CREATED'],
        [
          { types: ['CROSSING'], handles: ['onLevelUp'], scenarioId: 'two', playerId: b.playerId },
          (event) => event.handle === 'onLevelUp' && event.scenarioId === 'two' && event.playerId === b.playerId,
        ],
      ]
      for (const [filter, keeps] of filters) {
        const expected = everything.filter(keeps)
        expect(expected.length).toBeGreaterThan(0)
        expect(
          await subscribe(game.platformKey, ALL, { ...production, after, ...filter }).take(expected.length),
        ).toEqual(expected)
      }
    })

    it('show a player its own events only, and refuse those of another player', async () => {
      const [a, b] = [await game.player(), await game.player()]
      const after = await endOf()
      const [runOfA, runOfB] = [await a.start('season'), await b.start('season')]
      await add(b, runOfB, 100)
      await add(a, runOfA, 100)
      const own = await subscribe(a.token, ALL, { after }).take(2)
      expect(own.map(({ playerId, handle }) => [playerId, handle])).toEqual([
        [a.playerId, 'onStart'],
        [a.playerId, 'onLevelUp'],
      ])
      for (const field of ['onLevelUp', 'onMaxLevel', 'onComplete', 'onPremiumPurchase', 'events']) {
        const query = `subscription { ${field}(playerId: "${b.playerId}") { cursor } }`
        expect([field, await codeOf(subscribe(a.token, query))]).toEqual([field, 'FORBIDDEN'])
      }
      expect(await codeOf(subscribe(a.token, ALL, { environment: 'staging' }))).toBe('FORBIDDEN')
      expect(await codeOf(subscribe(a.token, ALL, { environment: 'elsewhere' }))).toBe('ENVIRONMENT_NOT_FOUND')
      expect(await codeOf(withoutCredentials(subscribe))).toBe('INVALID_TOKEN')
    })

    it('require an environment of its own project from a platform key', async () => {
      expect(await codeOf(subscribe(game.platformKey, ALL))).toBe('INVALID_REQUEST')
      expect(await codeOf(subscribe(game.platformKey, ALL, { environment: 'elsewhere' }))).toBe('ENVIRONMENT_NOT_FOUND')
      expect(await codeOf(subscribe(otherKey, ALL, { environment: 'staging' }))).toBe('ENVIRONMENT_NOT_FOUND')
      expect(await codeOf(subscribe(otherKey, ALL, { ...production, after: await endOf() }))).toBe('CURSOR_EXPIRED')

      const seen: Event[] = []
      const foreign = subscribe(otherKey, ALL, production)
      void foreign.next().then(
        (event) => seen.push(event),
        () => undefined,
      )
      await until('it is open', async () => (await subscriptions()) === 1)
      const own = subscribe(game.platformKey, ALL, { ...production, after: await endOf() })
      await game.player()
      await own.next()
      expect(seen).toEqual([])
    })

    it('refuse a cursor of another stream or of the future, an invalid cursor, and filters that match nothing by mistake', async () => {
      const future = cursorAt(game.environmentId, 10n ** 9n)
      for (const after of [cursorAt(stagingId, 0n), future]) {
        expect(await codeOf(subscribe(game.platformKey, ALL, { ...production, after }))).toBe('CURSOR_EXPIRED')
      }
      const env = game.environmentId
      const junk = [
        '',
        'junk',
        'x'.repeat(257),
        '\0',
        Buffer.from(`2:${env}:1`).toString('base64url'),
        ...[`1:${env}:-1`, `1:${env}:1.5`, `1:${env}`, `1:${env}:9223372036854775808`, `1:${env}: 1`].map((text) =>
          Buffer.from(text).toString('base64url'),
        ),
      ]
      for (const after of junk) {
        const code = await codeOf(subscribe(game.platformKey, ALL, { ...production, after }))
        expect([after, code]).toEqual([after, 'INVALID_REQUEST'])
      }
      const handles = [[], [''], ['on level up'], ['onLevelUp', '1st'], ['h'.repeat(65)], times(101, (n) => `h${n}`)]
      const ids = ['', 'x'.repeat(129), '\0']
      const filters = [
        { types: [] },
        ...handles.map((each) => ({ handles: each })),
        ...ids.flatMap((id) => [{ scenarioId: id }, { nodeId: id }, { playerId: id }]),
        { playerId: 'ada' },
        { playerId: '019ac2a1-0000-7000-8000' },
      ]
      for (const filter of filters) {
        const { code, details } = await refusalOf(subscribe(game.platformKey, ALL, { ...production, ...filter }))
        const [name = ''] = Object.keys(filter)
        expect([filter, code, details]).toEqual([
          filter,
          'INVALID_REQUEST',
          [{ path: expect.stringMatching(`^${name}(\\[\\d\\])?$`), message: expect.any(String) }],
        ])
      }
    })

    it('accept ids that nothing has yet, and deliver the events once something has them', async () => {
      const after = await endOf()
      const scenarioId = `later-${way}`
      const early = [{ scenarioId }, { nodeId: `${scenarioId}-pass` }].map((filter) =>
        subscribe(game.platformKey, ALL, { ...production, after, handles: ['onLevelUp'], ...filter }).next(),
      )
      const nobody = subscribe(game.platformKey, ALL, { ...production, playerId: randomUUID() })
      const seen: unknown[] = []
      void nobody.next().then(
        (event) => seen.push(event),
        (error) => opened.length > 0 && seen.push(error),
      )
      await until('all are open', async () => (await subscriptions()) === 3)
      await game.publish(scenarioId, scenario([passNode(`${scenarioId}-pass`)], []))
      const player = await game.player()
      await add(player, await player.start(scenarioId), 100, { scenarioId, nodeId: `${scenarioId}-pass` })
      for (const event of await Promise.all(early)) expect(event).toMatchObject({ scenarioId, handle: 'onLevelUp' })
      expect(seen).toEqual([])
    })
  })
}

function withoutCredentials(subscribe: typeof overSocket): Subscriber {
  // A socket with invalid credentials is closed. One without credentials is answered.
  if (subscribe === overSse) return overSse('junk', ALL)
  const client = createClient({
    url: `${game.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  })
  const results = client.iterate({ query: ALL })
  const next = async () => {
    const { value } = await results.next()
    throw Object.assign(new Error('refused'), { errors: value.errors })
  }
  return { next, take: next, close: async () => client.dispose() }
}

describe('a subscription after a cursor (contract 14)', () => {
  it('receives every event once and in order from several cursors, over both protocols, while sixteen writers write', async () => {
    const writers = await Promise.all(times(16, () => game.player()))
    await game.publish('long', scenario([passNode('pass', { levels: times(200, (index) => index), tiers: [] })], []))
    const runs = await Promise.all(writers.map((writer) => writer.start('long')))
    const at = { scenarioId: 'long', nodeId: 'pass' }
    const start = await endOf()
    let writing = true
    const work = writers.map(async (writer, index) => {
      for (let count = 0; writing && count < 150; count += 1) await add(writer, runs[index] ?? '', 1, at)
    })
    const first = await overSocket(game.platformKey, ALL, { ...production, after: start }).take(120)
    const cuts = [start, ...times(3, () => first[Math.floor(Math.random() * first.length)].cursor), await endOf()]
    const followers = cuts.flatMap((after) =>
      Object.values(ways).map((subscribe) => ({
        after,
        subscriber: subscribe(game.platformKey, ALL, { ...production, after }),
      })),
    )
    const joined = await Promise.all(followers.map(({ subscriber }) => subscriber.take(40)))
    writing = false
    await Promise.all(work)
    for (const [index, { after, subscriber }] of followers.entries()) {
      const expected = await stored(after)
      const seen = joined[index] ?? []
      seen.push(...(await subscriber.take(expected.length - seen.length)))
      expect(seen.map(({ cursor }) => cursor)).toEqual(expected)
    }
  })
})

describe('a subscription', () => {
  it('is released when it is completed, when its socket breaks, and when its stream is cancelled', async () => {
    const player = await game.player()
    const url = `${game.baseUrl.replace('http', 'ws')}/graphql`
    const connectionParams = { authorization: `Bearer ${player.token}` }
    let socket: WebSocket | undefined
    const client = createClient({
      url,
      connectionParams,
      retryAttempts: 0,
      webSocketImpl: class extends WebSocket {
        constructor(...args: ConstructorParameters<typeof WebSocket>) {
          super(...args)
          socket = this
        }
      },
      onNonLazyError: () => undefined,
    })
    const sink = { next: () => undefined, error: () => undefined, complete: () => undefined }
    const ends = times(5, () => client.subscribe({ query: ALL }, sink))
    await until('five are open', async () => (await subscriptions()) === 5)
    for (const end of ends.slice(0, 3)) end()
    await until('two are left', async () => (await subscriptions()) === 2)
    socket?.terminate()
    await until('none is left', async () => (await subscriptions()) === 0)

    const stream = overSse(player.token, ALL)
    void stream.next().catch(() => undefined)
    await until('one is open', async () => (await subscriptions()) === 1)
    await stream.close()
    await until('none is left again', async () => (await subscriptions()) === 0)
    await client.dispose()
  })

  it('is not counted when it was refused', async () => {
    for (const subscribe of Object.values(ways)) await codeOf(subscribe(game.platformKey, ALL))
    expect(await subscriptions()).toBe(0)
  })

  it('leaves the bus when it is the last of its environment, also without events', async () => {
    const { bus, count } = countingBus()
    const opened = createSubscriptions({ settle: async () => {}, pool: game.app.pool, bus })
    const filter = EVERY_EVENT
    const open = () => opened.open({ environmentId: stagingId, after: null, filter })
    const ended: number[] = []
    const [one, two] = await Promise.all([open(), open()])
    two.onceEnded(() => ended.push(1))
    expect(count()).toBe(1)
    const waiting = pull(one).next()
    one.end()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(count()).toBe(1)
    two.end()
    two.end()
    expect([count(), ended]).toEqual([0, [1]])
    await Promise.all(times(20, async () => (await open()).end()))
    expect(count()).toBe(0)

    const last = await open()
    const pending = pull(last).next()
    await opened.close()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(count()).toBe(0)
    await expect(open()).rejects.toThrow('unavailable')
  })

  it('is released when the database fails during its replay', async () => {
    const broken = await startGame()
    const { bus, count } = countingBus()
    const opened = createSubscriptions({ settle: async () => {}, pool: broken.app.pool, bus })
    try {
      const { environmentId } = broken
      await fill(broken, 600, { type: 'player.created' })
      let ended = 0
      await settled(broken.app.pool)
      const subscription = await opened.open({ environmentId, after: at(0n), filter: EVERY_EVENT })
      subscription.onceEnded(() => (ended += 1))
      const events = pull(subscription)
      await broken.app.pool.query('ALTER TABLE events RENAME TO gone')
      const replay = async () => {
        for (let read = 0; read < 600; read += 1) await events.next()
      }
      await expect(replay()).rejects.toThrow('events')
      expect([count(), ended]).toEqual([0, 1])
      expect(await events.next()).toEqual({ done: true, value: undefined })
    } finally {
      await opened.close()
      await broken.stop()
    }
  })
})

describe('subscriptions at different speeds', () => {
  it('do not wait for one that reads nothing', async () => {
    const player = await game.player()
    await game.publish('many', scenario([passNode('pass', { levels: times(300, (index) => index), tiers: [] })], []))
    const runId = await player.start('many')
    const after = await endOf()
    // It subscribes, and then reads nothing.
    const slow = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await new Promise((resolve) => slow.once('open', resolve))
    const acknowledged = new Promise((resolve) => slow.once('message', resolve))
    slow.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${player.token}` } }))
    await acknowledged
    slow.pause()
    slow.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: ALL, variables: { after } } }))
    const quick = overSocket(player.token, ALL, { after })
    await until('both are open', async () => (await subscriptions()) === 2)
    const waits: number[] = []
    for (const _ of times(250, String)) {
      const elapsed = startStopwatch()
      await add(player, runId, 1, { scenarioId: 'many', nodeId: 'pass' })
      await quick.next()
      waits.push(elapsed())
    }
    expect(waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.95)]).toBeLessThan(500)
    slow.terminate()
  })

  it('take turns: when one of twenty has replayed its 2,000 events, all others have more than half of theirs', async () => {
    const count = 2_000
    const server = await startGame()
    try {
      const { app, environmentId } = server
      const follow = async (after: bigint) =>
        pull(await app.subscriptions.open({ environmentId, after: at(after), filter: EVERY_EVENT }))
      // An earlier subscription ensures that all events are in memory.
      const first = await follow(0n)
      await app.pool.query(
        `WITH moved AS (UPDATE streams SET position = $2::int, reached_at = now() WHERE environment_id = $1)
         INSERT INTO events (environment_id, position, type, player_id, data)
         SELECT $1, n, 'player.created', gen_random_uuid(), '{}' FROM generate_series(1, $2::int) n`,
        [environmentId, count],
      )
      for (const _ of times(count, String)) await first.next()

      const heard = times(20, () => 0)
      let whenOneHasAll: number[] | undefined
      await Promise.all(
        heard.map(async (_, index) => {
          // Each starts in a turn of its own, as calls do.
          await new Promise((resolve) => setImmediate(resolve))
          const events = await follow(0n)
          for (const _ of times(count, String)) {
            await events.next()
            heard[index] = (heard[index] ?? 0) + 1
          }
          whenOneHasAll ??= [...heard]
          await events.return(undefined)
        }),
      )
      expect(Math.min(...(whenOneHasAll ?? []))).toBeGreaterThan(count / 2)
      await first.return(undefined)
    } finally {
      await server.stop()
    }
  })
})

describe('subscriptions that fell behind together', () => {
  it('read each page of the stream at most once a second', async () => {
    const count = 1_600
    /** The pages that were read, by seconds: pages are kept until the ends of the streams are compared again. */
    const reads: string[][] = []
    const query = (statement: pg.QueryConfig) => {
      if (statement.name === 'stream-ends') reads.push([])
      if (statement.name === 'stream-between') reads.at(-1)?.push(String(statement.values?.slice(1)))
      return game.app.pool.query(statement)
    }
    const { position: start } = await game.app.subscriptions.end(stagingId)
    await fill({ ...game, environmentId: stagingId }, count, { type: 'player.created' })
    const behind = createSubscriptions({
      settle: async () => {},
      pool: { query } as unknown as pg.Pool,
      bus: createLocalBus(),
    })
    const pages = Math.ceil((Number(start) + count) / PAGE) - Math.floor(Number(start) / PAGE)
    await Promise.all(
      times(20, async (index) => {
        const after = start + BigInt(index)
        const events = pull(await behind.open({ environmentId: stagingId, after: at(after), filter: EVERY_EVENT }))
        for (let position = after + 1n; position <= start + BigInt(count); position += 1n) {
          expect((await events.next()).value?.position).toBe(position)
        }
        await events.return(undefined)
      }),
    )
    await behind.close()
    expect(new Set(reads.flat()).size).toBe(pages)
    for (const some of reads) expect(some).toEqual([...new Set(some)])
  })
})

describe('a player that returns to a long stream', () => {
  const OWN = 'subscription ($after: String) { events(after: $after) { cursor } }'

  it('receives its own events once and in order from any cursor, without reads of the events of others', async () => {
    const database = await createDatabase()
    const proxy = await startProxy(database.url)
    const server = await startGame({ DATABASE_URL: proxy.url })
    try {
      const { app, environmentId } = server
      const player = await server.player()
      await settled(app.pool)
      // More than two pages of its own events, each event among nine of others.
      const others = 3_600
      const bytes = 1_000
      const filling = { bytes, type: 'player.created', playerId: player.playerId, every: 10 } as const
      await fill({ databaseUrl: database.url, environmentId }, (others * 10) / 9, filling)
      const own = async (): Promise<string[]> => {
        const { rows } = await app.pool.query(
          'SELECT position, occurred_at FROM events WHERE environment_id = $1 AND player_id = $2 ORDER BY position',
          [environmentId, player.playerId],
        )
        return rows.map((row) => storedCursor(environmentId, row))
      }
      const hear = async (after: string, count: number): Promise<string[]> => {
        const subscriber = server.subscribe(player.token, OWN, { after })
        const events = await subscriber.take(count)
        await subscriber.close()
        return events.map(({ cursor }) => cursor)
      }
      const zero = cursorAt(environmentId, 0n)
      const first = await own()
      const before = proxy.answered
      expect(await hear(zero, first.length)).toEqual(first)
      expect(proxy.answered - before).toBeLessThan((others * bytes) / 2)

      // It returns again and again, also with cursors of other players' events, while all of them play.
      await server.publish('climb', scenario([passNode('pass', { levels: times(150, (xp) => xp), tiers: [] })], []))
      const runId = await player.start('climb')
      let writing = true
      const work = [
        ...times(4, async () => {
          for (; writing; await pause(5)) await app.service.run(createPlayer(environmentId, null))
        }),
        (async () => {
          for (const _ of times(100, String)) {
            expect((await add(player, runId, 1, { scenarioId: 'climb', nodeId: 'pass' })).status).toBe(200)
          }
        })(),
      ]
      const count = first.length + 1 + 100
      const heard = await hear(cursorAt(environmentId, 2_003n), 10)
      const missed = first.indexOf(heard[0] ?? '')
      while (missed + heard.length < count) {
        const some = Math.min(1 + Math.floor(Math.random() * 40), count - missed - heard.length)
        heard.push(...(await hear(heard.at(-1) ?? '', some)))
      }
      writing = false
      await Promise.all(work)
      expect(heard).toEqual((await own()).slice(missed))
      expect(missed).toBe(201)

      await settled(app.pool)
      await app.pool.query('DELETE FROM events WHERE position <= 15')
      const late = server.subscribe(player.token, OWN, { after: cursorAt(environmentId, 14n) })
      expect(await codeOf(late)).toBe('CURSOR_EXPIRED')
      await late.close()
      expect(await hear(cursorAt(environmentId, 15n), 1)).toEqual([first[2]])
    } finally {
      await server.stop()
      await proxy.close()
      await database.drop()
    }
  })
})

describe('lost signals', () => {
  it('delay events until the periodic check, and lose none, when another instance commits without signals', async () => {
    const player = await game.player()
    const after = await endOf()
    const subscriber = overSocket(player.token, ALL, { after })
    await until('it is open', async () => (await subscriptions()) === 1)
    const { runId } = await second.service.run(startRun(player, { scenarioId: 'season' }))
    const elapsed = startStopwatch()
    expect(await subscriber.next()).toMatchObject({ handle: 'onStart', runId })
    expect(elapsed()).toBeLessThan(4_000)

    // Writers on both instances at once: the stream arrives complete.
    const [here, there] = [
      (async () => {
        for (const _ of times(15, String)) await game.player()
      })(),
      (async () => {
        for (const _ of times(15, String)) await second.service.run(createPlayer(game.environmentId, 'Ada'))
      })(),
    ]
    const from = await endOf()
    const all = overSocket(game.platformKey, ALL, { ...production, after: from })
    await Promise.all([here, there])
    const expected = await stored(from)
    expect((await all.take(expected.length)).map(({ cursor }) => cursor)).toEqual(expected)
  })

  it('cause no read of past events when they are noticed before the end of the stream is known', async () => {
    const { app, environmentId } = game
    const reads: unknown[] = []
    const query = (statement: pg.QueryConfig) => {
      reads.push(statement.name)
      return app.pool.query(statement)
    }
    const local = createLocalBus()
    // As when Redis returns, or another instance commits much, while a subscription is opened.
    const bus: Bus = {
      ...local,
      async subscribe(id, listener) {
        listener.gap()
        listener.reaches(1n)
        return local.subscribe(id, listener)
      },
    }
    const opened = createSubscriptions({ settle: async () => {}, pool: { query } as unknown as pg.Pool, bus })
    await game.player()
    await settled(app.pool)
    const events = pull(await opened.open({ environmentId, after: null, filter: EVERY_EVENT }))
    expect(reads).toEqual(['stream-ends'])
    const { playerId } = await game.player()
    expect((await events.next()).value).toMatchObject({ type: 'player.created', playerId })
    await events.return(undefined)
    await opened.close()
  })

  it('cost little while the database does not answer and 60,000 later signals arrive, and all events follow in order', async () => {
    const count = 60_000
    const proxy = await startProxy(game.databaseUrl)
    const pool = createPool({ url: proxy.url, connections: 4, onError: () => undefined })
    const bus = createLocalBus()
    const opened = createSubscriptions({ settle: async () => {}, pool, bus })
    try {
      const start = await opened.end(game.stagingId)
      const events = pull(await opened.open({ environmentId: game.stagingId, after: start, filter: EVERY_EVENT }))
      proxy.pause()
      const rows = await fill({ ...game, environmentId: game.stagingId }, count, { type: 'player.created' })
      const signals: StreamEvent[] = rows.map((row) => ({
        environmentId: game.stagingId,
        position: BigInt(row.position),
        type: row.type,
        handle: null,
        playerId: row.player_id,
        scenarioId: null,
        nodeId: null,
        runId: null,
        byClient: false,
        data: '{"pad":""}',
        occurredAt: row.occurred_at,
        follows: null,
      }))
      // The first signal is lost, so that all others wait.
      const began = performance.now()
      for (const signal of signals.slice(1)) bus.publish([signal])
      expect(performance.now() - began).toBeLessThan(2_000)
      proxy.resume()
      for (const { position } of signals) expect((await events.next()).value?.position).toBe(position)
      await events.return(undefined)
    } finally {
      await opened.close()
      proxy.cut()
      await pool.end()
      await proxy.close()
    }
  })
})
