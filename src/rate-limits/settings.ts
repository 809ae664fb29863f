import { readLimits } from './read-limits.ts'

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

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }
const MAX_CALLS = 1_000_000_000

/** Reads `RATE_LIMITS`. */
export const readRateLimits = (text: string | null, faults: string[]): RateLimitSettings =>
  readLimits<RateLimitName, RateLimit>(text, faults, {
    variable: 'RATE_LIMITS',
    example: 'login=1000/m,player=off',
    form: '\\d{1,10}\\/[smh]',
    bounds: `1 to ${MAX_CALLS} calls`,
    defaults: DEFAULT_RATE_LIMITS,
    read(value) {
      const calls = Number.parseInt(value, 10)
      return calls >= 1 && calls <= MAX_CALLS ? { calls, seconds: SECONDS[value.slice(-1)] ?? 1 } : undefined
    },
  })
