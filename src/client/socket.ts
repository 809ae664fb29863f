import { parsed } from './answers.ts'
import { TierwayError } from './error.ts'
import type { PlatformSocket, Signal } from './platform.ts'
import { isObject } from './shape.ts'

/** A connection is acknowledged in this time, and carries a sign of life in each such time. */
const BEAT_MS = 10_000
/** After this many sockets in a row that could not be opened although calls are answered, the network lets none through. */
const ATTEMPTS = 3
/** Then events come over HTTP for this long, before the next socket is tried. */
const BLOCKED_MS = 300_000
/** The code by which the service closes a socket whose credentials it does not accept. */
const FORBIDDEN = 4403

/**
 * The WebSockets of a client: one for all subscriptions with one token. Browsers make six connections to a host for all
 * tabs together, and a stream over HTTP keeps one of them; sockets do not count.
 */
export class Sockets {
  readonly #url: string
  #link: Link | undefined
  #failed = 0
  #blockedUntil = 0

  constructor(baseUrl: string) {
    this.#url = `${baseUrl.replace(/^http/i, 'ws').replace(/\/+$/, '')}/graphql`
  }

  /** The time until a socket may be tried, in milliseconds: 0 is now. Infinite where the platform has none. */
  get blockedMs(): number {
    return platform.WebSocket ? Math.max(this.#blockedUntil - performance.now(), 0) : Number.POSITIVE_INFINITY
  }

  /**
   * The results of a subscription, until the service ends it. Throws when the connection breaks. `call` is any call to
   * the service: whether it is answered distinguishes a network without sockets from no network.
   */
  async *subscribe(
    authorization: string,
    body: object,
    { signal, call }: { readonly signal: Signal; readonly call: () => Promise<unknown> },
  ): AsyncGenerator<unknown, void, undefined> {
    const link = this.#linkOf(authorization)
    try {
      yield* link.subscribe(body, signal)
    } catch (error) {
      if (link.isReady || TierwayError.is(error) || signal.aborted || this.#link !== link) throw error
      // Of all subscriptions of this socket, the first one counts it.
      this.#link = undefined
      await call()
      this.#failed += link.isLate ? ATTEMPTS : 1
      if (this.#failed >= ATTEMPTS) this.#block()
      throw error
    } finally {
      if (link.isReady) this.#failed = 0
    }
  }

  #linkOf(authorization: string): Link {
    if (this.#link?.authorization === authorization && !this.#link.isOver) return this.#link
    try {
      this.#link = new Link(this.#url, authorization)
      return this.#link
    } catch (error) {
      // The policy of the page allows no sockets.
      this.#block()
      throw error
    }
  }

  #block(): void {
    this.#blockedUntil = performance.now() + BLOCKED_MS
  }
}

type Message = { readonly type?: unknown; readonly id?: unknown; readonly payload?: unknown }

/** What arrives for a subscription, or the error that ends it. */
type Arrival = Message | Error

const platform = globalThis as { WebSocket?: new (url: string, protocol: string) => PlatformSocket }

/** One connection, in the protocol `graphql-transport-ws`. It is closed when no subscription is left. */
class Link {
  readonly authorization: string
  /** The service has acknowledged the connection. */
  isReady = false
  /** The service did not do so in time. */
  isLate = false
  isOver = false
  readonly #socket: PlatformSocket
  readonly #streams = new Map<string, { readonly body: object; readonly take: (arrival: Arrival) => void }>()
  readonly #timer: ReturnType<typeof setInterval>
  #isHeard = true
  #started = 0

  constructor(url: string, authorization: string) {
    this.authorization = authorization
    this.#socket = new (platform.WebSocket as NonNullable<typeof platform.WebSocket>)(url, 'graphql-transport-ws')
    this.#socket.onopen = () => this.#send({ type: 'connection_init', payload: { authorization } })
    this.#socket.onmessage = ({ data }) => this.#hear(data)
    this.#socket.onclose = ({ code }) => this.#end(code)
    // The close that follows says it, too.
    this.#socket.onerror = () => undefined
    this.#timer = setInterval(() => this.#beat(), BEAT_MS)
  }

  async *subscribe(body: object, signal: Signal): AsyncGenerator<unknown, void, undefined> {
    this.#started += 1
    const id = String(this.#started)
    const arrived: Arrival[] = []
    let wake = (): void => undefined
    const take = (arrival: Arrival): void => {
      arrived.push(arrival)
      wake()
    }
    const abort = () => take({ type: 'complete' })
    signal.addEventListener('abort', abort)
    this.#streams.set(id, { body, take })
    if (this.isReady) this.#start(id, body)
    try {
      for (;;) {
        const arrival = arrived.shift()
        if (arrival instanceof Error) throw arrival
        if (arrival?.type === 'complete') return
        if (arrival) yield arrival.type === 'next' ? arrival.payload : { errors: arrival.payload }
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    } finally {
      signal.removeEventListener('abort', abort)
      this.#streams.delete(id)
      if (this.#streams.size === 0) this.#end()
      else if (this.isReady) this.#send({ id, type: 'complete' })
    }
  }

  #hear(data: unknown): void {
    this.#isHeard = true
    const message = messageIn(data)
    const { type, id } = message
    if (type === 'connection_ack') {
      this.isReady = true
      for (const [own, { body }] of this.#streams) this.#start(own, body)
    } else if (type === 'ping') this.#send({ type: 'pong' })
    else if (type === 'next' || type === 'error' || type === 'complete') this.#streams.get(String(id))?.take(message)
    else if (type !== 'pong') this.#end()
  }

  /** Browsers answer the pings of the service by themselves, and show none to the page: it sends its own. */
  #beat(): void {
    this.isLate = !this.isReady
    if (this.isLate || !this.#isHeard) this.#end()
    else this.#send({ type: 'ping' })
    this.#isHeard = false
  }

  #start(id: string, body: object): void {
    this.#send({ id, type: 'subscribe', payload: body })
  }

  /** What is sent to a closing socket is dropped. */
  #send(message: Message): void {
    this.#socket.send(JSON.stringify(message))
  }

  #end(code?: number): void {
    if (this.isOver) return
    this.isOver = true
    clearInterval(this.#timer)
    this.#socket.close()
    const isRefused = !this.isReady && code === FORBIDDEN
    const error = isRefused ? new TierwayError({ code: 'invalid_token', status: 401 }) : new Error('the socket closed')
    for (const { take } of this.#streams.values()) take(error)
  }
}

/** Without a type when it did not come from the service. */
function messageIn(data: unknown): Message {
  try {
    const message = parsed(String(data))
    return isObject(message) ? message : {}
  } catch {
    return {}
  }
}
