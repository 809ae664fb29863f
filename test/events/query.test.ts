import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { dropPartitions, makePartitions } from '../../src/db/partitions.ts'
import { purgeFirstEvents } from '../../src/events/retention.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, type TestPlayer, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'
import { cursorAt as cursorOf, storedCursor, untimed } from './cursors.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
type Event = any

interface Connection {
  readonly edges: readonly { readonly cursor: string; readonly node: Event }[]
  readonly pageInfo: {
    readonly startCursor: string
    readonly endCursor: string
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
  }
}

type Args = Readonly<Record<string, unknown>>

const NODE = `__typename cursor type occurredAt playerId scenarioId nodeId runId handle data
  ... on LevelUpEvent { fromLevel toLevel xp source } ... on MaxLevelEvent { level }
  ... on PremiumPurchaseEvent { price { currency amount } } ... on PlayerCreatedEvent { nickname provider }`
const FILTERS = `$environment: String, $types: [EventType!], $handles: [String!], $scenarioId: String, $nodeId: String,
  $playerId: ID, $after: String`
const NARROWED = `environment: $environment, types: $types, handles: $handles, scenarioId: $scenarioId, nodeId: $nodeId,
  playerId: $playerId, after: $after`
const HISTORY = `query (${FILTERS}, $from: DateTime, $to: DateTime, $first: Int, $last: Int, $before: String) {
  events(${NARROWED}, from: $from, to: $to, first: $first, last: $last, before: $before) {
    edges { cursor node { ${NODE} } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`
const LIVE = `subscription (${FILTERS}) { events(${NARROWED}) { ${NODE} } }`
const production = { environment: 'production' }
const DAY_MS = 86_400_000

let game: Game
let a: TestPlayer
let b: TestPlayer
let otherKey: string
/** The history of the game once `beforeAll` has played it. */
let played: readonly Event[]

const query = ({ platformKey }: Game, args: Args, key = platformKey): Promise<GraphqlAnswer> =>
  ofGame(game, key, { ...production, ...args })
const ofGame = (server: Game, key: string, args: Args): Promise<GraphqlAnswer> => server.graphql(key, HISTORY, args)

async function read(server: Game, args: Args = {}, key = server.platformKey): Promise<Connection> {
  const answer = await ofGame(server, key, { ...production, ...args })
  if (answer.errors) throw new Error(JSON.stringify(answer.errors))
  return answer.data.events
}

const codeOf = ({ errors }: GraphqlAnswer): string => errors?.[0]?.extensions.code ?? 'none'
const nodesOf = ({ edges }: Connection): Event[] => edges.map(({ node }) => node)
const cursorsOf = ({ edges }: Connection): string[] => edges.map(({ cursor }) => cursor)
const cursorAt = ({ environmentId }: Game, position: number | bigint): string => cursorOf(environmentId, position)

/** The events of a page and of all further pages in its direction, in ascending order. */
async function readAll(server: Game, args: Args, key = server.platformKey): Promise<Event[]> {
  const backwards = typeof args.last === 'number'
  const pages: Event[][] = []
  for (let bound: Args = {}; ; ) {
    const page = await read(server, { ...args, ...bound }, key)
    if (backwards) pages.unshift(nodesOf(page))
    else pages.push(nodesOf(page))
    const { hasNextPage, hasPreviousPage, startCursor, endCursor } = page.pageInfo
    if (!(backwards ? hasPreviousPage : hasNextPage)) return pages.flat()
    bound = backwards ? { before: startCursor } : { after: endCursor }
  }
}

/** The events table as cursors, in the order of the stream. */
async function stored({ app, environmentId }: Game): Promise<string[]> {
  await settled(game.app.pool)
  const { rows } = await app.pool.query(
    'SELECT position, occurred_at FROM events WHERE environment_id = $1 ORDER BY position',
    [environmentId],
  )
  return rows.map((row) => storedCursor(environmentId, row))
}

