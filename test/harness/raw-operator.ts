import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { selfSigned } from './certificates.ts'

/** What a server does on a socket when a request has arrived on it. */
export type Play = (socket: Socket) => void

/** A server on plain sockets: it can send invalid HTTP, stop in the middle, or send nothing at all. */
export interface RawOperator {
  readonly port: number
  readonly url: string
  /** When each request had arrived, in milliseconds of `performance.now()`. A TLS greeting counts as one. */
  readonly hits: readonly number[]
  /** Connections so far. */
  readonly connections: number
  readonly open: number
  /** Bytes that it has sent, including those that are still in buffers. */
  readonly sent: number
  close(): Promise<void>
}

const TLS_HANDSHAKE = 0x16
const HEAD_END = '\r\n\r\n'
const EMPTY = Buffer.alloc(0)

export function startRawOperator(play: Play): Promise<RawOperator> {
  return listen(createServer(), '127.0.0.1', 'http', play)
}

/** A TLS server with a self-signed certificate. */
export function startSelfSigned(play: Play): Promise<RawOperator> {
  return listen(createTlsServer(selfSigned()), '127.0.0.1', 'https', play)
}

/**
 * Listens on every address of this machine, over IPv6 and IPv4 or over IPv4 alone. No connection must arrive: tests
 * read its `connections`.
 */
export async function startCanary(): Promise<RawOperator> {
  const play = (socket: Socket) => void socket.end(httpAnswer('200 OK', '{"subject":"canary"}'))
  return listen(createServer(), '::', 'http', play).catch(() => listen(createServer(), '0.0.0.0', 'http', play))
}

/** A complete HTTP answer. */
export function httpAnswer(status: string, body: string, headers: readonly string[] = []): string {
  const length = `content-length: ${Buffer.byteLength(body)}`
  return `${httpHead(status, [length, ...headers])}${body}`
}

export function httpHead(status: string, headers: readonly string[] = []): string {
  return `${[`HTTP/1.1 ${status}`, 'content-type: application/json', ...headers].join('\r\n')}${HEAD_END}`
}

/** Sends a piece again and again until the socket closes. */
export function drip(socket: Socket, piece: string | Uint8Array, everyMs: number): void {
  const timer = setInterval(() => socket.write(piece), everyMs)
  socket.once('close', () => clearInterval(timer))
}

/** Sends a piece again and again, as fast as the socket accepts it: without end, or `count` times. */
export function flood(socket: Socket, piece: string | Uint8Array, count = Number.POSITIVE_INFINITY): void {
  let left = count
  const pour = () => {
    while (!socket.destroyed && left > 0) {
      left -= 1
      if (!socket.write(piece)) return
    }
  }
  socket.on('drain', pour)
  pour()
}

async function listen(server: Server, host: string, scheme: string, play: Play): Promise<RawOperator> {
  const hits: number[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let sentBefore = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      sentBefore += socket.bytesWritten
    })
    // The service can break a connection, as tests expect.
    socket.on('error', () => undefined)
  })
  server.on(scheme === 'https' ? 'secureConnection' : 'connection', (socket: Socket) => {
    let received = EMPTY
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (!isWhole(received)) return
      received = EMPTY
      hits.push(performance.now())
      play(socket)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${scheme}://127.0.0.1:${port}/login`,
    hits,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    get sent() {
      return [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, sentBefore)
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function isWhole(received: Buffer): boolean {
  if (received[0] === TLS_HANDSHAKE) return true
  const end = received.indexOf(HEAD_END)
  if (end === -1) return false
  const [, length = '0'] = /content-length: (\d+)/i.exec(received.toString('latin1', 0, end)) ?? []
  return received.length >= end + HEAD_END.length + Number(length)
}
