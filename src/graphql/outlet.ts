import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { PING, pongFrame, textFrame } from './frame.ts'
import { Stall } from './stall.ts'

/** With so much on its way out, a socket takes no more events until the network has taken it. */
const FULL_BYTES = 32 * 1024
/** With so much on its way out, nothing more is read: a client that asks on and on and takes no answer waits for itself. */
const MAX_BUFFERED_BYTES = 1024 * 1024

/** A sender that was asked for a pause. */
export interface Paused {
  resume(): void
}

/** Outlets with frames that leave at the end of this turn of the event loop. */
let dirty: Outlet[] = []

function flushAll(): void {
  const outlets = dirty
  dirty = []
  for (const outlet of outlets) outlet.flush()
}

/**
 * The way out of a WebSocket. Messages are framed once and written past `ws`, which would frame them for each socket;
 * `ws` itself only sends the closing frame. All frames of one turn of the event loop leave in one write.
 */
export class Outlet {
  private readonly socket: WebSocket
  private readonly connection: Socket
  private frames: Buffer[] = []
  private bytes = 0
  /** Called once the network has taken the frames of this turn, or the socket has closed. */
  private onTaken: (() => void)[] = []
  /** Senders that wait for the same. */
  private paused: Paused[] = []
  readonly stall: Stall

  constructor(socket: WebSocket, connection: Socket) {
    this.socket = socket
    this.connection = connection
    this.stall = new Stall(connection)
    // `ws` would answer a client without end that takes no answer.
    socket.on('ping', (data) => void this.deliver(pongFrame(data)))
  }

  /** Sends a message. Resolves when the network has taken it, or the socket has closed. */
  send(message: string): Promise<void> {
    return this.deliver(textFrame([Buffer.from(message)]))
  }

  /** Sends frames that other sockets may share. False asks the sender for a pause: it is resumed when there is room. */
  take(frames: Buffer, sender: Paused): boolean {
    // While it closes nothing is sent any more: a replay would be read for nobody.
    if (this.socket.readyState !== WebSocket.OPEN) return false
    this.push(frames)
    if (this.bytes + this.connection.writableLength < FULL_BYTES) return true
    this.paused.push(sender)
    return false
  }

  /** Writes what has gathered. After the closing frame nothing may follow. */
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

  /** Closes the socket behind all that was sent. */
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
