import { randomBytes, randomUUID } from 'node:crypto'
import { createConnection, type Socket } from 'node:net'
import { monotonicMs } from './calls.ts'

// Thousands of listeners, in a process of their own. Each is a plain socket whose frames are counted by their lengths
// and not read, because a client library would use more CPU than the measured service.

/** A crowd that connects: sockets of one kind, to one server. */
export interface Opening {
  readonly ask: 'open'
  readonly crowd: string
  readonly port: number
  readonly count: number
  /** The subscription of each socket, in the protocol `graphql-transport-ws`. Without it, a socket only receives. */
  readonly subscription?: Subscription
}

export interface Subscription {
  readonly query: string
  /** The `connectionParams.authorization` of each socket in turn. */
  readonly authorizations: readonly string[]
}

export type Asked =
  | Opening
  /** Answers with the time at which the whole crowd had received `total` messages. */
  | { readonly ask: 'reach'; readonly crowd: string; readonly total: number }
  | { readonly ask: 'count'; readonly crowd: string }
  /** Resets the counts. */
  | { readonly ask: 'reset'; readonly crowd: string }
  /** Answers with the time of each socket's last message. */
  | { readonly ask: 'arrivals'; readonly crowd: string }
  | { readonly ask: 'close'; readonly crowd: string }
  /** Closes all sockets of all crowds. */
  | { readonly ask: 'closeAll' }

export interface Count {
  readonly total: number
  /** The least and the most messages that a socket received, and the least and the most bytes. */
  readonly least: number
  readonly most: number
  readonly leastBytes: number
  readonly mostBytes: number
  /** The number of sockets that their server closed, and why it closed the first. */
  readonly lost: number
  readonly firstLoss: string | null
  /** All messages of the first socket, and the first message of any other. */
  readonly texts: readonly string[]
  readonly sample: string | null
}

export type Question = Asked & { readonly id: number }
export type Answer = { readonly id: number; readonly result?: unknown; readonly error?: string }

/** Sockets that connect at the same time. */
const AT_ONCE = 100
const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10
const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8])
const CLOSE_MS = 5_000

/** A frame of a client. Its mask is zero, which leaves the payload unchanged. */
function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const isLong = length > 125
  const head = Buffer.alloc(isLong ? 8 : 6)
  head[0] = 0x80 | opcode
  head[1] = 0x80 | (isLong ? 126 : length)
  if (isLong) head.writeUInt16BE(length, 2)
  return Buffer.concat([head, payload])
}

const say = (message: object): Buffer => frame(TEXT, Buffer.from(JSON.stringify(message)))

/** All sockets read into this buffer, as they process what they read at once. */
const received = Buffer.alloc(256 * 1024)

class Crowd {
  readonly listeners: Listener[] = []
  total = 0
  lastAt = 0
  lost = 0
  firstLoss: string | null = null
  texts: string[] = []
  sample: string | null = null
  private target = Number.POSITIVE_INFINITY
  private onTarget: (at: number) => void = () => {}

  async open({ port, count, subscription }: Opening): Promise<void> {
    const openSome = async (): Promise<void> => {
      while (this.listeners.length < count) {
        const index = this.listeners.length
        const { query, authorizations } = subscription ?? {}
        const authorization = authorizations?.[index % authorizations.length]
        const listener = new Listener(this, index === 0, authorization === undefined ? null : { authorization, query })
        this.listeners.push(listener)
        await listener.open(port)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, openSome))
  }

  hears(): void {
    this.total += 1
    if (this.total === this.target) this.onTarget(this.lastAt)
  }

  loses(why: string): void {
    this.lost += 1
    this.firstLoss ??= why
  }

  reach(total: number): Promise<number> {
    if (this.total >= total) return Promise.resolve(this.lastAt)
    return new Promise((resolve) => {
      this.target = total
      this.onTarget = resolve
    })
  }

  reset(): void {
    this.total = 0
    this.texts = []
    this.sample = null
    this.target = Number.POSITIVE_INFINITY
    for (const listener of this.listeners) listener.reset()
  }

