import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Stall } from './stall.ts'

/** How long readers may take to receive the end when the service stops. */
const CLOSE_TIMEOUT_MS = 2_000

/** The answers that go on for as long as their clients read. */
export class Readers {
  private readonly open = new Set<ServerResponse>()

  /** Adds an answer that has begun. Its connection is closed when the client does not read. */
  add(response: ServerResponse): void {
    if (response.closed) return
    this.open.add(response)
    response.once('close', () => this.open.delete(response))
    if (response.socket) dropStalled(response.socket)
  }

  /** Call it when the streams have ended. Waits until the rest is sent, with a limit. */
  async stop(): Promise<void> {
    const { open } = this
    const closed = Promise.all([...open].map((response) => new Promise((resolve) => response.once('close', resolve))))
    const timer = setTimeout(() => {
      for (const response of open) response.destroy()
    }, CLOSE_TIMEOUT_MS)
    await closed
    clearTimeout(timer)
  }
}

/** Closes the connection of a reader that does not read. A last message would wait behind unread ones. */
function dropStalled(socket: Socket): void {
  const stall = new Stall(socket)
  const timer = setInterval(() => {
    if (stall.tick()) socket.destroy()
  }, 1_000).unref()
  socket.once('close', () => clearInterval(timer))
}