/** Writes one event for each of these times directly to the database, as the service would have. */
async function write({ app, environmentId }: Game, moments: readonly Date[]): Promise<void> {
  await app.pool.query(
    `WITH moved AS (
       INSERT INTO streams AS s (environment_id, position, reached_at)
       VALUES ($1, cardinality($2::timestamptz[]), ($2::timestamptz[])[cardinality($2::timestamptz[])])
       ON CONFLICT (environment_id) DO UPDATE SET position = s.position + excluded.position,
         reached_at = excluded.reached_at
       RETURNING position
     )
     INSERT INTO events (environment_id, position, type, player_id, data, occurred_at)
     SELECT $1, position - cardinality($2::timestamptz[]) + n, 'player.created', gen_random_uuid(), '{}', at
     FROM moved, unnest($2::timestamptz[]) WITH ORDINALITY AS m(at, n)`,
    [environmentId, moments],
  )
}

async function withGame(use: (server: Game) => Promise<void>): Promise<void> {
  const server = await startGame()
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
  await game.publish(
    'two',
    scenario([passNode('a'), passNode('b', { tiers: [tier(1, 'free', [gold(1), item('x')])] })], []),
  )
  const other = await createProject(game.app.pool, { name: 'Other', environments: ['production', 'elsewhere'] })
  otherKey = (await createPlatformKey(game.app.pool, other.projectId, 'admin')).key
  ;[a, b] = [await game.player({ wallet: { gems: 950n } }), await game.player()]
  for (const player of [a, b, await game.player(), await game.player()]) {
    const runId = await player.start('season')
    const pass = { scenarioId: 'season', nodeId: 'pass', runId }
    for (const amount of [100, 50, 2n ** 60n]) {
      await player.post('/sdk/v1/battlepass/xp', { ...pass, amount, source: 'quest' })
    }
    if (player === a) await player.post('/sdk/v1/battlepass/premium', pass)
    const two = { scenarioId: 'two', runId: await player.start('two') }
    for (const nodeId of ['a', 'b']) {
      await player.post('/sdk/v1/battlepass/xp', { ...two, nodeId, amount: 400, source: '' })
      await player.post('/sdk/v1/battlepass/claim', { ...two, nodeId, level: 1, track: 'free' })
    }
  }
  // Known times, with microseconds as in Postgres. Some events share a time.
  await game.app.pool.query(
    "UPDATE events SET occurred_at = now() - interval '1 day' + (position / 3) * interval '7 minutes 1 microsecond'",
  )
  await game.app.pool.query(
    `UPDATE streams s SET reached_at = e.occurred_at FROM events e
     WHERE e.environment_id = s.environment_id AND e.position = s.position`,
  )
  played = await readAll(game, { first: 200 })
})
afterAll(() => game?.stop())