  count(): Count {
    const { total, lost, firstLoss, texts, sample } = this
    const heard = this.listeners.map((listener) => listener.heard)
    const bytes = this.listeners.map((listener) => listener.bytes)
    const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0)
    return {
      ...{ total, lost, firstLoss, texts, sample },
      ...{ least: least(heard), most: most(heard), leastBytes: least(bytes), mostBytes: most(bytes) },
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.listeners.map((listener) => listener.close()))
  }
}

type Phase = 'handshake' | 'acknowledgement' | 'listening' | 'closed'

class Listener {
  heard = 0
  bytes = 0
  at = 0
  private readonly crowd: Crowd
  private readonly keeps: boolean
  private readonly subscribes: { readonly authorization: string; readonly query?: string } | null
  private socket: Socket | undefined
  private phase: Phase = 'handshake'
  private opened: (error?: Error) => void = () => {}
  /** The bytes before the first frame. */
  private greeting = ''
  private readonly head = new Uint8Array(10)
  private headLength = 0
  /** The bytes of the current frame that have not arrived; 0 between frames. */
  private rest = 0
  private isInFrame = false
  private kept: Buffer[] | undefined

  constructor(crowd: Crowd, keeps: boolean, subscribes: Listener['subscribes']) {
    this.crowd = crowd
    this.keeps = keeps
    this.subscribes = subscribes
  }

