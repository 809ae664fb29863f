import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { PING, pongFrame, textFrame } from './frame.ts'
import { Stall } from './stall.ts'

/** With this many unsent bytes, a socket receives no more events until the network has taken them. */
const FULL_BYTES = 32 * 1024
/**
 * With this many unsent bytes, nothing more is read from the client: a client that sends requests and reads no answers
 * only blocks itself.
 */
const MAX_BUFFERED_BYTES = 1024 * 1024

export interface Paused {
  resume(): void
}

/** Outlets with frames that are sent at the end of this turn of the event loop. */
let dirty: Outlet[] = []

function flushAll(): void {
  const outlets = dirty
  dirty = []
  for (const outlet of outlets) outlet.flush()
}

/**
 * The output of a WebSocket. Messages are framed once and written past `ws`, which would frame them for each socket;
 * `ws` itself sends only the closing frame. All frames of one turn of the event loop are sent in one write.
 */
export class Outlet {
  private readonly socket: WebSocket
  private readonly connection: Socket
  private frames: Buffer[] = []
  private bytes = 0
  /** Called once the network has taken the frames of this turn, or the socket has closed. */
  private onTaken: (() => void)[] = []
  /** Senders that are paused until the network has taken the frames of this turn. */
  private paused: Paused[] = []
  readonly stall: Stall

  constructor(socket: WebSocket, connection: Socket) {
    this.socket = socket
    this.connection = connection
    this.stall = new Stall(connection)
    // `ws` would queue pongs without a limit for a client that reads nothing.
    socket.on('ping', (data) => void this.deliver(pongFrame(data)))
  }

  /** Sends a message. Resolves when the network has taken it, or the socket has closed. */
  send(message: string): Promise<void> {
    return this.deliver(textFrame([Buffer.from(message)]))
  }

  /** Sends frames that other sockets may share. False asks the sender to pause until there is room. */
  take(frames: Buffer, sender: Paused): boolean {
    // A closing socket sends nothing more: replayed events would be read in vain.
    if (this.socket.readyState !== WebSocket.OPEN) return false
    this.push(frames)
    if (this.bytes + this.connection.writableLength < FULL_BYTES) return true
    this.paused.push(sender)
    return false
  }

  /** Writes the collected frames. Nothing may follow the closing frame. */
  flush(): void {
    const { frames, onTaken, paused, connection, socket } = this
    if (frames.length === 0) return
    this.frames = []
    this.onTaken = []
    this.paused = []
    const isMuch = this.bytes + connection.writableLength > MAX_BUFFERED_BYTES
    const isAwaited = onTaken.length > 0 || paused.length > 0 || isMuch
    const done = isAwaited ? () => this.wasTaken(onTaken, paused) : undefined
    this.bytes = 0
    if (socket.readyState !== WebSocket.OPEN) {
      done?.()
      return
    }
    connection.write(frames.length === 1 && frames[0] ? frames[0] : Buffer.concat(frames), done)
    if (connection.writableLength > MAX_BUFFERED_BYTES) socket.pause()
  }

  ping(): void {
    if (this.socket.readyState === WebSocket.OPEN) this.push(PING)
  }

  /** Closes the socket after everything that was sent. */
  close(code: number, reason: string): void {
    this.flush()
    this.socket.close(code, reason)
  }

  private deliver(frame: Buffer): Promise<void> {
    return new Promise((resolve) => {
      if (this.socket.readyState !== WebSocket.OPEN) return resolve()
      this.push(frame)
      this.onTaken.push(resolve)
    })
  }

  private push(frames: Buffer): void {
    if (this.frames.push(frames) === 1) {
      if (dirty.push(this) === 1) process.nextTick(flushAll)
    }
    this.bytes += frames.length
  }

  private wasTaken(onTaken: readonly (() => void)[], paused: readonly Paused[]): void {
    const { socket, connection } = this
    if (socket.isPaused && connection.writableLength <= MAX_BUFFERED_BYTES) socket.resume()
    for (const call of onTaken) call()
    if (socket.readyState === WebSocket.OPEN) for (const sender of paused) sender.resume()
  }
}