describe('the history of a stream (contract 14)', () => {
  it('has every event once, in the order of the stream, with the cursors of the stream', async () => {
    const page = await read(game, { first: 200 })
    expect(played.length).toBeGreaterThan(30)
    expect(cursorsOf(page)).toEqual(await stored(game))
    expect(cursorsOf(page)).toEqual(nodesOf(page).map(({ cursor }) => cursor))
    expect(page.pageInfo).toEqual({
      startCursor: page.edges[0]?.cursor,
      endCursor: page.edges.at(-1)?.cursor,
      hasNextPage: false,
      hasPreviousPage: false,
    })
    expect(page.pageInfo.endCursor).toBe(
      (await game.graphql(game.platformKey, '{ streamCursor(environment: "production") }')).data.streamCursor,
    )
  })

  it('has each event exactly as a subscription sends it', async () => {
    const live = game.subscribe(game.platformKey, LIVE, { ...production, after: cursorAt(game, 0) })
    expect(await live.take(played.length)).toEqual(played)
    await live.close()
    const types = new Set(played.map(({ __typename }) => __typename))
    expect([...types].sort()).toEqual([
      'CompleteEvent',
      'HandleCrossedEvent',
      'LevelUpEvent',
      'MaxLevelEvent',
      'PlayerCreatedEvent',
      'PremiumPurchaseEvent',
    ])
  })

  it('has pages of 20 events by default and of up to 200, from either end, always in ascending order', async () => {
    const at = (from: number, to?: number) => played.slice(from, to)
    expect(nodesOf(await read(game))).toEqual(at(0, 20))
    expect(nodesOf(await read(game, { first: 1 }))).toEqual(at(0, 1))
    expect(nodesOf(await read(game, { first: 200 }))).toEqual(at(0, 200))
    expect(nodesOf(await read(game, { last: 20 }))).toEqual(at(-20))
    expect(nodesOf(await read(game, { last: 1 }))).toEqual(at(-1))
    expect(nodesOf(await read(game, { last: 200 }))).toEqual(played)
    // Bounded by cursors on either side, from either end.
    const between = { after: played[4].cursor, before: played[15].cursor }
    expect(nodesOf(await read(game, between))).toEqual(at(5, 15))
    expect(nodesOf(await read(game, { ...between, first: 3 }))).toEqual(at(5, 8))
    expect(nodesOf(await read(game, { ...between, last: 3 }))).toEqual(at(12, 15))
    expect(nodesOf(await read(game, { before: played[25].cursor }))).toEqual(at(5, 25))
    expect(nodesOf(await read(game, { after: played[4].cursor, last: 3 }))).toEqual(at(-3))
    expect(nodesOf(await read(game, { before: played[15].cursor, first: 3 }))).toEqual(at(0, 3))
    expect(nodesOf(await read(game, { after: played[4].cursor, before: played[3].cursor }))).toEqual([])
  })

  it('of a stream without events is empty, and has an endCursor to continue from', async () => {
    for (const size of [{}, { first: 5 }, { last: 5 }]) {
      const { edges, pageInfo } = await read(game, { environment: 'staging', ...size })
      expect(edges).toEqual([])
      expect(pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false })
      expect(pageInfo.endCursor).toBe(cursorOf(game.stagingId, 0n))
    }
  })
})

describe('paging through a history (contract 14)', () => {
  /** Runs beside four writers that create some hundred players a second. */
  async function whileWriting<T>(server: Game, use: () => Promise<T>): Promise<T> {
    let writing = true
    const writers = times(4, async () => {
      for (; writing; await pause(5)) await server.app.service.run(createPlayer(server.environmentId, null))
    })
    try {
      return await use()
    } finally {
      writing = false
      await Promise.all(writers)
    }
  }

  it('returns every event once and in order while events are written, forwards to a moving end', () =>
    withGame(async (server) => {
      const seen = await whileWriting(server, async () => {
        const cursors: string[] = []
        for (let after: string | null = null; cursors.length < 400; ) {
          const page = await read(server, { first: 7, after })
          cursors.push(...cursorsOf(page))
          // An empty page, too, has a cursor to continue from.
          after = page.pageInfo.endCursor
        }
        return cursors
      })
      expect(seen).toEqual((await stored(server)).slice(0, seen.length))
    }))

  it('returns every event once and in order while events are written, backwards from the latest to the first', () =>
    withGame(async (server) => {
      await write(server, Array<Date>(400).fill(new Date()))
      const seen = await whileWriting(server, () => readAll(server, { last: 7 }))
      const cursors = seen.map(({ cursor }) => cursor)
      expect(cursors.length).toBeGreaterThanOrEqual(400)
      expect(cursors).toEqual((await stored(server)).slice(0, cursors.length))
    }))

  it('says correctly whether there are more pages in its direction, at every page size', async () => {
    const few = played.slice(0, 12)
    const before = played[12].cursor
    for (const size of times(13, (index) => index + 1)) {
      const forwards = await read(game, { first: size, before })
      expect([size, nodesOf(forwards)]).toEqual([size, few.slice(0, size)])
      expect([size, forwards.pageInfo.hasNextPage]).toEqual([size, size < 12])
      const backwards = await read(game, { last: size, before })
      expect([size, nodesOf(backwards)]).toEqual([size, few.slice(-size)])
      expect([size, backwards.pageInfo.hasPreviousPage]).toEqual([size, size < 12])
    }
  })
})

