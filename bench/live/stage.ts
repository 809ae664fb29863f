import type pg from 'pg'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { demoSeason } from '../../src/dev/season.ts'
import { startDurablePostgres } from '../../test/harness/durable-postgres.ts'
import { buildService, createWorld, type World } from '../../test/harness/service.ts'
import { Audience } from '../audience.ts'
import { cpuOf } from '../cpu.ts'
import { withClient } from '../database.ts'
import { createClimbers, createPublisher, type Emitter } from '../emitter.ts'
import type { Subscription } from '../listeners.ts'
import type { LoadPlayer, LoadSetup } from '../load.ts'
import { startLoad } from '../loader.ts'
import { copyPlayers, giveXp, logIn } from '../players.ts'
import { installPeers, onEnd, type Server, startInstance, startServer } from '../processes.ts'
import { note } from '../report.ts'
import { STEP_XP, stairsOf } from '../stairs.ts'

// The set-up of the rows of live events: Postgres, the service with its players, the peers, callers and listeners.

export interface LiveOptions {
  readonly quick: boolean
  readonly only: readonly string[]
  readonly rounds?: number
  readonly signal: AbortSignal
}

/** A server that a row measures. */
export interface Side {
  readonly name: string
  readonly server: Server
  /** How a dashboard subscribes. Undefined for bare sockets. */
  readonly subscription?: Subscription
  readonly emitter: Emitter
  /** A stock server, which takes much longer than the others. */
  readonly isSlow: boolean
  readonly usesPostgres: boolean
}

/** A server in a file of `peers/`. */
export interface Peer {
  readonly name: string
  readonly file: string
  readonly isGraphql: boolean
  readonly usesPostgres?: boolean
}

export const FLOOR: Peer = { name: 'bare ws loop', file: 'ws-loop.mjs', isGraphql: false }
export const YOGA: Peer = { name: 'Yoga and graphql-ws', file: 'yoga.mjs', isGraphql: true }
const STOCK: readonly Peer[] = [
  YOGA,
  { name: 'Mercurius', file: 'mercurius.mjs', isGraphql: true },
  { name: 'PostGraphile', file: 'postgraphile.mjs', isGraphql: true, usesPostgres: true },
]

export interface Usage {
  /** Microseconds of processor. */
  readonly server: number
  readonly postgres: number
  readonly seconds: number
}

const SEASON = 'season'
const NODE = 'pass'
const STAIRS = 'stairs'
const CLIMBERS = 32
const CALLERS = 1024
/**
 * Callers start at this number of places between the season's levels 2 and 3: about one call in ten reaches a level.
 */
const PLACES = 32
const LEVEL_2 = 500
const LEVEL_XP = 520
/** The largest number of listeners. */
const ONLINE = 5_000
/** As many events as a cell has, so that a cell delivers each of them once. */
const RECORDED = 300
const PLATFORM_DOCUMENT =
  'subscription { events(environment: "production", handles: ["onLevelUp"]) { cursor occurredAt playerId handle data } }'
const PLAYER_DOCUMENT = 'subscription { onLevelUp { cursor occurredAt playerId fromLevel toLevel xp } }'

export type Stage = Awaited<ReturnType<typeof setStage>>

