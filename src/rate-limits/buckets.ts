import type { RateLimit } from './settings.ts'

interface Bucket {
  /** Calls that are left, at the time `at`. */
  left: number
  /** In milliseconds, by the caller's clock. */
  at: number
}

/** The most keys of a generation. A key without a call in one whole generation is forgotten. */
const MAX_KEYS = 100_000

/**
 * Token buckets in memory, one for each key. A full bucket has all calls of the limit, and refills steadily. Forgotten
 * buckets start full, so memory is bounded, and a flood of keys can only help the keys that it replaces.
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
   * Counts calls. Returns 0, or the milliseconds until they are possible. More calls than the limit count as all of it,
   * since they would never be possible.
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

  /** Keys in memory. */
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
