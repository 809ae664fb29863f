import { createSemaphore } from '../base/semaphore.ts'
import { StreamBuffer } from './buffer.ts'
import type { Bus } from './bus.ts'
import type { StreamEvent } from './catalogue.ts'
import type { StreamReader } from './read-stream.ts'

/** Pages of single players that are read at once. Many players can return together, and the game needs the database. */
const MAX_PLAYER_READS = 2
/** How often the ends of the streams are compared with the database: a lost signal delays events and loses none. */
const QUIET_MS = 1_000

export interface BuffersOptions {
  readonly reader: StreamReader
  readonly bus: Bus
  readonly onError: (error: unknown) => void
  readonly onExpired: (environmentId: string) => void
  readonly onDelivery: (event: StreamEvent) => void
}

/** One buffer for each environment with a subscription. */
export class Buffers {
  /** Those that have read the end of their stream, by environment. */
  readonly begun = new Map<string, StreamBuffer>()
  private readonly options: BuffersOptions
  private readonly playerReads = createSemaphore(MAX_PLAYER_READS)
  private readonly opening = new Map<string, Promise<StreamBuffer>>()
  private quiet: NodeJS.Timeout | undefined

  constructor(options: BuffersOptions) {
    this.options = options
  }

  /** The buffer of an environment, which stays until the one who joined leaves it. */
  async join(environmentId: string): Promise<StreamBuffer> {
    for (;;) {
      const opening = this.acquire(environmentId)
      const buffer = await opening
      // Its last subscription may have ended in the meantime.
      if (this.opening.get(environmentId) !== opening) continue
      buffer.join()
      return buffer
    }
  }

  /** Ends the comparison with the database. */
  stop(): void {
    clearTimeout(this.quiet)
  }

  private acquire(environmentId: string): Promise<StreamBuffer> {
    const known = this.opening.get(environmentId)
    if (known) return known
    const opening = this.begin(environmentId)
    this.opening.set(environmentId, opening)
    opening.catch(() => this.opening.delete(environmentId))
    return opening
  }

  private async begin(environmentId: string): Promise<StreamBuffer> {
    const { begun, playerReads } = this
    const { reader, bus, onError, onExpired, onDelivery } = this.options
    const forget = () => {
      if (begun.get(environmentId) !== buffer) return
      leave()
      this.opening.delete(environmentId)
      begun.delete(environmentId)
      if (begun.size === 0) clearTimeout(this.quiet)
    }
    const buffer = new StreamBuffer({
      environmentId,
      reader,
      playerReads,
      onError,
      onDelivery,
      onIdle: forget,
      onExpired: () => {
        if (begun.get(environmentId) === buffer) onExpired(environmentId)
        forget()
      },
    })
    // Signals arrive before the end is read, so nothing falls in between.
    const leave = await bus.subscribe(environmentId, buffer)
    try {
      buffer.begin(await reader.end(environmentId))
    } catch (error) {
      leave()
      throw error
    }
    if (begun.size === 0) this.scheduleQuiet()
    begun.set(environmentId, buffer)
    return buffer
  }

  private scheduleQuiet(): void {
    clearTimeout(this.quiet)
    this.quiet = setTimeout(() => this.compareEnds(), QUIET_MS).unref()
  }

  /** One statement for all environments, once a second. */
  private async compareEnds(): Promise<void> {
    const { begun } = this
    const { reader, onError } = this.options
    const known = new Map<StreamBuffer, bigint>()
    for (const buffer of begun.values()) {
      buffer.tick()
      known.set(buffer, buffer.head)
    }
    try {
      for (const [environmentId, end] of await reader.ends([...begun.keys()])) {
        const buffer = begun.get(environmentId)
        if (buffer) buffer.compare(known.get(buffer) ?? 0n, end)
      }
    } catch (error) {
      onError(error)
    }
    if (begun.size > 0) this.scheduleQuiet()
  }
}
