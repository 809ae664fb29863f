import type { Socket } from 'node:net'
import { type Ask, asker, connect, monotonicMs, post } from './calls.ts'
import type { LoadPlayer } from './load.ts'

// Makes events happen, one with each call.

/** The time of the answer to a call, by the clock that all processes share. */
type AnsweredAt = number

export interface Emitter {
  /** Makes one event, after the answer to the previous one. */
  emit(): Promise<AnsweredAt>
  /** Opens `count` connections in advance. */
  connect(count: number): Promise<void>
  /** Makes `count` events at once, each over its own connection. */
  burst(count: number): Promise<AnsweredAt[]>
}

/** Node closes a connection that has been quiet for five seconds, perhaps while a call is on its way. */
const QUIET_MS = 4_000

interface Connection {
  readonly socket: Socket
  readonly ask: Ask
  usedAt: number
}

/** Makes events by requests, one after the other. The body of each answer must contain `success`. */
export function createEmitter(port: number, next: () => string, success: string): Emitter {
  const connections: Connection[] = []

  async function ask(index: number): Promise<AnsweredAt> {
    const connection = connections[index]
    if (!connection) throw new Error('a call has no connection')
    const { status, body } = await connection.ask(next())
    const answeredAt = monotonicMs()
    connection.usedAt = answeredAt
    if (status !== 200 || !body.includes(success)) throw new Error(`there was no event: ${status} ${body}`)
    return answeredAt
  }

  async function connectAll(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const known = connections[index]
      if (known && monotonicMs() - known.usedAt < QUIET_MS) continue
      known?.socket.destroy()
      const socket = await connect(port)
      connections[index] = { socket, ask: asker(socket), usedAt: monotonicMs() }
    }
  }

  return {
    connect: connectAll,
    async emit() {
      await connectAll(1)
      return ask(0)
    },
    async burst(count) {
      await connectAll(count)
      return Promise.all(Array.from({ length: count }, (_, index) => ask(index)))
    },
  }
}

/** A pass on which each call reaches a level, and its players. */
export interface Stairs {
  readonly scenarioId: string
  readonly nodeId: string
  readonly players: readonly LoadPlayer[]
  /** The xp from one level to the next. */
  readonly xp: number
}

/** The service's events: players reach levels, one after the other. The emitters share the turns. */
export function createClimbers({ scenarioId, nodeId, players, xp }: Stairs): (port: number) => Emitter {
  let turn = 0
  return (port) =>
    createEmitter(
      port,
      () => {
        const { runId, token } = players[turn % players.length] as LoadPlayer
        turn += 1
        const body = { scenarioId, nodeId, runId, amount: xp, source: 'match' }
        return post('/sdk/v1/battlepass/xp', token, JSON.stringify(body))
      },
      '"leveledUp":true',
    )
}

/** A peer's events: recorded events of the service, repeated. */
export function createPublisher(events: readonly object[]): (port: number) => Emitter {
  let turn = 0
  return (port) =>
    createEmitter(
      port,
      () => {
        turn += 1
        return post('/publish', '', JSON.stringify(events[turn % events.length]))
      },
      '"published":true',
    )
}
