import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { networkOf } from '../../base/rate-limits/client-address.ts'
import type { ConnectionLimits } from '../../base/rate-limits/connection-limits.ts'
import { Stall } from '../live/stall.ts'
import { createTurns, type Serve } from './turns.ts'
import { answerOf } from './upgrades.ts'

/** A connection is closed whose client takes nothing of an answer for this long: unread answers stay in memory. */
const UNREAD_SECONDS = 30
const READING_TURNS = 5
/** Turns of the event loop in which a closing server accepts connections, at most: they can come for ever. */
const MAX_ACCEPTING_TURNS = 100

/** The open connections of a server: which are closed, and when their answers say so. */
export class Connections {
  private readonly limits: ConnectionLimits | null
  private readonly stalls = new Map<Socket, Stall>()
  private readonly turns = createTurns()
  /** Connections that were accepted since the start. */
  private opened = 0
  /** Whether a connection was dropped since the last look, as there were too many. */
  private isFull = false
  private isDraining = false

  constructor(limits: ConnectionLimits | null) {
    this.limits = limits
  }

  /** Serves the requests of each connection in turn. The last answer of a draining connection closes it. */
  taking(next: Serve): Serve {
    const inOrder = this.turns.inTurn((request, response) => {
      if (this.isDraining) this.closeWith(response)
      next(request, response)
    })
    return (request, response) => {
      const running = answerOf(request.socket)
      // The answer to this request closes the connection instead.
      if (this.isDraining && running && !running.headersSent) running.removeHeader('connection')
      inOrder(request, response)
    }
  }

  private closeWith(answer: ServerResponse): void {
    if (!answer.headersSent && !this.turns.hasWaiting(answer.req.socket)) answer.setHeader('connection', 'close')
  }

  accept(socket: Socket): void {
    this.opened += 1
    this.stalls.set(socket, new Stall(socket, UNREAD_SECONDS))
    socket.once('close', () => this.stalls.delete(socket))
    if (this.limits === null) return
    const release = this.limits.hold('connections', networkOf(socket.remoteAddress ?? ''))
    if (release) socket.once('close', release)
    else socket.destroy()
  }

  noteDropped(): void {
    this.isFull = true
  }

  /** Once a second. Connections that wait for a next request make room when there is none. */
  tend(server: Server): void {
    for (const [socket, stall] of this.stalls) if (stall.tick()) socket.destroy()
    if (this.isFull) server.closeIdleConnections()
    this.isFull = false
  }

  /** From now on each answer closes its connection, also that of a call that runs. */
  drain(): void {
    this.isDraining = true
    for (const socket of this.stalls.keys()) {
      const answer = answerOf(socket)
      if (answer) this.closeWith(answer)
    }
  }

  /** Accepts the connections that wait for it. They would be reset when the server stops listening. */
  async acceptWaiting(): Promise<void> {
    for (let turn = 0, before = -1; turn < MAX_ACCEPTING_TURNS && before !== this.opened; turn += 1) {
      before = this.opened
      await new Promise(setImmediate)
    }
  }

  /** Node counts a connection as idle before its client has read the last answer, and would cut this answer off. */
  closeIdle(server: Server): void {
    for (const { writableLength } of this.stalls.keys()) if (writableLength > 0) return
    server.closeIdleConnections()
  }

  /** Closes the connections that have sent nothing. */
  async closeSilent(): Promise<void> {
    // What has arrived is read first, also when the process was frozen for as long.
    for (let turn = 0; turn < READING_TURNS; turn += 1) await new Promise(setImmediate)
    for (const socket of this.stalls.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  closeAll(): void {
    for (const socket of this.stalls.keys()) socket.destroy()
  }
}
