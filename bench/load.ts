import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Ask, asker, connect, monotonicMs, post, type Reply } from './calls.ts'

// The load generator, in a process of its own. It speaks HTTP/1.1 over plain sockets, one call at a time on each
// connection that is kept alive, because a client library would use more CPU than the measured service.

export interface LoadPlayer {
  readonly playerId: string
  readonly runId: string
  readonly token: string
}

/** Sent to the generator once, at its start. */
export interface LoadSetup {
  readonly scenarioId: string
  readonly nodeId: string
  /** The level up to which tiers can be claimed. */
  readonly reached: number
  /** Each set of players by its name. */
  readonly players: Readonly<Record<string, readonly LoadPlayer[]>>
  /** The key of the game's servers. */
  readonly serverKey?: string
}

/**
 * The generator sends `connected` when the connections of a load are open, and begins to call when it receives `go`.
 */
export type Step = 'connected' | 'go'

/** The players of a match: so many grants has a call `matchXp`, which counts as so many calls. */
const MATCH_PLAYERS = 100

/**
 * `graphqlXp` is `xp` over GraphQL; `matchXp` is `xp` for many players in one call of a game server; `sameView` is `view`
 * of a client that has the answer already; `empty` is the request of `xp`, to a server that ignores it.
 */
export type Call = 'xp' | 'graphqlXp' | 'matchXp' | 'progress' | 'view' | 'sameView' | 'claim' | 'premium' | 'empty'

export interface Load {
  /** Several ports are instances behind a load balancer: the calls of each player go to each in turn. */
  readonly ports: readonly number[]
  /** The calls of a player all go to one port. Connections are shared out over the ports. */
  readonly isSticky?: boolean
  readonly call: Call
  /** The name of a set of players. */
  readonly players: string
  /** Concurrent calls. */
  readonly connections: number
  readonly seconds: number
  /** Ends after this number of calls, if that comes first. */
  readonly calls?: number
  /** The xp of each call. Default: 10 to 99 in turn. */
  readonly amount?: number
  /** Calls start at this rate, as long as a connection is free. Default: each starts when one has ended. */
  readonly perSecond?: number
  /** Whether `reached` is filled. */
  readonly tellsLevelUps?: boolean
}

export interface Tally {
  readonly calls: number
  readonly perSecond: number
  readonly medianMs: number
  readonly p99Ms: number
  /** The sum of the amounts that were answered with success. */
  readonly xp: number
  readonly levelUps: number
  /** The index in its set of each player who reached a level, and the time of the answer by {@link monotonicMs}. */
  readonly reached: readonly (readonly [index: number, at: number])[]
  /** The number of failed calls, and the answer of the first. */
  readonly failed: number
  readonly firstFailure: string | null
}

const GIVES_XP: ReadonlySet<Call> = new Set(['xp', 'graphqlXp', 'matchXp'])

const PATHS: Readonly<Record<Call, string>> = {
  xp: '/sdk/v1/battlepass/xp',
  graphqlXp: '/graphql',
  matchXp: '/server/v1/battlepass/xp',
  progress: '/sdk/v1/battlepass/progress',
  view: '/sdk/v1/scenarios/view',
  sameView: '/sdk/v1/scenarios/view',
  claim: '/sdk/v1/battlepass/claim',
  premium: '/sdk/v1/battlepass/premium',
  empty: '/',
}

/** Selects all fields of the REST answer. */
const ADD_XP = JSON.stringify(`mutation addXp($input: AddXpInput!) {
  addXp(input: $input) {
    level
    xp
    leveledUp
    maxLevel
    plan {
      runId
      status
      crossed { nodeId handle }
      entered { nodeId type data }
      granted { amount currency itemId }
    }
  }
}`)

interface Request {
  readonly text: string
  readonly token: string
  readonly amount: number
  /** The index of its port. */
  readonly to: number
  /** The index of its player in the set. */
  readonly index: number
}

let setup: LoadSetup
/** The tags of the views that players have, by token. */
const tags = new Map<string, string>()
/** The number of calls of each kind that a set of players has made. */
const turns = new Map<string, number>()

/**
 * Yields calls until there is nothing left to do. Calls go from player to player, so that concurrent calls are of
 * distinct players, and each round takes the next tier. With a port of its own, it takes the players of that port.
 */