  open(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.opened = (error) => (error ? reject(error) : resolve())
      const onread = {
        buffer: received,
        callback: (length: number) => {
          this.take(length)
          return true
        },
      }
      const socket = createConnection({ port, host: '127.0.0.1', noDelay: true, onread }, () => {
        const protocol = this.subscribes ? 'Sec-WebSocket-Protocol: graphql-transport-ws\r\n' : ''
        const key = randomBytes(16).toString('base64')
        socket.write(
          `GET /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n${protocol}\r\n`,
        )
      })
      socket.on('error', (error) => this.lose(error.message))
      socket.on('close', () => this.lose('closed without a reason'))
      this.socket = socket
    })
  }

  reset(): void {
    this.heard = 0
    this.bytes = 0
    this.at = 0
  }

  /** Sends a close frame as clients do. Destroys the socket if the server does not answer. */
  close(): Promise<void> {
    this.phase = 'closed'
    const { socket } = this
    if (!socket || socket.destroyed) return Promise.resolve()
    return new Promise((resolve) => {
      const giveUp = setTimeout(() => socket.resetAndDestroy(), CLOSE_MS)
      socket.once('close', () => {
        clearTimeout(giveUp)
        resolve()
      })
      socket.write(frame(CLOSE, NORMAL_CLOSURE))
    })
  }

  private lose(why: string): void {
    if (this.phase === 'closed') return
    this.phase = 'closed'
    this.crowd.loses(why)
    this.opened(new Error(`a listener could not subscribe: ${why}`))
    this.socket?.destroy()
  }

  private take(length: number): void {
    if (this.phase === 'closed') return
    let at = this.phase === 'handshake' ? this.greet(length) : 0
    while (at < length) {
      if (!this.isInFrame) {
        this.head[this.headLength] = received[at] ?? 0
        this.headLength += 1
        at += 1
        this.beginFrame()
        continue
      }
      const taken = Math.min(this.rest, length - at)
      this.kept?.push(Buffer.from(received.subarray(at, at + taken)))
      this.rest -= taken
      at += taken
      if (this.rest === 0) this.endFrame()
    }
  }

  /** Returns the offset at which the answer to the handshake ends. */
  private greet(length: number): number {
    const before = this.greeting.length
    this.greeting += received.toString('latin1', 0, length)
    const end = this.greeting.indexOf('\r\n\r\n')
    if (end === -1) return length
    if (!this.greeting.startsWith('HTTP/1.1 101 ')) this.lose(this.greeting.slice(0, 100))
    else if (this.subscribes) {
      this.phase = 'acknowledgement'
      const { authorization } = this.subscribes
      this.socket?.write(say({ type: 'connection_init', payload: { authorization } }))
    } else this.listen()
    this.greeting = ''
    return end + 4 - before
  }

  private listen(): void {
    this.phase = 'listening'
    this.opened()
  }

  /** Reads the length of a frame, once its bytes have arrived. */
  private beginFrame(): void {
    if (this.headLength < 2) return
    const [first = 0, second = 0] = this.head
    const short = second & 0x7f
    const size = short < 126 ? 2 : short === 126 ? 4 : 10
    if (this.headLength < size) return
    const view = new DataView(this.head.buffer)
    this.rest = size === 2 ? short : size === 4 ? view.getUint16(2) : Number(view.getBigUint64(2))
    this.isInFrame = true
    const isMessage = (first & 0x0f) < CLOSE
    const isKept = !isMessage || this.phase !== 'listening' || this.keeps || this.crowd.sample === null
    this.kept = isKept ? [] : undefined
    if (isMessage) this.bytes += this.rest
    if (this.rest === 0) this.endFrame()
  }

  private endFrame(): void {
    const [first = 0] = this.head
    this.isInFrame = false
    this.headLength = 0
    const { kept } = this
    this.kept = undefined
    const opcode = first & 0x0f
    if (opcode >= CLOSE) this.control(opcode, Buffer.concat(kept ?? []))
    else if ((first & 0x80) === 0) this.lose('a message was fragmented')
    else if (this.phase === 'acknowledgement') this.acknowledge(Buffer.concat(kept ?? []).toString())
    else this.hear(kept && Buffer.concat(kept).toString())
  }

  private hear(text: string | undefined): void {
    this.heard += 1
    // Set for a message only: other bytes may be a ping.
    this.at = monotonicMs()
    this.crowd.lastAt = this.at
    if (text !== undefined) {
      if (this.keeps) this.crowd.texts.push(text)
      else this.crowd.sample = text
    }
    this.crowd.hears()
  }

  private control(opcode: number, payload: Buffer): void {
    if (opcode === PING) this.socket?.write(frame(PONG, payload))
    if (opcode !== CLOSE) return
    this.lose(payload.length < 2 ? 'closed' : `closed with ${payload.readUInt16BE(0)} ${payload.subarray(2)}`)
  }

  private acknowledge(text: string): void {
    if (!text.includes('"connection_ack"')) {
      this.lose(text)
      return
    }
    this.bytes = 0
    const { query } = this.subscribes ?? {}
    // An id like those of graphql-ws and Apollo clients.
    this.socket?.write(say({ id: randomUUID(), type: 'subscribe', payload: { query } }))
    this.listen()
  }
}

const crowds = new Map<string, Crowd>()

async function answer(asked: Asked): Promise<unknown> {
  if (asked.ask === 'open') {
    const crowd = new Crowd()
    crowds.set(asked.crowd, crowd)
    return crowd.open(asked)
  }
  if (asked.ask === 'closeAll') {
    await Promise.all([...crowds.values()].map((crowd) => crowd.close()))
    return crowds.clear()
  }
  const crowd = crowds.get(asked.crowd)
  if (!crowd) throw new Error(`there is no crowd ${asked.crowd}`)
  switch (asked.ask) {
    case 'reach':
      return crowd.reach(asked.total)
    case 'count':
      return crowd.count()
    case 'reset':
      return crowd.reset()
    case 'arrivals':
      return crowd.listeners.map(({ heard, at }) => (heard > 0 ? at : null))
    case 'close':
      crowds.delete(asked.crowd)
      return crowd.close()
  }
}

process.on('message', ({ id, ...asked }: Question) => {
  answer(asked).then(
    (result) => process.send?.({ id, result } satisfies Answer),
    (error) => process.send?.({ id, error: String(error) } satisfies Answer),
  )
})
// The benchmark that started it has ended.
process.on('disconnect', () => process.exit())
