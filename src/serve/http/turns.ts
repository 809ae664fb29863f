import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** Requests of one connection that wait for earlier answers. Clients that use pipelining send a few ahead. */
const MAX_WAITING = 8
/** The time for waiting requests in one turn of the event loop. Then all other work has its turn. */
const TURN_MS = 5

interface Connection {
  waiting: number
  /** `bytesRead` when a request was last served at once. Other requests in the same bytes wait for their turn. */
  servedAt: number
}

/** A request that waits only for the requests before it in the queue. */
interface Due {
  readonly serve: Serve
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly connection: Connection
}

/**
 * Serves the requests of one connection one after the other, and those of many connections in fair turns. Node emits
 * pipelined requests as fast as it reads them, so that thousands from one connection would run before the requests of
 * other connections, and their answers would stay in memory while the client does not read. A connection with too many
 * waiting requests is closed.
 */
export function createTurns() {
  const connections = new WeakMap<Socket, Connection>()
  let due: Due[] = []
  let isScheduled = false

  function wait(one: Due): void {
    due.push(one)
    if (isScheduled) return
    isScheduled = true
    setImmediate(takeTurn)
  }

  function takeTurn(): void {
    const turn = due
    due = []
    isScheduled = false
    const end = performance.now() + TURN_MS
    let served = 0
    for (const { serve, request, response, connection } of turn) {
      served += 1
      const { socket } = request
      connection.waiting -= 1
      // A request that has not begun has no effect when its client is gone.
      if (socket.destroyed) continue
      serve(request, response)
      if (performance.now() >= end) break
    }
    if (served === turn.length) return
    due = [...turn.slice(served), ...due]
    if (isScheduled) return
    isScheduled = true
    setImmediate(takeTurn)
  }

  const inTurn =
    (serve: Serve): Serve =>
    (request, response) => {
      const { socket } = request
      let connection = connections.get(socket)
      if (!connection) {
        connection = { waiting: 0, servedAt: -1 }
        connections.set(socket, connection)
      }
      // Null while an earlier response uses the connection.
      const isFree = response.socket !== null
      const { bytesRead } = socket
      if (isFree && connection.servedAt !== bytesRead) {
        connection.servedAt = bytesRead
        return serve(request, response)
      }
      if (socket.destroyed) return
      connection.waiting += 1
      const one = { serve, request, response, connection }
      if (connection.waiting > MAX_WAITING) socket.destroy()
      else if (isFree) wait(one)
      else response.once('socket', () => wait(one))
    }
  return {
    inTurn,
    /** Whether requests of a connection wait for an earlier answer. */
    hasWaiting: (socket: Socket): boolean => (connections.get(socket)?.waiting ?? 0) > 0,
  }
}
