import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { headOf } from './respond.ts'

// Most calls of games are short POSTs that arrive in one read of their socket. Node's parser, request and response can
// take as much CPU time as the rest of such a call, so these requests are read and answered here. A request that is
// incomplete, or has any but the plainest form, goes to Node's parser together with the rest of its connection. Node
// would read each request the same way, so a proxy and this reader cannot disagree about where a request ends.

/** A request that Node or this file has read. */
export type Incoming = IncomingMessage | WholeRequest

/** A POST that arrived in one read, with the fields of Node's `IncomingMessage` that handlers read. */
export class WholeRequest {
  readonly method = 'POST'
  readonly httpVersion = '1.1'
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly socket: Socket
  #closing: AbortController | undefined
  #close: (() => void) | undefined
  #isAnswered = false
  /** Whether the answer closes the connection. */
  isLast = false

  constructor({ url, headers }: Pick<Head, 'url' | 'headers'>, body: Buffer, socket: Socket) {
    this.url = url
    this.headers = headers
    this.body = body
    this.socket = socket
  }

  /** Writes the answer, in the bytes that Node would write. `headers` are names and values in turn. */
  answer(status: number, headers: readonly string[], body: string | Buffer | null): void {
    const { socket } = this
    this.#isAnswered = true
    if (!socket.writable) {
      this.#close?.()
      return
    }
    const connection = this.isLast ? 'Connection: close' : KEPT_ALIVE
    const head = `${headOf(status, headers)}Date: ${dateNow()}\r\n${connection}\r\n\r\n`
    if (typeof body === 'string') socket.write(head + body, this.#close)
    else socket.write(body === null ? head : Buffer.concat([Buffer.from(head), body]), this.#close)
    if (this.isLast) socket.pause().destroySoon()
  }

  /** Aborts when the answer was sent, or the client is gone. */
  closed(): AbortSignal {
    this.#closing ??= this.#watch()
    return this.#closing.signal
  }

  #watch(): AbortController {
    const { socket } = this
    const closing = new AbortController()
    const close = (): void => {
      socket.off('close', close)
      closing.abort()
    }
    if (this.#isAnswered || socket.destroyed) close()
    else socket.once('close', close)
    this.#close = close
    return closing
  }
}

/** How long a connection may be idle, as its answers say. */
export const KEEP_ALIVE_MS = 65_000
/** Node and this file wait longer, so that a client that uses the last moment does not find the connection closed. */
const KEEP_ALIVE_BUFFER_MS = 1000
const KEPT_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}`

let date = ''
let dateSecond = 0

/** The `Date` of answers in this second. */
function dateNow(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    date = new Date(second * 1000).toUTCString()
  }
  return date
}

/** Less than Node's limit. A head of this length has fewer than the 1,000 headers that Node reads. */
const MAX_HEAD_BYTES = 4 * 1024
/** The request line and the headers. A value is ASCII, and neither begins nor ends with a space. */
const HEAD = /^POST (\/[\w./-]*) HTTP\/1\.1\r\n(?:[\w-]+: [!-~](?:[ -~]*[!-~])?\r\n)*$/
const LENGTH = /^(?:0|[1-9]\d{0,6})$/
/** Headers that change how a request is read or answered, and `set-cookie`, which Node gives as a list. */
const NOT_PLAIN = new Set(['expect', 'proxy-connection', 'set-cookie', 'te', 'trailer', 'transfer-encoding', 'upgrade'])

interface Head {
  /** Its text, up to the end of the last header. */
  readonly text: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The length of the body, in bytes. */
  readonly length: number
}

/** The names of headers that most clients send, in the case in which Node gives them. */
const NAMES = new Map<string, string>()
for (const name of ['Accept', 'Authorization', 'Connection', 'Content-Length', 'Content-Type', 'Host', 'User-Agent'])
  for (const sent of [name, name.toLowerCase()]) NAMES.set(sent, name.toLowerCase())

/** Null unless the head is plain. */
function readHead(text: string): Head | null {
  const url = HEAD.exec(text)?.[1]
  if (url === undefined) return null
  const headers: Record<string, string> = {}
  for (let at = text.indexOf('\r\n') + 2; at < text.length; ) {
    const colon = text.indexOf(':', at)
    const end = text.indexOf('\r\n', colon)
    const sent = text.slice(at, colon)
    const name = NAMES.get(sent) ?? sent.toLowerCase()
    // `in` also refuses names such as `constructor`.
    if (name in headers || NOT_PLAIN.has(name)) return null
    headers[name] = text.slice(colon + 2, end)
    at = end + 2
  }
  const { host, connection, 'content-length': length = '' } = headers
  if (host === undefined || (connection !== undefined && connection.toLowerCase() !== 'keep-alive')) return null
  return LENGTH.test(length) ? { text, url, headers, length: Number(length) } : null
}

/**
 * Reads the requests of a connection. The reader returns null unless the bytes are exactly one plain request. It remembers
 * the last head, since most calls of a client repeat it.
 */
export function createReader(socket: Socket): (bytes: Buffer) => WholeRequest | null {
  let head: Head | null = null
  return (bytes) => {
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0 || end > MAX_HEAD_BYTES) return null
    const text = bytes.toString('latin1', 0, end + 2)
    if (head?.text !== text) head = readHead(text)
    if (head === null || bytes.length !== end + 4 + head.length) return null
    return new WholeRequest(head, bytes.subarray(end + 4), socket)
  }
}

/** After this long without a request, a new connection goes to Node, which applies its own timeouts. */
const SILENT_MS = 5000

export interface WholeRequests {
  /** Closes the connections without a running call, once their last answer is sent. */
  closeIdle(): void
  /** The answers to running calls close their connections. */
  closeWithAnswers(): void
}

interface Connection {
  /** The call that runs. */
  answering: WholeRequest | null
  /** Bytes that arrived while a call ran. */
  early: Buffer | undefined
}

/**
 * Reads the connections of a server before Node does. `serve` answers a request; its promise never rejects. It returns
 * null for a request that it leaves to Node. `onHandedOver` is called once Node parses a connection.
 */
export function takeWholeRequests(
  server: Server,
  serve: (request: WholeRequest) => Promise<void> | null,
  onHandedOver: (socket: Socket) => void,
): WholeRequests {
  // By Node's documentation, `connection` may be emitted with any stream. So its listener starts Node's parser.
  const [parse] = server.listeners('connection') as [(this: Server, socket: Socket) => void]
  server.off('connection', parse)
  const connections = new Map<Socket, Connection>()

  server.on('connection', (socket: Socket) => {
    const connection: Connection = { answering: null, early: undefined }
    const read = createReader(socket)
    connections.set(socket, connection)
    let hasAnswered = false

    function take(bytes: Buffer): void {
      if (connection.answering) {
        connection.early = bytes
        // The answer to the later request closes the connection.
        connection.answering.isLast = false
        socket.pause()
        return
      }
      // Node applies backpressure to a client that does not read its answers.
      const request = socket.writableLength > 0 ? null : read(bytes)
      const serving = request && serve(request)
      connection.answering = serving && request
      if (serving) void serving.then(takeNext)
      else handOver(bytes)
    }

    function takeNext(): void {
      connection.answering = null
      if (!hasAnswered) socket.setTimeout(KEEP_ALIVE_MS + KEEP_ALIVE_BUFFER_MS)
      hasAnswered = true
      if (connection.early) handOver(connection.early)
    }

    function handOver(bytes?: Buffer): void {
      if (socket.destroyed) return
      connections.delete(socket)
      socket.off('data', take).off('end', end).off('timeout', expire).off('error', ignore).off('close', forget)
      socket.setTimeout(0)
      if (bytes) socket.unshift(bytes)
      parse.call(server, socket)
      onHandedOver(socket)
      socket.resume()
    }

    function expire(): void {
      if (connection.answering) return
      if (hasAnswered) socket.destroy()
      else handOver()
    }

    const end = () => socket.end()
    // Node closes a broken connection.
    const ignore = () => undefined
    const forget = () => connections.delete(socket)
    socket.on('data', take).on('end', end).on('timeout', expire).on('error', ignore).on('close', forget)
    socket.setTimeout(SILENT_MS)
  })

  return {
    closeIdle() {
      for (const [socket, { answering }] of connections) {
        // The first request of a connection may be under way.
        if (answering || socket.bytesRead === 0 || !socket.writable) continue
        // Paused: a later request must not run, since it could not be answered.
        socket.pause().destroySoon()
      }
    },
    closeWithAnswers() {
      for (const { answering, early } of connections.values()) if (answering && !early) answering.isLast = true
    },
  }
}
