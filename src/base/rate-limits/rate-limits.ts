import type { Redis } from 'ioredis'
import { Refusal } from '../errors.ts'
import { readLimits } from './read-limits.ts'

/** The rate limits by name, with the calls that each counts. */
const RATE_LIMITS = {
  login: 'logins, links, refreshes and logouts of a client address',
  sdk_key: 'logins, links, refreshes and logouts of an SDK key',
  player: 'calls of a player',
  operator: 'calls of a platform key, or of its operator tokens',
  server: 'calls of a server key',
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

/** High enough for a whole school behind one address, a game that calls with each shot, and a fleet of game servers. */
const DEFAULT_RATE_LIMITS: RateLimitSettings = {
  login: { calls: 1_200, seconds: 60 },
  sdk_key: { calls: 120_000, seconds: 60 },
  player: { calls: 3_000, seconds: 60 },
  operator: { calls: 6_000, seconds: 60 },
  server: { calls: 60_000, seconds: 60 },
  graphql: { calls: 600_000, seconds: 60 },
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }
const MAX_CALLS = 1_000_000_000

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

/** The limits of calls. Each method counts one call, and refuses it with `rate limited` when it is one too many. */
export interface RateLimits {
  /** A login, link, refresh or logout, before its SDK key is looked up. Shared by all instances through Redis. */
  countLogin(address: string): Promise<void>
  /** The same calls, by their SDK key. */
  countLoginOf(sdkKeyId: string): Promise<void>
  /** A call of a player, counted only by this instance: a shared count would cost a round trip. */
  countPlayer(playerId: string): void
  /** A call of a platform key, counted only by this instance. */
  countOperator(keyId: string): void
  /** A call of a server key, counted only by this instance. */
  countServer(keyId: string): void
  /** The cost of a GraphQL operation, by its caller's id or the client's address, counted only by this instance. */
  countCost(payer: string, cost: number): void
  close(): Promise<void>
}

export interface RateLimitsOptions {
  readonly settings: RateLimitSettings
  /** Without Redis, each instance counts logins by itself. */
  readonly redisUrl: string | null
  /** Called for each refused call. */
  readonly onLimited?: (name: RateLimitName) => void
  /** Called when Redis cannot count. The instance counts in memory meanwhile. */
  readonly onError?: (error: unknown) => void
}

const PREFIX = 'tierway:limits'
/** The longest time that a login waits for Redis. */
const REDIS_TIMEOUT_MS = 250

async function openRedis(url: string): Promise<Redis> {
  // Loaded only when Redis is configured, as in `createApp`.
  const { Redis } = await import('ioredis')
  return new Redis(url, {
    connectTimeout: 2_000,
    commandTimeout: REDIS_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1_000),
  })
}

export async function createRateLimits({
  settings,
  redisUrl,
  onLimited = () => {},
  onError = () => {},
}: RateLimitsOptions): Promise<RateLimits> {
  const isShared = redisUrl !== null && (settings.login !== null || settings.sdk_key !== null)
  const redis = isShared ? await openRedis(redisUrl) : undefined
  redis?.on('error', onError)

  function refuse(name: RateLimitName, { calls, seconds }: RateLimit, waitMs: number): never {
    onLimited(name)
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
    throw new Refusal('rateLimited', { limit: { name, calls, seconds, retryAfterSeconds } })
  }

  /** Counts in this process, in constant time. */
  function local(name: RateLimitName): (key: string, calls?: number) => void {
    const limit = settings[name]
    if (limit === null) return () => {}
    const buckets = new Buckets(limit)
    return (key, calls) => {
      const waitMs = buckets.take(key, performance.now(), calls)
      if (waitMs > 0) refuse(name, limit, waitMs)
    }
  }

  /** Counts in Redis, and in this process while Redis cannot. */
  async function shared(name: RateLimitName): Promise<(key: string) => Promise<void>> {
    const limit = settings[name]
    if (limit === null) return async () => {}
    const { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } = await import('rate-limiter-flexible')
    const options = { keyPrefix: `${PREFIX}:${name}`, points: limit.calls, duration: limit.seconds }
    const insurance = new RateLimiterMemory(options)
    const limiter = redis && new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true })
    return async (key) => {
      try {
        await (limiter ? limiter.consume(key).catch((error) => insured(error, key)) : insurance.consume(key))
      } catch (error) {
        if (error instanceof RateLimiterRes) refuse(name, limit, error.msBeforeNext)
        throw error
      }
    }

    function insured(error: unknown, key: string) {
      if (error instanceof RateLimiterRes) throw error
      onError(error)
      return insurance.consume(key)
    }
  }

  return {
    countLogin: await shared('login'),
    countLoginOf: await shared('sdk_key'),
    countPlayer: local('player'),
    countOperator: local('operator'),
    countServer: local('server'),
    countCost: local('graphql'),
    async close() {
      redis?.disconnect()
    },
  }
}

interface Bucket {
  /** Calls that are left, at the time `at`. */
  left: number
  /** In milliseconds, by the caller's clock. */
  at: number
}

/** The most keys of a generation. A key without a call in one whole generation is forgotten. */
const MAX_KEYS = 100_000

/**
 * Token buckets in memory, one for each key. A full bucket has all calls of the limit, and refills steadily. Old
 * buckets are forgotten, so memory is bounded. A forgotten bucket starts full again: a flood of keys can only help the
 * keys that it replaces.
 */
export class Buckets {
  private readonly calls: number
  private readonly perMs: number
  private readonly maxKeys: number
  private recent = new Map<string, Bucket>()
  private earlier = new Map<string, Bucket>()

  constructor({ calls, seconds }: RateLimit, maxKeys = MAX_KEYS) {
    this.calls = calls
    this.perMs = calls / (seconds * 1000)
    this.maxKeys = maxKeys
  }

  /**
   * Counts calls. Returns 0, or the milliseconds until they are possible. A number of calls above the limit, which
   * would never be possible, counts as the limit.
   */
  take(key: string, now: number, calls = 1): number {
    const taken = Math.min(calls, this.calls)
    let bucket = this.recent.get(key)
    if (!bucket) {
      bucket = this.earlier.get(key) ?? { left: this.calls, at: now }
      this.remember(key, bucket)
    }
    const left = Math.min(this.calls, bucket.left + (now - bucket.at) * this.perMs)
    bucket.at = now
    bucket.left = left < taken ? left : left - taken
    return left < taken ? (taken - left) / this.perMs : 0
  }

  get size(): number {
    return this.recent.size + this.earlier.size
  }

  private remember(key: string, bucket: Bucket): void {
    if (this.recent.size >= this.maxKeys) {
      this.earlier = this.recent
      this.recent = new Map()
    }
    this.recent.set(key, bucket)
  }
}
