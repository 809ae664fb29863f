import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10
/** A mask of zeros leaves the payload unchanged. */
const MASK = Buffer.alloc(4)
const CURSOR = '"cursor":"'

export interface LightListenerOptions {
  /** The port of the service for the next connection. */
  readonly port: () => number
  readonly token: string
  /** A subscription with the variable `after`, whose events have a `cursor`. */
  readonly query: string
  readonly after: string
}

export interface LightListener {
  /** The cursors of all received events, in order, over all connections. */
  readonly cursors: readonly string[]
  readonly isSubscribed: boolean
  /** Errors and close codes that a reconnect cannot repair. */
  readonly faults: readonly string[]
  close(): void
}

/**
 * A subscription over a plain socket that speaks graphql-transport-ws and reconnects with its last cursor. Ten thousand
 * clients of a library would need more memory and CPU time than the service.
 */
export function openLightListener({ port, token, query, after }: LightListenerOptions): LightListener {
  const cursors: string[] = []
  const faults: string[] = []
  let socket: Socket
  let isSubscribed = false
  let isClosed = false
  let waitMs = 50

  function open(): void {
    isSubscribed = false
    let rest: Buffer = Buffer.alloc(0)
    let isUpgraded = false
    socket = connect({ port: port(), host: '127.0.0.1' })
    socket.on('error', () => undefined)
    socket.on('connect', () => {
      socket.write(
        `GET /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n` +
          'Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n',
      )
    })
    socket.on('data', (chunk: Buffer) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      if (!isUpgraded) {
        const end = rest.indexOf('\r\n\r\n')
        if (end < 0) return
        isUpgraded = true
        rest = rest.subarray(end + 4)
        send(socket, TEXT, JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }))
      }
      for (let frame = readFrame(rest); frame; frame = readFrame(rest)) {
        rest = rest.subarray(frame.end)
        take(frame)
      }
    })
    socket.on('close', () => {
      isSubscribed = false
      if (isClosed || faults.length > 0) return
      // With a random part, so that not all reconnect at once.
      setTimeout(open, waitMs * (0.5 + Math.random())).unref()
      waitMs = Math.min(2 * waitMs, 2_000)
    })
  }

  function take({ opcode, payload }: Frame): void {
    if (opcode === PING) return void send(socket, PONG, payload.toString())
    if (opcode === CLOSE) {
      const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005
      // The instance stops, or the database did not answer.
      if (code !== 1001 && code !== 1013) faults.push(`closed with ${code}`)
      socket.destroy()
      return
    }
    const text = payload.toString()
    if (text.startsWith('{"type":"connection_ack"')) {
      const variables = { after: cursors.at(-1) ?? after }
      send(socket, TEXT, JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables } }))
      isSubscribed = true
      waitMs = 50
      return
    }
    const from = text.indexOf(CURSOR)
    if (from >= 0) cursors.push(text.slice(from + CURSOR.length, text.indexOf('"', from + CURSOR.length)))
    else if (text.includes('"UNAVAILABLE"')) socket.destroy()
    else if (text.includes('"errors"') || text.includes('"type":"error"')) faults.push(text)
  }

  open()
  return {
    cursors,
    faults,
    get isSubscribed() {
      return isSubscribed
    },
    close() {
      isClosed = true
      socket.destroy()
    },
  }
}

interface Frame {
  readonly opcode: number
  readonly payload: Buffer
  readonly end: number
}

/** The first frame of what a server has sent; undefined while it is incomplete. Servers do not mask. */
function readFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] as number) & 127
  const start = short === 126 ? 4 : short === 127 ? 10 : 2
  if (bytes.length < start) return undefined
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
  const end = start + length
  if (bytes.length < end) return undefined
  return { opcode: (bytes[0] as number) & 15, payload: bytes.subarray(start, end), end }
}

function send(socket: Socket, opcode: number, text: string): void {
  const payload = Buffer.from(text)
  const head = Buffer.alloc(payload.length < 126 ? 2 : 4)
  head[0] = 128 | opcode
  head[1] = 128 | Math.min(payload.length, 126)
  if (payload.length >= 126) head.writeUInt16BE(payload.length, 2)
  socket.write(Buffer.concat([head, MASK, payload]))
}
