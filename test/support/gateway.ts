import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A call that came by. */
export interface Passed {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** What the service has answered; undefined while it has not, and for what did not reach it. */
  status?: number
}

/**
 * What becomes of a call: it passes, at once or later; it is handled and its answer is lost; something else answers, or
 * nothing does.
 */
export type Fate =
  | 'pass'
  | 'lose'
  | 'cut'
  | 'freeze'
  | { readonly after: Promise<void> }
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body: string | Buffer
      readonly length?: number
    }

/** A proxy in front of the service, as a bad network or a balancer would be. */
export interface Gateway {
  readonly url: string
  readonly passed: Passed[]
  /** Says what becomes of a call from now on. */
  decide(fate: (call: Passed) => Fate): void
  /** Where calls go from now on. */
  lead(baseUrl: string): void
  /** Breaks every connection. */
  cut(): void
  /** Nothing passes any more on what is open, and nothing breaks. */
  freeze(): void
  close(): Promise<void>
}

export async function startGateway(baseUrl: string): Promise<Gateway> {
  const passed: Passed[] = []
  const sockets = new Set<Socket>()
  const streams = new Set<IncomingMessage>()
  let target = new URL(baseUrl)
  let fateOf: (call: Passed) => Fate = () => 'pass'

  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming).catch(() => undefined)
    if (!body) return
    const call: Passed = { path: incoming.url ?? '', headers: incoming.headers, body: body.toString() }
    passed.push(call)
    const fate = fateOf(call)
    if (fate === 'cut') return void response.destroy()
    if (fate === 'freeze') return
    if (typeof fate === 'object' && 'status' in fate) {
      const length = fate.length ?? Buffer.byteLength(fate.body)
      response.writeHead(fate.status, { ...fate.headers, 'content-length': length })
      if (length === Buffer.byteLength(fate.body)) return void response.end(fate.body)
      return void response.write(fate.body, () => response.destroy())
    }
    if (typeof fate === 'object') await fate.after
    forward(call, body, response, fate === 'lose')
  })

  function forward(call: Passed, body: Buffer, response: ServerResponse, isLost: boolean): void {
    const { host: _host, connection: _connection, ...headers } = call.headers
    const options = { host: target.hostname, port: target.port, path: call.path, method: 'POST', headers, agent: false }
    const onward = request(options, async (answer) => {
      call.status = answer.statusCode
      if (isLost) {
        await buffer(answer).catch(() => undefined)
        return void response.destroy()
      }
      streams.add(answer)
      answer.once('close', () => streams.delete(answer))
      // A connection that breaks on one side breaks on the other.
      answer.on('error', () => response.destroy())
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    onward.end(body)
  }

  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    decide(fate) {
      fateOf = fate
    },
    lead(next) {
      target = new URL(next)
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    freeze() {
      for (const stream of streams) stream.unpipe()
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
