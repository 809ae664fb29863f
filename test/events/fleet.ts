import { WebSocket } from 'ws'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { createTokens, type Tokens } from '../../src/callers/tokens.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { passNode, scenario } from '../harness/definitions.ts'
import { type GraphqlAnswer, times } from '../harness/game.ts'
import { type RedisServer, startRedis } from '../harness/redis.ts'
import {
  buildService,
  createWorld,
  post,
  type Service,
  type ServiceAnswer,
  startService,
  stopService,
  type World,
  type WorldPlayer,
} from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'
import { cursorAt, positionOf } from './cursors.ts'

const METRICS_TOKEN = 'the-metrics-of-tests'
const LEVELS = 1_000
const CASCADE = 100
const DEADLINE_MS = 30_000

/** Instances of the built service, on one database and one Redis that belong to the test. */
export interface Fleet {
  readonly world: World
  readonly redis: RedisServer
  readonly databaseUrl: string
  readonly environmentId: string
  readonly projectId: string
  /** An admin's. */
  readonly platformKey: string
  readonly tokens: Tokens
  start(env?: Readonly<Record<string, string>>): Promise<Service>
  /** A player in a season where each point of xp is a level, and so an event. */
  climber(): Promise<WorldPlayer>
  publishCascade(): Promise<void>
  cursorAt(position: number): string
  /** The last position of the stream. */
  end(): Promise<number>
  /** The positions in the database after this one. */
  stored(after?: number): Promise<number[]>
  close(): Promise<void>
}

/** Builds the service, and creates what its instances share. Starts none. The fleet drops its database. */
export async function createFleet(given?: Pick<TestDatabase, 'url' | 'drop'>): Promise<Fleet> {
  await buildService()
  const database = given ?? (await createDatabase())
  const redis = await startRedis()
  const world = await createWorld(database.url)
  const { pool, environmentId } = world
  const services: Service[] = []
  await world.publish('climb', scenario([passNode('pass', { levels: times(LEVELS, (xp) => xp), tiers: [] })], []))
  const { rows } = await pool.query<{ project_id: string }>('SELECT project_id FROM environments WHERE id = $1', [
    environmentId,
  ])
  const projectId = rows[0]?.project_id ?? ''
  const env = {
    ...world.env,
    REDIS_URL: redis.url,
    METRICS_TOKEN,
    // The operators of tests are on loopback.
    WEBHOOK_PRIVATE_ADDRESSES: 'allow',
  }

  return {
    world,
    redis,
    databaseUrl: database.url,
    environmentId,
    projectId,
    platformKey: (await createPlatformKey(pool, projectId, 'admin')).key,
    tokens: await createTokens({ keys: JSON.parse(world.env.TOKEN_KEYS), issuer: 'tierway', audience: 'tierway' }),
    async start(more = {}) {
      const service = await startService({ ...env, ...more })
      services.push(service)
      return service
    },
    climber: () => world.player('climb'),
    publishCascade() {
      const gifts = times(CASCADE - 1, (index) => `gift-${index}`)
      const data = { rewards: [{ currency: 'gold', amount: 1 }] }
      return world.publish(
        'cascade',
        scenario(
          gifts.map((id) => ({ id, type: 'reward', data })),
          gifts.map((to) => ({ from: 'start', handle: 'onStart', to })),
        ),
      )
    },
    cursorAt: (position) => cursorAt(environmentId, BigInt(position)),
    async end() {
      await settled(world.pool)
      const { rows } = await pool.query<{ position: string }>(
        'SELECT position FROM streams WHERE environment_id = $1',
        [environmentId],
      )
      return Number(rows[0]?.position ?? 0)
    },
    async stored(after = 0) {
      await settled(world.pool)
      const { rows } = await pool.query<{ position: string }>(
        'SELECT position FROM events WHERE environment_id = $1 AND position > $2 ORDER BY position',
        [environmentId, after],
      )
      return rows.map(({ position }) => Number(position))
    },
    async close() {
      await Promise.all(services.map(stopService))
      await world.close()
      await redis.remove()
      await database.drop()
    },
  }
}

/** One level up: one event. */
export const climb = (
  service: Service,
  player: WorldPlayer,
  headers?: Record<string, string>,
): Promise<ServiceAnswer> =>
  post(
    service,
    '/sdk/v1/battlepass/xp',
    player.token,
    { scenarioId: 'climb', nodeId: 'pass', runId: player.runId, amount: 1, source: 'climb' },
    headers,
  )

/** One call that causes many events: `onStart`, and `onComplete` of the nodes `gift-0` to `gift-98`. */
export const cascade = (service: Service, player: WorldPlayer): Promise<ServiceAnswer> =>
  post(service, '/sdk/v1/scenarios/start', player.token, { scenarioId: 'cascade' })
cascade.events = CASCADE