describe('the filters of a history', () => {
  const handles = ['onStart', 'onLevelUp', 'onMaxLevel', 'onComplete', 'onPremiumPurchase', 'onNothing']
  const time = ({ occurredAt }: Event) => Date.parse(occurredAt)

  /** The filter, written in JavaScript. */
  function keeps(args: Args): (event: Event) => boolean {
    const { types, handles: named, scenarioId, nodeId, playerId, from, to } = args as Record<string, Event>
    return (event) =>
      (!types || types.includes(event.type)) &&
      (!named || named.includes(event.handle)) &&
      (!scenarioId || event.scenarioId === scenarioId) &&
      (!nodeId || event.nodeId === nodeId) &&
      (!playerId || event.playerId === playerId.toLowerCase()) &&
      (!from || time(event) >= Date.parse(from)) &&
      (!to || time(event) < Date.parse(to))
  }

  it('each alone select what the same filter in JavaScript selects', async () => {
    const filters: Args[] = [
      { types: ['PLAYER_CREATED'] },
      { types: ['CROSSING'] },
      { types: ['CROSSING', 'PLAYER_CREATED'] },
      ...handles.map((handle) => ({ handles: [handle] })),
      { handles: ['onMaxLevel', 'onStart'] },
      { scenarioId: 'season' },
      { scenarioId: 'two' },
      { nodeId: 'pass' },
      { nodeId: 'b' },
      { playerId: a.playerId },
      { playerId: b.playerId.toUpperCase() },
    ]
    for (const filter of filters) {
      const expected = played.filter(keeps(filter))
      if (!filter.handles || !JSON.stringify(filter).includes('onNothing')) expect(expected.length).toBeGreaterThan(0)
      expect([filter, await readAll(game, { ...filter, first: 3 })]).toEqual([filter, expected])
      expect([filter, await readAll(game, { ...filter, last: 4 })]).toEqual([filter, expected])
    }
    for (const none of [{ scenarioId: 'none' }, { nodeId: 'Pass' }]) {
      expect([none, nodesOf(await read(game, none))]).toEqual([none, []])
    }
  })

  it('combined in any way select what the same filter in JavaScript selects, from either end', async () => {
    const some = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined, freq: 1 })
    const moments = played.flatMap((event) => [-1, 0, 1].map((offset) => new Date(time(event) + offset).toISOString()))
    const anyFilter = fc.record({
      types: fc.option(fc.subarray(['CROSSING', 'PLAYER_CREATED'], { minLength: 1 }), { nil: undefined }),
      handles: fc.option(fc.subarray(handles, { minLength: 1 }), { nil: undefined }),
      scenarioId: some('season', 'two'),
      nodeId: some('pass', 'a', 'b', 'start'),
      playerId: some(a.playerId, b.playerId.toUpperCase()),
      from: some(...moments),
      to: some(...moments),
    })
    const anyPage = fc.record({ size: fc.integer({ min: 4, max: 50 }), backwards: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(anyFilter, anyPage, async (filter, { size, backwards }) => {
        const args = { ...filter, [backwards ? 'last' : 'first']: size }
        if (filter.from && filter.to && filter.from >= filter.to) {
          expect(codeOf(await query(game, args))).toBe('INVALID_REQUEST')
        } else {
          expect(await readAll(game, args)).toEqual(played.filter(keeps(filter)))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('include `from` and exclude `to`, to the millisecond', async () => {
    for (const occurredAt of new Set(played.map((event): string => event.occurredAt))) {
      const later = new Date(Date.parse(occurredAt) + 1).toISOString()
      const same = played.filter((event) => event.occurredAt === occurredAt)
      expect(nodesOf(await read(game, { from: occurredAt, to: later }))).toEqual(same)
      expect(await readAll(game, { from: occurredAt, first: 200 })).toEqual(played.filter(keeps({ from: occurredAt })))
      expect(await readAll(game, { to: occurredAt, last: 200 })).toEqual(played.filter(keeps({ to: occurredAt })))
    }
    // The same moment with another offset.
    const [, middle] = [played[0], played[20]]
    const expected = nodesOf(await read(game, { from: middle.occurredAt }))
    const inBerlin = new Date(Date.parse(middle.occurredAt) + 3_600_000).toISOString().replace('Z', '+01:00')
    expect(nodesOf(await read(game, { from: inBerlin }))).toEqual(expected)
    expect(nodesOf(await read(game, { from: '1970-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' }))).toEqual(
      played.slice(0, 20),
    )
    for (const beside of [{ to: '1970-01-01T00:00:00Z' }, { from: '9999-12-31T23:59:59Z' }]) {
      expect(nodesOf(await read(game, beside))).toEqual([])
    }
  })
})

describe('a request for a history', () => {
  async function faultsOf(args: Args): Promise<unknown> {
    const { errors } = await query(game, args)
    return [errors?.[0]?.extensions.code ?? 'none', errors?.[0]?.extensions.details]
  }
  const invalid = (path: string) => ['INVALID_REQUEST', [{ path, message: expect.any(String) }]]

  it('is refused with a time that is not a date and time of RFC 3339', async () => {
    const junk = [
      '',
      'yesterday',
      '1',
      '2026',
      '2026-12-01',
      '2026-12-01T00:00:00',
      '12/01/2026',
      'Tue Dec 01 2026',
      '2026-02-30T00:00:00Z',
      '2026-12-01T25:00:00Z',
      '-271821-04-20T00:00:00.000Z',
      '+275760-09-13T00:00:00.000Z',
    ]
    for (const moment of junk) {
      for (const args of [{ from: moment }, { to: moment }]) {
        expect([args, codeOf(await query(game, args))]).toEqual([args, 'INVALID_REQUEST'])
      }
    }
  })

  it('is refused with cursors of another stream and of the future as CURSOR_EXPIRED', async () => {
    expect(codeOf(await query(game, { after: cursorOf(game.stagingId, 1n) }))).toBe('CURSOR_EXPIRED')
    expect(codeOf(await query(game, { before: cursorOf(game.stagingId, 1n) }))).toBe('CURSOR_EXPIRED')
    expect(codeOf(await query(game, { after: cursorAt(game, 10n ** 12n) }))).toBe('CURSOR_EXPIRED')
    expect(codeOf(await query(game, { after: cursorAt(game, played.length + 1) }))).toBe('CURSOR_EXPIRED')
    expect(nodesOf(await read(game, { after: cursorAt(game, played.length) }))).toEqual([])
  })

  it('is refused with invalid ids and handles, and is empty for a handle and for ids that no event has', async () => {
    const bad: [Args, string][] = [
      [{ scenarioId: '\0' }, 'scenarioId'],
      [{ scenarioId: '' }, 'scenarioId'],
      [{ nodeId: 'x'.repeat(129) }, 'nodeId'],
      [{ playerId: 'ada' }, 'playerId'],
      [{ handles: times(101, (n) => `h${n}`) }, 'handles'],
      [{ handles: [] }, 'handles'],
      [{ types: [] }, 'types'],
      [{ handles: ['on level up'] }, 'handles[0]'],
      [{ handles: ['onStart', ''] }, 'handles[1]'],
      [{ handles: ['h'.repeat(65)] }, 'handles[0]'],
      [{ handles: ['onStart', '\0'] }, 'handles[1]'],
      [{ handles: ['\ud800', 'onStart'] }, 'handles[0]'],
    ]
    for (const [args, path] of bad) expect([args, await faultsOf(args)]).toEqual([args, invalid(path)])
    const starts = await readAll(game, { handles: ['onStart'], first: 200 })
    expect(nodesOf(await read(game, { handles: ['onNothing'] }))).toEqual([])
    expect(await readAll(game, { handles: ['onStart', 'onNothing'], first: 200 })).toEqual(starts)
    for (const unknown of [{ scenarioId: 'none' }, { nodeId: 'none' }, { playerId: randomUUID() }])
      expect([unknown, nodesOf(await read(game, unknown))]).toEqual([unknown, []])
    expect(codeOf(await query(game, { types: ['other'] }))).toBe('INVALID_REQUEST')
  })
})

describe('access to a history (contract 5, 8)', () => {
  it('lets a platform key of any role read its own project, and requires the environment', async () => {
    for (const role of ['viewer', 'operator', 'admin'] as const) {
      expect(await readAll(game, { first: 200 }, await game.key(role))).toEqual(played)
    }
    const ask = (key: string, args: Args) => ofGame(game, key, args)
    expect((await ask(game.platformKey, {})).errors?.[0]?.extensions).toEqual({
      code: 'INVALID_REQUEST',
      details: [{ path: 'environment', message: 'is required' }],
    })
    expect(codeOf(await ask(game.platformKey, { environment: 'elsewhere' }))).toBe('ENVIRONMENT_NOT_FOUND')
    expect(codeOf(await ask(otherKey, { environment: 'staging' }))).toBe('ENVIRONMENT_NOT_FOUND')
    expect((await ask(otherKey, production)).data.events.edges).toEqual([])
    expect((await ask(otherKey, { ...production, playerId: a.playerId })).data.events.edges).toEqual([])
    expect(codeOf(await ask(otherKey, { ...production, after: played[0].cursor }))).toBe('CURSOR_EXPIRED')
  })
})

describe('a subscription from the end of a history', () => {
  it('loses and repeats nothing in sixty rounds of concurrent writes (contract 14)', () =>
    withGame(async (server) => {
      let writing = true
      const writers = times(4, async () => {
        for (; writing; await pause(5)) await server.app.service.run(createPlayer(server.environmentId, null))
      })
      const rounds: string[][] = []
      for (const index of times(60, Number)) {
        const { edges, pageInfo } = await read(server, { last: 1 + (index % 7) })
        const live = server.subscribe(server.platformKey, LIVE, { ...production, after: pageInfo.endCursor })
        const heard = await live.take(1 + (index % 5))
        await live.close()
        rounds.push([...edges.map(({ cursor }) => cursor), ...heard.map(({ cursor }) => cursor)])
      }
      writing = false
      await Promise.all(writers)
      const all = await stored(server)
      for (const seen of rounds) {
        const first = all.indexOf(seen[0] ?? '')
        expect(seen).toEqual(all.slice(first, first + seen.length))
      }
      expect(new Set(rounds.map((seen) => seen.at(-1))).size).toBeGreaterThan(45)
    }))

  it('receives all later events when the history is empty', async () => {
    for (const _ of times(5, String)) {
      const player = await game.player()
      const narrowed = { ...production, playerId: player.playerId, handles: ['onStart', 'onLevelUp'] }
      const { edges, pageInfo } = await read(game, { ...narrowed, last: 50 })
      expect(edges).toEqual([])
      // Before the subscription is opened, so that the event has to be replayed.
      const runId = await player.start('season')
      const live = game.subscribe(game.platformKey, LIVE, { ...narrowed, after: pageInfo.endCursor })
      expect(await live.next()).toMatchObject({ handle: 'onStart', runId })
      const pass = { scenarioId: 'season', nodeId: 'pass', runId }
      await player.post('/sdk/v1/battlepass/xp', { ...pass, amount: 100, source: 'quest' })
      expect(await live.next()).toMatchObject({ handle: 'onLevelUp', toLevel: 2 })
      await live.close()
    }
  })
})

describe('retention (contract 14)', () => {
  const long = (count: number, days: number): Date[] => Array<Date>(count).fill(new Date(Date.now() - days * DAY_MS))

  it('removes the older events only, and returns how many', () =>
    withGame(async (server) => {
      await write(server, [...long(30, 31), ...long(20, 29)])
      expect(await purgeFirstEvents(server.app.pool, 32)).toBe(0)
      expect(await purgeFirstEvents(server.app.pool, 30)).toBe(30)
      expect((await stored(server)).map(untimed)).toEqual(times(20, (index) => cursorAt(server, index + 31)))
      expect(await readAll(server, { last: 7 })).toHaveLength(20)
      expect(await purgeFirstEvents(server.app.pool, 30)).toBe(0)
      expect(await purgeFirstEvents(server.app.pool, 28)).toBe(20)
    }))

  it('removes a bounded number of events of each stream at a time, the oldest first', () =>
    withGame(async (server) => {
      const count = 6_000
      await write(server, long(count, 40))
      await write({ ...server, environmentId: server.stagingId }, [...long(3, 40), ...long(2, 1)])
      const rounds: number[] = []
      do {
        rounds.push(await purgeFirstEvents(server.app.pool, 30))
        const left = (await stored(server)).map(untimed)
        expect(left).toEqual(times(left.length, (index) => cursorAt(server, count - left.length + index + 1)))
      } while (rounds.at(-1) !== 0)
      expect(rounds.reduce((sum, count) => sum + count, 0)).toBe(6_003)
      expect(Math.max(...rounds)).toBeLessThanOrEqual(5_003)
      expect(cursorsOf(await read(server, { environment: 'staging' })).map(untimed)).toEqual([
        cursorOf(server.stagingId, 4n),
        cursorOf(server.stagingId, 5n),
      ])
    }))

  it('expires a cursor whose next event was removed, in a history and in a subscription, but not the next cursor', () =>
    withGame(async (server) => {
      await write(server, [...long(10, 31), ...long(10, 1)])
      await purgeFirstEvents(server.app.pool, 30)
      const subscribed = async (after: string) => {
        const live = server.subscribe(server.platformKey, LIVE, { ...production, after })
        try {
          return (await live.next()).cursor
        } catch (error) {
          return (error as { errors: GraphqlAnswer['errors'] }).errors?.[0]?.extensions.code
        } finally {
          await live.close()
        }
      }
      for (const gone of [0, 1, 9]) {
        const after = cursorAt(server, gone)
        expect([gone, codeOf(await ofGame(server, server.platformKey, { ...production, after }))]).toEqual([
          gone,
          'CURSOR_EXPIRED',
        ])
        expect([gone, await subscribed(after)]).toEqual([gone, 'CURSOR_EXPIRED'])
      }
      const kept = await stored(server)
      expect(kept.map(untimed)).toEqual(times(10, (index) => cursorAt(server, 11 + index)))
      expect(cursorsOf(await read(server, { after: cursorAt(server, 10) }))).toEqual(kept)
      expect(await subscribed(cursorAt(server, 10))).toBe(kept[0])
      // Paging backwards ends at the oldest kept event.
      expect((await readAll(server, { last: 3 })).map(({ cursor }) => cursor)).toEqual(kept)
      expect(cursorsOf(await read(server, { before: cursorAt(server, 5) }))).toEqual([])
      expect(cursorsOf(await read(server, { from: '2020-01-01T00:00:00Z' }))).toEqual(kept)
    }))

  it('drops a partition: its cursors expire, and the others are read across partitions without a gap', () =>
    withGame(async (server) => {
      const { pool } = server.app
      const now = Date.now()
      await pool.query(`ALTER TABLE events DETACH PARTITION events_first;
        ALTER TABLE events ATTACH PARTITION events_first
          FOR VALUES FROM (MINVALUE) TO ('${new Date(now - 35 * DAY_MS).toISOString()}')`)
      const table = { name: 'events', key: 'occurred_at', every: 'week' } as const
      expect((await makePartitions(pool, table, new Date(now))).length).toBeGreaterThan(8)
      await write(server, [...long(10, 40), ...long(10, 20), ...long(10, 1)])
      const all = times(30, (index) => cursorAt(server, index + 1))
      expect((await readAll(server, { first: 7 })).map(({ cursor }) => untimed(cursor))).toEqual(all)
      expect((await readAll(server, { last: 7 })).map(({ cursor }) => untimed(cursor))).toEqual(all)

      expect(await dropPartitions(pool, table, new Date(now - 30 * DAY_MS))).toContain('events_first')
      expect(codeOf(await ofGame(server, server.platformKey, { ...production, after: all[8] }))).toBe('CURSOR_EXPIRED')
      expect(cursorsOf(await read(server, { after: all[9], first: 50 })).map(untimed)).toEqual(all.slice(10))
      const live = server.subscribe(server.platformKey, LIVE, { ...production, after: all[9] })
      expect((await live.take(20)).map(({ cursor }) => untimed(cursor))).toEqual(all.slice(10))
      await live.close()
    }))

  it('lets a client whose cursor expired read all kept events, page by page, and then live', () =>
    withGame(async (server) => {
      await write(server, [...long(300, 31), ...long(500, 1)])
      await purgeFirstEvents(server.app.pool, 30)
      const late = cursorAt(server, 7)
      expect(codeOf(await ofGame(server, server.platformKey, { ...production, after: late }))).toBe('CURSOR_EXPIRED')
      const caughtUp: string[] = []
      for (let page = await read(server, { first: 200 }); ; ) {
        caughtUp.push(...cursorsOf(page))
        await server.app.service.run(createPlayer(server.environmentId, null))
        if (!page.pageInfo.hasNextPage) break
        page = await read(server, { first: 200, after: page.pageInfo.endCursor })
      }
      const live = server.subscribe(server.platformKey, LIVE, { ...production, after: caughtUp.at(-1) })
      caughtUp.push((await live.next()).cursor)
      await live.close()
      expect(caughtUp).toEqual(await stored(server))
    }))

  it('of all events keeps the end of the stream, from which a subscription continues', () =>
    withGame(async (server) => {
      await write(server, long(10, 31))
      await purgeFirstEvents(server.app.pool, 30)
      const { edges, pageInfo } = await read(server, { last: 50 })
      expect([edges, untimed(pageInfo.endCursor)]).toEqual([[], cursorAt(server, 10)])
      expect(nodesOf(await read(server, { from: new Date(0).toISOString() }))).toEqual([])
      const live = server.subscribe(server.platformKey, LIVE, { ...production, after: pageInfo.endCursor })
      const { playerId } = await server.app.service.run(createPlayer(server.environmentId, null))
      const next = await live.next()
      expect([untimed(next.cursor), next.playerId]).toEqual([cursorAt(server, 11), playerId])
      await live.close()
    }))

  it('causes no gap in a page or a range of time that is read meanwhile', () =>
    withGame(async (server) => {
      const count = 1_600
      const start = Date.now() - 20 * DAY_MS
      await write(
        server,
        times(count, (index) => new Date(start + index * 1_000)),
      )
      let edge = 0
      let answered = 0
      const purging = (async () => {
        for (; edge < count - 400; edge += 20) {
          await server.app.pool.query(
            "UPDATE events SET occurred_at = occurred_at - interval '60 days' WHERE position BETWEEN $1 AND $2",
            [edge + 1, edge + 20],
          )
          await purgeFirstEvents(server.app.pool, 30)
          const before = answered
          await until('another page is read', () => answered > before)
        }
      })()
      const wrong: unknown[] = []
      const readers = times(6, async (reader) => {
        while (edge < count - 400) {
          const position = edge + ((reader * 7 + answered) % 45)
          if (reader % 2 === 0) {
            const { data, errors } = await ofGame(server, server.platformKey, {
              ...production,
              after: cursorAt(server, position),
              first: 3,
            })
            if (errors?.[0]?.extensions.code === 'CURSOR_EXPIRED') continue
            const cursors = data ? cursorsOf(data.events).map(untimed) : errors
            const expected = [1, 2, 3].map((step) => cursorAt(server, position + step))
            if (JSON.stringify(cursors) !== JSON.stringify(expected)) wrong.push({ position, cursors })
          } else {
            // Well after the edge, so that its events are mostly still there.
            const at = Math.min(position + 300, count - 1)
            const from = new Date(start + at * 1_000).toISOString()
            const { data, errors } = await ofGame(server, server.platformKey, { ...production, from, first: 1 })
            const [cursor] = data ? cursorsOf(data.events).map(untimed) : [JSON.stringify(errors)]
            // While this call waited, its event may have been removed.
            if (at < edge + 20) continue
            if (cursor !== cursorAt(server, at + 1)) wrong.push({ from: at, cursor })
          }
          answered += 1
        }
      })
      await Promise.all([purging, ...readers])
      expect(answered).toBeGreaterThan(50)
      expect([wrong.length, wrong.slice(0, 3)]).toEqual([0, []])
    }))
})
