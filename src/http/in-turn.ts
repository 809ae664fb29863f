import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that wait for earlier answers. Clients that use pipelining send a few ahead. */
const MAX_WAITING = 64

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Serves the requests of one connection one after the other. Node emits pipelined requests as fast as it reads them, so
 * that thousands from one connection would run before the requests of other connections, and their answers would stay in
 * memory while the client does not read. A connection with too many waiting requests is closed.
 */
export function inTurn(serve: Serve): Serve {
  const waiting = new WeakMap<Socket, number>()

  return (request, response) => {
    // Null while an earlier response uses the connection.
    if (response.socket !== null) return serve(request, response)
    const { socket } = request
    if (socket.destroyed) return
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    if (count > MAX_WAITING) socket.destroy()
    else
      response.once('socket', () => {
        waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
        // The requests of other connections run first.
        setImmediate(serve, request, response)
      })
  }
}