/** The sum of a metric over its labels. */
export async function metric({ baseUrl }: Service, name: string): Promise<number> {
  const response = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  const lines = (await response.text()).split('\n')
  const values = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

export interface Health {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any
}

export async function ready({ baseUrl }: Service): Promise<Health> {
  const response = await fetch(`${baseUrl}/readyz`)
  return { status: response.status, body: await response.json() }
}

/** Waits until an instance has this many subscriptions open. */
export const subscribed = (service: Service, count: number): Promise<void> =>
  until(`${count} subscriptions are open`, async () => (await metric(service, 'tierway_subscriptions')) === count)

export async function graphql(
  { baseUrl }: Service,
  token: string,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<GraphqlAnswer> {
  const response = await fetch(`${baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  })
  return (await response.json()) as GraphqlAnswer
}

export const CURSORS = `subscription ($environment: String, $after: String) {
  events(environment: $environment, after: $after) { cursor } }`

export interface Ask {
  /** A player's access token or a platform key. */
  readonly token?: string
  readonly sdkKey?: string
  /** A subscription whose events have a `cursor`, by default nothing else. Null opens a socket without an operation. */
  readonly query?: string | null
  readonly variables?: Record<string, unknown>
  /** Over server-sent events: the cursor from which a broken stream continues. */
  readonly lastEventId?: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
  readonly onEvent?: (event: any) => void
}

/** A subscriber over either protocol. */
export interface Listener {
  /** The positions of the received events, in order of arrival. */
  readonly positions: readonly number[]
  /** Waits until this many events have arrived. */
  heard(count: number): Promise<void>
  /** The errors that came instead of events. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into errors of every shape.
  readonly errors: readonly any[]
  /** How it ended. A stream of server-sent events has code 0 and no reason. */
  readonly closed: { readonly code: number; readonly reason: string } | undefined
  /** Breaks the connection without a closing handshake. */
  terminate(): void
}

export interface SocketListener extends Listener {
  /** Whether its credentials were accepted. */
  readonly acknowledged: boolean
  /** Stops reading from the network, so that the data waits in the service. */
  pause(): void
  resume(): void
  /** Completes its subscription and closes its socket. */
  close(): void
}

/**
 * Subscribes with the protocol `graphql-transport-ws`. Parses as little of each message as it can, so that many of
 * these fit beside the service on a small machine.
 */
export function listen({ baseUrl }: Service, ask: Ask): SocketListener {
  const { token, sdkKey, query = CURSORS, variables = {} } = ask
  const record = createRecord(ask)
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  let acknowledged = false
  let closed: Listener['closed']
  socket.on('error', () => undefined)
  socket.on('close', (code, reason) => {
    closed = { code, reason: String(reason) }
  })
  socket.on('open', () => {
    const authorization = token === undefined ? undefined : `Bearer ${token}`
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization, sdkKey } }))
  })
  socket.on('message', (data) => {
    const text = String(data)
    if (text.startsWith('{"id":"1","type":"next"')) return record.take(text)
    const { type, payload } = JSON.parse(text)
    if (type === 'error') record.errors.push(...payload)
    if (type !== 'connection_ack') return
    acknowledged = true
    if (query !== null) socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables } }))
  })
  return {
    ...record,
    get acknowledged() {
      return acknowledged
    },
    get closed() {
      return closed
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    terminate: () => socket.terminate(),
    close() {
      if (socket.readyState === socket.OPEN) socket.send('{"id":"1","type":"complete"}')
      socket.close(1000)
    },
  }
}

/** Subscribes over server-sent events. */
export function stream({ baseUrl }: Service, ask: Ask): Listener {
  const { token, query = CURSORS, variables = {}, lastEventId } = ask
  const record = createRecord(ask)
  const abort = new AbortController()
  let closed: Listener['closed']

  async function read(): Promise<void> {
    const response = await fetch(`${baseUrl}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      body: JSON.stringify({ query, variables }),
      signal: abort.signal,
    })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const frames = (text + chunk).split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const data = /^data: (.+)$/m.exec(frame)?.[1]
        if (data === undefined) continue
        const id = /^id: (.+)$/m.exec(frame)?.[1]
        if (id !== undefined && !data.includes(`${CURSOR}${id}"`)) throw new Error(`${id} is not the cursor of ${data}`)
        record.take(`{"payload":${data}}`)
      }
    }
  }

  read()
    .catch((error) => {
      if (!abort.signal.aborted) record.errors.push(error)
    })
    .finally(() => {
      closed = { code: 0, reason: '' }
    })
  return {
    ...record,
    get closed() {
      return closed
    },
    terminate: () => abort.abort(),
  }
}

/** The events and errors that a listener has received. */
function createRecord({ onEvent }: Ask) {
  const positions: number[] = []
  const errors: unknown[] = []
  let wanted = Number.POSITIVE_INFINITY
  let wake = () => {}

  return {
    positions,
    errors,

    take(text: string): void {
      const position = positionIn(text)
      if (position !== undefined) positions.push(position)
      if (onEvent || position === undefined) {
        const { payload } = JSON.parse(text)
        if (payload.errors) errors.push(...payload.errors)
        else onEvent?.(Object.values(payload.data)[0])
      }
      if (positions.length >= wanted) wake()
    },

    async heard(count: number): Promise<void> {
      if (positions.length >= count) return
      wanted = count
      await new Promise<void>((resolve, reject) => {
        const late = () => reject(new Error(`${positions.length} of ${count} events heard within ${DEADLINE_MS} ms`))
        const timer = setTimeout(late, DEADLINE_MS)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
  }
}

const CURSOR = '"cursor":"'

/** The position in the first cursor of a message. */
function positionIn(text: string): number | undefined {
  const start = text.indexOf(CURSOR)
  if (start < 0) return undefined
  const from = start + CURSOR.length
  return positionOf(text.slice(from, text.indexOf('"', from)))
}

export const range = (from: number, to: number): number[] => times(to - from + 1, (index) => from + index)

export const random = (below: number): number => Math.floor(Math.random() * below)
