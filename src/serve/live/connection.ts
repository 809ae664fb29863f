import { CloseCode } from 'graphql-ws'
import type { WebSocket } from 'ws'
import type { Logger } from '../../base/log.ts'
import { type AccessWatch, expiryOf, type Watched } from '../../callers/access-watch.ts'
import type { Beating } from './heartbeat.ts'
import type { Outlet } from './outlet.ts'

/** An open socket: its callers, and the operations that run on it. */
export class Connection implements Beating {
  readonly socket: WebSocket
  readonly outlet: Outlet
  /** What ends with the socket: the watches of its callers, and what the limits count. */
  readonly releases: (() => void)[] = []
  /** Every open stream, even when its id was reused before it began: nothing else refers to such a stream. */
  readonly streams = new Set<{ close(): void }>()
  /** Controllers of operations whose first message is being handled. */
  readonly begun: AbortController[] = []
  message = ''
  /** Operations that have begun and still work, including aborted ones. */
  working = 0
  expiresAt = Number.POSITIVE_INFINITY
  pingAt = 0
  isAlive = true
  readonly address: () => string

  constructor(socket: WebSocket, outlet: Outlet, address: () => string) {
    this.socket = socket
    this.address = address
    this.outlet = outlet
  }

  /** Closes the socket when a caller of it loses access. */
  hold(caller: Watched, watch: AccessWatch): void {
    this.releases.push(watch.watch(caller, (reason) => this.outlet.close(CloseCode.Forbidden, reason)))
    this.expiresAt = Math.min(this.expiresAt, expiryOf(caller))
    // The socket may have closed meanwhile. Then nothing else releases it.
    if (this.socket.readyState !== this.socket.OPEN) this.letGo()
  }

  letGo(): void {
    for (const release of this.releases.splice(0)) release()
  }

  /** Has `take` handle a message. Until then, the operations of the message count as working. */
  async handle(message: string, take: (message: string) => Promise<void>, log: Logger): Promise<void> {
    const before = this.working
    this.message = message
    const taken = take(message)
    // Only operations have been counted by now.
    const operations = this.working - before
    const begun = this.begun.splice(0)
    try {
      await taken
    } catch (error) {
      if (isMisuse(error)) return this.outlet.close(CloseCode.BadRequest, 'Invalid message received')
      log.error({ err: error }, 'a message over a WebSocket could not be handled')
      this.outlet.close(CloseCode.InternalServerError, 'internal error')
    } finally {
      this.working -= operations
      for (const answered of begun) answered.abort()
    }
  }
}

/** A message that only servers send, or one nested so deep that it cannot be answered: the sender's fault, not ours. */
function isMisuse(error: unknown): boolean {
  return (
    error instanceof RangeError || (error instanceof Error && error.message.startsWith('Unexpected message of type'))
  )
}
