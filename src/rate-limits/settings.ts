/** The limits by name: the counted calls, and who is counted. */
export const RATE_LIMITS = {
  login: 'logins, links, refreshes and logouts of a client address',
  sdk_key: 'logins, links, refreshes and logouts of an SDK key',
  player: 'calls of a player',
  operator: 'calls of a platform key, or of its operator tokens',
  graphql: 'the cost of GraphQL operations of a player or platform key, or of a client address without either',
} as const

export type RateLimitName = keyof typeof RATE_LIMITS

/** A number of calls in a number of seconds. */
export interface RateLimit {
  readonly calls: number
  readonly seconds: number
}

/** Null turns a limit off. */
export type RateLimitSettings = Readonly<Record<RateLimitName, RateLimit | null>>

/** High enough for a whole school behind one address, and for a game that calls with each shot. */
export const DEFAULT_RATE_LIMITS: RateLimitSettings = {
  login: { calls: 1_200, seconds: 60 },
  sdk_key: { calls: 120_000, seconds: 60 },
  player: { calls: 3_000, seconds: 60 },
  operator: { calls: 6_000, seconds: 60 },
  graphql: { calls: 600_000, seconds: 60 },
}

const NONE: RateLimitSettings = { login: null, sdk_key: null, player: null, operator: null, graphql: null }
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }
const MAX_CALLS = 1_000_000_000

/**
 * Reads `RATE_LIMITS`: `off`, or entries such as `player=100/s` and `login=off`, separated by commas. Other limits keep
 * their defaults.
 */
export function readRateLimits(text: string | null, faults: string[]): RateLimitSettings {
  if (text === 'off') return NONE
  const found: Partial<Record<RateLimitName, RateLimit | null>> = {}
  for (const entry of text === null ? [] : text.split(',')) {
    const [, name = '', count = '', unit = ''] = /^\s*(\w+)\s*=\s*(off|\d{1,10}\/([smh]))\s*$/.exec(entry) ?? []
    const calls = Number.parseInt(count, 10)
    if (!isName(name)) {
      faults.push(`RATE_LIMITS must be off, or a list such as login=1000/m,player=off; "${entry.trim()}" is no entry`)
    } else if (name in found) {
      faults.push(`RATE_LIMITS must name ${name} once`)
    } else if (count === 'off') {
      found[name] = null
    } else if (calls < 1 || calls > MAX_CALLS) {
      faults.push(`RATE_LIMITS must allow 1 to ${MAX_CALLS} calls for ${name}`)
    } else {
      found[name] = { calls, seconds: SECONDS[unit] ?? 1 }
    }
  }
  return { ...DEFAULT_RATE_LIMITS, ...found }
}

const isName = (name: string): name is RateLimitName => Object.hasOwn(RATE_LIMITS, name)
