import type { Socket } from 'node:net'

/** A subscriber that takes nothing for this long is ended. */
const STALL_SECONDS = 10

/**
 * Notices a connection that takes none of the bytes that wait for it. Seconds are counted, not taken from a clock:
 * seconds in which the service itself was frozen are not the client's fault. The network's own buffers, some megabytes,
 * count as taken.
 */
export class Stall {
  private readonly connection: Socket
  private readonly most: number
  private seconds = 0
  private taken = 0

  /** `most`: the seconds after which a connection that takes nothing has stalled. */
  constructor(connection: Socket, most = STALL_SECONDS) {
    this.connection = connection
    this.most = most
  }

  /** To be called once a second. True when nothing was taken for this many calls. */
  tick(): boolean {
    const { connection } = this
    if (connection.writableLength === 0) {
      this.seconds = 0
      return false
    }
    const taken = connection.bytesWritten - connection.writableLength
    this.seconds = taken === this.taken ? this.seconds + 1 : 0
    this.taken = taken
    return this.seconds >= this.most
  }

  /** True when nothing was taken since the last call of {@link tick}. */
  get isStanding(): boolean {
    return this.seconds > 0
  }
}
