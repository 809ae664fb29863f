/** The limits of what is open at once, by name: what is counted, and by whom. */
export const CONNECTION_LIMITS = {
  connections: 'connections of an address, WebSockets included',
  sockets: 'WebSockets and event streams of a client address',
  caller_sockets: 'WebSockets and event streams of a player or platform key',
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
const NONE: ConnectionLimitSettings = {
  connections: null,
  sockets: null,
  caller_sockets: null,
  caller_subscriptions: null,
}
const MAX = 1_000_000_000

/**
 * Reads `CONNECTION_LIMITS`: `off`, or entries such as `sockets=500` and `connections=off`, separated by commas. Other
 * limits keep their defaults.
 */
export function readConnectionLimits(text: string | null, faults: string[]): ConnectionLimitSettings {
  if (text === 'off') return NONE
  const found: Partial<Record<ConnectionLimitName, number | null>> = {}
  for (const entry of text === null ? [] : text.split(',')) {
    const [, name = '', count = ''] = /^\s*(\w+)\s*=\s*(off|\d{1,10})\s*$/.exec(entry) ?? []
    const limit = Number.parseInt(count, 10)
    if (!isName(name)) {
      faults.push(`CONNECTION_LIMITS must be off, or a list such as sockets=500; "${entry.trim()}" is no entry`)
    } else if (name in found) {
      faults.push(`CONNECTION_LIMITS must name ${name} once`)
    } else if (count === 'off') {
      found[name] = null
    } else if (limit < 1 || limit > MAX) {
      faults.push(`CONNECTION_LIMITS must allow 1 to ${MAX} for ${name}`)
    } else {
      found[name] = limit
    }
  }
  return { ...DEFAULTS, ...found }
}

const isName = (name: string): name is ConnectionLimitName => Object.hasOwn(CONNECTION_LIMITS, name)

export interface ConnectionLimitsOptions {
  readonly settings: ConnectionLimitSettings
  /** Called for each refusal. */
  readonly onLimited: (name: ConnectionLimitName) => void
}

/** Counts what is open on this instance. */
export class ConnectionLimits {
  private readonly options: ConnectionLimitsOptions
  private readonly open = new Map<string, number>()

  constructor(options: ConnectionLimitsOptions) {
    this.options = options
  }

  /** Counts one more of an address or a caller. Returns what counts it off, once; undefined when it is one too many. */
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

  /** Holders in memory: those with something open. */
  get size(): number {
    return this.open.size
  }

  private letGo(key: string): void {
    const count = (this.open.get(key) ?? 1) - 1
    if (count > 0) this.open.set(key, count)
    else this.open.delete(key)
  }
}