function createRequests(
  { ports, call, players: set, amount: fixed, calls = Number.POSITIVE_INFINITY }: Load,
  own?: number,
) {
  const all = setup.players[set] ?? []
  const players = own === undefined ? all : all.filter((_, index) => index % ports.length === own)
  const name = own === undefined ? `${call} ${set}` : `${call} ${set} ${own}/${ports.length}`
  const rounds = { claim: setup.reached, premium: 1 }[call as string] ?? Number.POSITIVE_INFINITY
  const first = turns.get(name) ?? 0
  const place = `"scenarioId":"${setup.scenarioId}","nodeId":"${setup.nodeId}"`

  return (): Request | undefined => {
    const turn = turns.get(name) ?? 0
    const index = (call === 'matchXp' ? turn * MATCH_PLAYERS : turn) % players.length
    const round = Math.floor(turn / players.length)
    const player = players[index]
    if (!player || round >= rounds || turn - first >= calls) return undefined
    turns.set(name, turn + 1)
    const amount = GIVES_XP.has(call) ? (fixed ?? 10 + (turn % 90)) : 0
    const isMatch = call === 'matchXp'
    const body = isMatch ? matchOf(index, amount, turn) : bodyOf(player, amount, round)
    const token = isMatch ? (setup.serverKey ?? '') : player.token
    const text = post(PATHS[call], token, body, call === 'sameView' ? tags.get(token) : '')
    // Neighbours call different instances, and each player changes the instance with each round.
    return { text, token, amount, index, to: own ?? (ports.length === 1 ? 0 : (index + round) % ports.length) }
  }

  function bodyOf({ runId }: LoadPlayer, amount: number, round: number): string {
    switch (call) {
      case 'progress':
        return `{${place}}`
      case 'view':
      case 'sameView':
        return `{"scenarioId":"${setup.scenarioId}"}`
      case 'claim':
        return `{${place},"runId":"${runId}","level":${round + 1},"track":"free"}`
      case 'premium':
        return `{${place},"runId":"${runId}","idempotencyKey":"purchase-${runId}"}`
      case 'graphqlXp':
        return `{"query":${ADD_XP},"variables":{"input":${xpOf(runId, amount)}}}`
      default:
        return xpOf(runId, amount)
    }
  }

  function matchOf(first: number, amount: number, turn: number): string {
    const grants = Array.from({ length: MATCH_PLAYERS }, (_, seat) => {
      const { playerId } = players[(first + seat) % players.length] as LoadPlayer
      return `{"player":{"playerId":"${playerId}"},${place},"amount":${amount},"source":"match"}`
    })
    return `{"grants":[${grants.join(',')}],"idempotencyKey":"match-${turn}"}`
  }

  function xpOf(runId: string, amount: number): string {
    return `{${place},"runId":"${runId}","amount":${amount},"source":"match"}`
  }
}

function isSuccess(call: Call, { status, body }: Reply): boolean {
  if (call === 'sameView' && status === 304) return true
  if (status !== 200) return false
  if (call === 'graphqlXp') return !body.includes('"errors"')
  if (call === 'matchXp') return !body.includes('"error":"')
  if (call === 'claim') return body.includes('"success":true') && body.includes('"alreadyClaimed":false')
  return call !== 'premium' || body.includes('"success":true')
}

interface Driver {
  /** By port. */
  readonly asks: readonly (Ask | undefined)[]
  readonly next: () => Request | undefined
}

async function run(load: Load): Promise<Tally> {
  const { ports, call, connections, perSecond, tellsLevelUps, isSticky } = load
  const shared = createRequests(load)
  const ofPorts = isSticky ? ports.map((_, port) => createRequests(load, port)) : []
  const weight = call === 'matchXp' ? MATCH_PLAYERS : 1
  const sockets: Socket[] = []
  // Each driver has a connection to every port, or to its own, and makes one call at a time.
  const drivers = await Promise.all(
    Array.from({ length: connections }, async (_, driver) => {
      const asks = await Promise.all(
        ports.map(async (port, index) => {
          if (isSticky && index !== driver % ports.length) return undefined
          const socket = await connect(port)
          sockets.push(socket)
          return asker(socket)
        }),
      )
      return { asks, next: ofPorts[driver % ports.length] ?? shared }
    }),
  )
  process.send?.('connected' satisfies Step)
  await new Promise((go) => process.once('message', go))
  const latencies: number[] = []
  let xp = 0
  let levelUps = 0
  let begun = 0
  const reached: [number, number][] = []
  let failed = 0
  let firstFailure: string | null = null
  const started = performance.now()
  const end = started + load.seconds * 1000

  async function drive({ asks, next }: Driver): Promise<void> {
    for (let now = performance.now(); now < end; ) {
      if (perSecond !== undefined) {
        const due = started + (begun++ / perSecond) * 1000
        if (due >= end) return
        if (due > now) await pause(due - now)
        now = performance.now()
      }
      const request = next()
      const ask = request && asks[request.to]
      if (!ask) return
      const reply = await ask(request.text)
      const answered = performance.now()
      latencies.push(answered - now)
      now = answered
      if (call === 'sameView' && reply.etag !== '') tags.set(request.token, reply.etag)
      if (isSuccess(call, reply)) {
        xp += request.amount * weight
        if (call === 'matchXp') {
          levelUps += reply.body.split('"leveledUp":true').length - 1
          continue
        }
        if (!GIVES_XP.has(call) || !reply.body.includes('"leveledUp":true')) continue
        levelUps += 1
        if (tellsLevelUps) reached.push([request.index, monotonicMs()])
      } else {
        failed += 1
        firstFailure ??= `${reply.status} ${reply.body.slice(0, 300)}`
      }
    }
  }
  await Promise.all(drivers.map(drive))
  const seconds = (performance.now() - started) / 1000
  for (const socket of sockets) socket.destroy()
  const sorted = Float64Array.from(latencies).sort()
  const calls = sorted.length * weight
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return {
    calls,
    perSecond: calls / seconds,
    medianMs: at(0.5),
    p99Ms: at(0.99),
    xp,
    levelUps,
    reached,
    failed,
    firstFailure,
  }
}

process.on('message', (message: LoadSetup | Load | Step) => {
  // `go`: the connected load waits for it.
  if (typeof message === 'string') return
  if ('reached' in message) {
    setup = message
    return
  }
  run(message).then(
    (tally) => process.send?.(tally),
    (error) => {
      throw error
    },
  )
})
// The benchmark that started it has ended.
process.on('disconnect', () => process.exit())