export async function setStage({ quick, rounds, signal }: LiveOptions) {
  note('building, and installing the peers')
  await Promise.all([buildService(), installPeers()])
  note('starting an embedded Postgres with durable settings')
  const postgres = await startDurablePostgres()
  onEnd(() => postgres.remove())
  const postmaster = await postgres.postmaster()
  const world = await createWorld(postgres.url)
  onEnd(() => world.close())
  const season = JSON.parse(demoSeason())
  await world.publish(SEASON, season)
  await world.publish(STAIRS, stairsOf(season))
  const service = await startInstance(world)

  note('making players')
  const listening = quick ? 500 : 10_000
  const players = await withClient(postgres.url, (client) => makePlayers(client, world, service, listening))
  await withClient(postgres.url, (client) => client.query('VACUUM ANALYZE'))
  const key = await platformKey(world)
  const dashboards: Subscription = { query: PLATFORM_DOCUMENT, authorizations: [`Bearer ${key}`] }
  const { climbers, ...sets } = {
    ...players,
    some: players.callers.slice(0, CALLERS / 2),
    others: players.callers.slice(CALLERS / 2),
    online: players.listeners.slice(0, ONLINE),
  }
  const climb = createClimbers({ scenarioId: STAIRS, nodeId: NODE, players: climbers, xp: STEP_XP })
  const setup: LoadSetup = { scenarioId: SEASON, nodeId: NODE, reached: 0, players: sets }

  const ours: Side = {
    name: 'Tierway',
    server: service,
    subscription: dashboards,
    emitter: climb(service.port),
    isSlow: false,
    usesPostgres: true,
  }
  const audience = new Audience()
  const load = startLoad(setup, signal)
  await greet()
  const publish = createPublisher(await record(audience, ours, quick ? 100 : RECORDED))

  /** Makes one call of each player: tokens are then verified and rows cached, as for active players. */
  async function greet(): Promise<void> {
    note(`warming up (the service is process ${service.pid}, Postgres ${postmaster})`)
    const warm = { ports: [service.port], players: 'callers', connections: 32 }
    await load({ ...warm, call: 'progress', seconds: 60, calls: CALLERS })
    await load({ ...warm, call: 'xp', seconds: quick ? 1 : 4 })
    for (let event = 0; event < CLIMBERS * 2; event += 1) await ours.emitter.emit()
  }

  const startPeer = ({ file }: Peer, env = {}): Promise<Server> =>
    startServer(`peers/${file}`, {
      NODE_NO_WARNINGS: '1',
      GRAPHILE_ENV: 'production',
      DATABASE_URL: postgres.url,
      ...env,
    })

  const peers = new Map<Peer, Promise<Side>>()
  async function start(peer: Peer): Promise<Side> {
    const server = await startPeer(peer)
    const { name, isGraphql, usesPostgres = false } = peer
    const subscription = isGraphql ? dashboards : undefined
    return { name, server, subscription, emitter: publish(server.port), isSlow: isGraphql, usesPostgres }
  }
  /** Starts a server of `peers/`. Resolves when it is ready. */
  function peer(wanted: Peer): Promise<Side> {
    const side = peers.get(wanted) ?? start(wanted)
    peers.set(wanted, side)
    return side
  }

  return {
    quick,
    signal,
    rounds: rounds ?? (quick ? 1 : 3),
    world,
    service,
    ours,
    dashboards,
    audience,
    load,
    /** Starts another process that makes calls. */
    anotherLoad: () => startLoad(setup, signal),
    listening,
    playersOf: (count: number): Subscription => ({
      query: PLAYER_DOCUMENT,
      authorizations: sets.listeners.slice(0, count).map(({ token }) => `Bearer ${token}`),
    }),

    /** A bare `ws` server: the lower bound. */
    floor: () => peer(FLOOR),
    /** The stock servers. */
    stock: () => Promise.all(STOCK.map(peer)),
    startPeer,

    /** Begins to measure a server and Postgres. Returns a function that ends the measurement. */
    async meter(server: Server): Promise<() => Promise<Usage>> {
      const read = async () => ({ server: await cpuOf([server.pid]), postgres: await cpuOf([postmaster]) })
      const started = performance.now()
      const before = await read()
      return async () => {
        const after = await read()
        return {
          server: (after.server ?? Number.NaN) - (before.server ?? Number.NaN),
          postgres: (after.postgres ?? Number.NaN) - (before.postgres ?? Number.NaN),
          seconds: (performance.now() - started) / 1000,
        }
      }
    },

    /** Prints the progress. Throws when the run was ended. */
    step(text: string): void {
      signal.throwIfAborted()
      note(text)
    },
  }
}

async function makePlayers(client: pg.ClientBase, world: World, service: Server, listening: number) {
  const copies = async (scenarioId: string, count: number): Promise<LoadPlayer[]> =>
    copyPlayers(world, client, [await world.player(scenarioId)], count)
  async function callers(): Promise<LoadPlayer[]> {
    const originals = await Promise.all(Array.from({ length: PLACES }, () => world.player(SEASON)))
    const place = { scenarioId: SEASON, nodeId: NODE }
    await Promise.all(
      originals.map((player, index) =>
        giveXp(service, player, { ...place, amount: LEVEL_2 + Math.round((LEVEL_XP * index) / PLACES) }),
      ),
    )
    return copyPlayers(world, client, originals, CALLERS)
  }
  const listeners = await logIn(world, await copies(SEASON, listening))
  return {
    callers: await callers(),
    listeners,
    climbers: await copies(STAIRS, CLIMBERS),
  }
}

async function platformKey({ pool, environmentId }: World): Promise<string> {
  const { rows } = await pool.query('SELECT project_id FROM environments WHERE id = $1', [environmentId])
  return (await createPlatformKey(pool, rows[0].project_id, 'viewer')).key
}

/** Records events as the service delivers them: the peers get the same. */
async function record(audience: Audience, ours: Side, count: number): Promise<object[]> {
  const crowd = 'recording'
  await audience.open({ crowd, port: ours.server.port, count: 1, subscription: ours.subscription })
  await audience.attend(crowd, () => ours.emitter.emit())
  for (let event = 0; event < count; event += 1) await ours.emitter.emit()
  await audience.reach(crowd, count)
  const { texts } = await audience.verify(crowd, count)
  await audience.close(crowd)
  return texts.map((text) => JSON.parse(text).payload.data.events)
}
