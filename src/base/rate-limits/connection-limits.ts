import { Refusal } from '../errors.ts'
import { readLimits } from './read-limits.ts'

/** The connection limits by name, with the connections that each counts. */
export const CONNECTION_LIMITS = {
  connections: 'connections of an address, WebSockets included',
  sockets: 'WebSockets and event streams of a client address',
  caller_sockets: 'WebSockets and event streams of a player or key',
  caller_subscriptions: 'subscriptions of a player or platform key',
} as const

export type ConnectionLimitName = keyof typeof CONNECTION_LIMITS

/** Null turns a limit off. */
export type ConnectionLimitSettings = Readonly<Record<ConnectionLimitName, number | null>>

/** High enough for a whole town behind one address, and for a studio's dashboards that share one key. */
const DEFAULTS: ConnectionLimitSettings = {
  connections: 50_000,
  sockets: 20_000,
  caller_sockets: 5_000,
  caller_subscriptions: 20_000,
}
const MAX = 1_000_000_000

export const readConnectionLimits = (text: string | null, faults: string[]): ConnectionLimitSettings =>
  readLimits<ConnectionLimitName, number>(text, faults, {
    variable: 'CONNECTION_LIMITS',
    example: 'sockets=500',
    form: '\\d{1,10}',
    bounds: `1 to ${MAX}`,
    defaults: DEFAULTS,
    read(value) {
      const limit = Number.parseInt(value, 10)
      return limit >= 1 && limit <= MAX ? limit : undefined
    },
  })

export interface ConnectionLimitsOptions {
  readonly settings: ConnectionLimitSettings
  readonly onLimited: (name: ConnectionLimitName) => void
}

/** Counts open connections and subscriptions on this instance. */
export class ConnectionLimits {
  private readonly options: ConnectionLimitsOptions
  private readonly open = new Map<string, number>()

  constructor(options: ConnectionLimitsOptions) {
    this.options = options
  }

  /**
   * Counts one more connection or subscription of an address or a caller. Returns a function that ends the count;
   * undefined when the limit is reached.
   */
  hold(name: ConnectionLimitName, holder: string): (() => void) | undefined {
    const limit = this.options.settings[name]
    if (limit === null) return () => undefined
    const key = `${name} ${holder}`
    const count = this.open.get(key) ?? 0
    if (count >= limit) {
      this.options.onLimited(name)
      return undefined
    }
    this.open.set(key, count + 1)
    let isHeld = true
    return () => {
      if (isHeld) this.letGo(key)
      isHeld = false
    }
  }

  /** Counts one more of each, or refuses: then none is counted. Returns a function that ends the counts. */
  holdAll(holders: readonly (readonly [ConnectionLimitName, holder: string])[]): () => void {
    const held: (() => void)[] = []
    const release = (): void => {
      for (const letGo of held) letGo()
    }
    for (const [name, holder] of holders) {
      const letGo = this.hold(name, holder)
      if (!letGo) {
        release()
        const message = `too many are open: ${CONNECTION_LIMITS[name]}`
        throw new Refusal('subscriptionLimitExceeded', { faults: [{ path: '', message }] })
      }
      held.push(letGo)
    }
    return release
  }

  /** Holders in memory: those with an open connection or subscription. */
  get size(): number {
    return this.open.size
  }

  private letGo(key: string): void {
    const count = (this.open.get(key) ?? 1) - 1
    if (count > 0) this.open.set(key, count)
    else this.open.delete(key)
  }
}
