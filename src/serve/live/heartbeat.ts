import type { WebSocket } from 'ws'
import type { Outlet } from './outlet.ts'

/** A socket ends when nothing is received of it between a ping and the next one. */
const PING_SECONDS = 12
/** Sockets that are pinged in one turn of the event loop. Many may have opened in the same second. */
const SLICE = 128
/** Tokens end at full seconds. The check runs this long after each. */
const AFTER_SECOND_MS = 5

export interface Beating {
  readonly socket: WebSocket
  readonly outlet: Outlet
  /** When the token of the caller ends, in milliseconds since 1970. */
  expiresAt: number
  /** The beat at which the next ping is due. */
  pingAt: number
  /** Whether it was heard since the last ping. */
  isAlive: boolean
}

export interface HeartbeatOptions<T extends Beating> {
  readonly onExpired: (socket: T) => void
  readonly onStalled: (socket: T) => void
}

/**
 * Checks every open socket once a second: pings it, and notices an expired token, a client that is gone without a
 * close, and one that does not read. It counts seconds in which it ran, not clock time: seconds in which the service
 * itself was frozen are not the client's fault.
 */
export class Heartbeat<T extends Beating> {
  private readonly options: HeartbeatOptions<T>
  readonly sockets = new Set<T>()
  private beats = 0
  private timer: NodeJS.Timeout | undefined

  constructor(options: HeartbeatOptions<T>) {
    this.options = options
  }

  add(socket: T): void {
    socket.pingAt = this.beats + PING_SECONDS
    this.sockets.add(socket)
    this.schedule()
  }

  delete(socket: T): void {
    this.sockets.delete(socket)
  }

  private schedule(): void {
    if (this.sockets.size === 0) return
    const delay = 1_000 - (Date.now() % 1_000) + AFTER_SECOND_MS
    this.timer ??= setTimeout(() => this.beat(), delay).unref()
  }

  private beat(): void {
    this.timer = undefined
    this.beats += 1
    const now = Date.now()
    const due: T[] = []
    for (const socket of this.sockets) {
      if (socket.expiresAt <= now) this.options.onExpired(socket)
      if (socket.outlet.stall.tick()) this.options.onStalled(socket)
      if (socket.pingAt <= this.beats) due.push(socket)
    }
    this.ping(due)
    this.schedule()
  }

  private ping(due: readonly T[]): void {
    for (const one of due.slice(0, SLICE)) {
      one.pingAt = this.beats + PING_SECONDS
      // A stalled client can read the ping only after everything sent before. Stalls have their own limit.
      if (!one.isAlive && !one.outlet.stall.isStanding) one.socket.terminate()
      one.isAlive = false
      one.outlet.ping()
    }
    if (due.length > SLICE) setImmediate(() => this.ping(due.slice(SLICE)))
  }
}
