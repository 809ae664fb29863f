import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface Passed {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The status that the service has answered; undefined before, and for calls that did not reach the service. */
  status?: number
}

export type Fate =
  | 'pass'
  /** It never reaches the service, and its connection breaks. */
  | 'cut'
  /** It never reaches the service, and nothing comes back. */
  | 'freeze'
  /** The service handles it; then its connection breaks, without the answer. */
  | 'lose'
  /** The service handles it; then its connection breaks, with the first byte of the answer. */
  | 'tear'
  /** The service handles it, and nothing comes back. */
  | 'mute'
  /** It reaches the service twice, at once. One answer comes back when both are done. */
  | 'double'
  /** It passes later. */
  | { readonly after: () => Promise<void> }
  /** Something other than the service answers. */
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body: string | Buffer
      readonly length?: number
    }

/** A proxy in front of the service that acts as a bad network or a load balancer. */
export interface Gateway {
  readonly url: string
  readonly passed: Passed[]
  /** Sets what happens to calls from now on. */
  decide(fate: (call: Passed) => Fate): void
  /** Sets where calls go from now on. */
  lead(baseUrl: string): void
  /** Breaks every connection. */
  cut(): void
  /** Open connections pass nothing more, and stay open. */
  freeze(): void
  close(): Promise<void>
}

export async function startGateway(baseUrl: string | (() => string)): Promise<Gateway> {
  const passed: Passed[] = []
  const sockets = new Set<Socket>()
  const streams = new Set<IncomingMessage>()
  let target = typeof baseUrl === 'string' ? () => baseUrl : baseUrl
  let fateOf: (call: Passed) => Fate = () => 'pass'

  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming).catch(() => undefined)
    if (!body) return
    const { method = '', url: path = '', headers } = incoming
    const call: Passed = { method, path, headers, body: body.toString() }
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
    if (typeof fate === 'object') await fate.after()
    const other =
      fate === 'double'
        ? send(call, body)
            .then(buffer)
            .catch(() => undefined)
        : undefined
    try {
      const answer = await send(call, body, response)
      call.status = answer.statusCode
      if (fate === 'lose' || fate === 'mute') {
        await buffer(answer)
        if (fate === 'lose') response.destroy()
        return
      }
      await other
      streams.add(answer)
      answer.once('close', () => streams.delete(answer))
      // A connection that breaks on one side breaks on the other.
      answer.on('error', () => response.destroy())
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      if (fate !== 'tear') return void answer.pipe(response)
      const whole = await buffer(answer)
      response.write(whole.subarray(0, 1), () => response.destroy())
    } catch {
      response.destroy()
    }
  })

  /** Makes the call to the service. It is aborted when the given response closes. */
  function send({ method, path, headers: own }: Passed, body: Buffer, response?: ServerResponse) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const { hostname, port } = new URL(target())
      const { host: _host, connection: _connection, ...headers } = own
      const onward = request({ host: hostname, port, path, method, headers, agent: false }, resolve)
      onward.on('error', reject)
      response?.once('close', () => onward.destroy())
      onward.end(body)
    })
  }

  // A WebSocket passes, or its connection breaks.
  server.on('upgrade', ({ method = '', url: path = '', headers, rawHeaders }, socket: Socket, head) => {
    const call: Passed = { method, path, headers, body: '' }
    passed.push(call)
    if (fateOf(call) !== 'pass') return void socket.destroy()
    const { hostname, port } = new URL(target())
    const onward = connect(Number(port), hostname, () => {
      const pairs = rawHeaders.map((text, index) => (index % 2 === 0 ? `\r\n${text}: ` : text))
      onward.write(`${method} ${path} HTTP/1.1${pairs.join('')}\r\n\r\n`)
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
  })
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
      target = () => next
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
