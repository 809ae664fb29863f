import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { headOf } from './respond.ts'

// Calls of games are short POSTs that arrive in one read of their socket. Node's parser, its request and its response
// can take as much CPU time as the rest of such a call, so they are read and answered here. A request that is not whole,
// or is written in any but the plainest form, goes to Node's parser, and so does all that follows on its connection. What
// is read here, Node would read the same: a proxy and this reader cannot disagree about where a request ends.

/** A request however it was read. */
export type Incoming = IncomingMessage | WholeRequest

/** A POST that came whole, with the fields of Node's `IncomingMessage` that handlers read. */
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
    const head = `${headOf(status, headers)}Date: ${dateNow()}\r\n${KEPT_ALIVE}\r\n\r\n`
    if (typeof body === 'string') socket.write(head + body, this.#close)
    else socket.write(body === null ? head : Buffer.concat([Buffer.from(head), body]), this.#close)
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

/** An idle connection is closed after this long. */
export const KEEP_ALIVE_MS = 65_000
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

/** Node allows heads of 16 KiB. */
const MAX_HEAD_BYTES = 8 * 1024
const REQUEST_LINE = /^POST (\/[\w./-]*) HTTP\/1\.1\r\n/
/** One space, and a value of ASCII that neither begins nor ends with one. */
const HEADER = /([\w-]+): ([!-~](?:[ -~]*[!-~])?)\r\n/y
const LENGTH = /^(?:0|[1-9]\d{0,6})$/
/** Headers that change how a request is read or answered, and one that Node gives as a list. */
const NOT_PLAIN = new Set(['expect', 'proxy-connection', 'set-cookie', 'te', 'trailer', 'transfer-encoding', 'upgrade'])

interface Head {
  /** Its bytes, up to the end of its last header. */
  readonly text: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Of the body that follows, in bytes. */
  readonly length: number
}

/** Null unless the head is plain. */
function readHead(text: string): Head | null {
  const line = REQUEST_LINE.exec(text)
  if (!line) return null
  const headers: Record<string, string> = {}
  for (HEADER.lastIndex = line[0].length; HEADER.lastIndex < text.length; ) {
    const header = HEADER.exec(text)
    if (!header) return null
    const [, sent = '', value = ''] = header
    const name = sent.toLowerCase()
    // Also the names of what every object has.
    if (name in headers || NOT_PLAIN.has(name)) return null
    headers[name] = value
  }
  const { host, connection, 'content-length': length = '' } = headers
  if (host === undefined || (connection !== undefined && connection.toLowerCase() !== 'keep-alive')) return null
  return LENGTH.test(length) ? { text, url: line[1] ?? '', headers, length: Number(length) } : null
}

/**
 * Reads the requests of a connection: the one that some bytes are, all of them. Null unless it is plain. Most calls of a
 * client have the head of the call before.
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

/** A silent connection goes to Node after this long, which ends those that send no request in time. */
const SILENT_MS = 5000

export interface WholeRequests {
  /** Closes the connections on which no call runs. */
  closeIdle(): void
  closeAll(): void
}

/**
 * Reads the connections of a server before Node does. `serve` answers a request and never fails; null when it cannot
 * answer this one. `onHandedOver` is called once Node parses a connection.
 */
export function takeWholeRequests(
  server: Server,
  serve: (request: WholeRequest) => Promise<void> | null,
  onHandedOver: (socket: Socket) => void,
): WholeRequests {
  // Node's documentation has it that `connection` may be emitted with any stream: its listener is the way to the parser.
  const [parse] = server.listeners('connection') as [(this: Server, socket: Socket) => void]
  server.off('connection', parse)
  const connections = new Map<Socket, { isAnswering: boolean }>()

  server.on('connection', (socket: Socket) => {
    const connection = { isAnswering: false }
    const read = createReader(socket)
    connections.set(socket, connection)
    let hasAnswered = false
    /** What came before a call was answered. */
    let early: Buffer | undefined

    function take(bytes: Buffer): void {
      if (connection.isAnswering) {
        early = bytes
        socket.pause()
        return
      }
      // A client that does not read its answers is left to Node, which holds it up.
      const request = socket.writableLength > 0 ? null : read(bytes)
      const serving = request && serve(request)
      connection.isAnswering = serving !== null
      if (serving) void serving.then(takeNext)
      else handOver(bytes)
    }

    function takeNext(): void {
      connection.isAnswering = false
      if (!hasAnswered) socket.setTimeout(KEEP_ALIVE_MS)
      hasAnswered = true
      if (early) handOver(early)
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
      if (connection.isAnswering) return
      if (hasAnswered) socket.destroy()
      else handOver()
    }

    const end = () => socket.end()
    // A connection that breaks is closed by Node.
    const ignore = () => undefined
    const forget = () => connections.delete(socket)
    socket.on('data', take).on('end', end).on('timeout', expire).on('error', ignore).on('close', forget)
    socket.setTimeout(SILENT_MS)
  })

  return {
    closeIdle() {
      for (const [socket, { isAnswering }] of connections) if (!isAnswering) socket.destroySoon()
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy()
    },
  }
}
