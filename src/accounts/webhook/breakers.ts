import { LRUCache } from 'lru-cache'
import { Breaker, type BreakerState } from './breaker.ts'

/** Breakers in memory, and the time after the last login for which one is kept. A new one is closed. */
const MAX_BREAKERS = 10_000
const BREAKER_KEPT_MS = 10 * 60_000

/** A breaker belongs to an address and a limit: another of either begins with a closed one. */
export interface BreakerEndpoint {
  /** Identifies the provider among all providers of the service. The limits of a provider count by this key. */
  readonly key: string
  /** The provider's project. The memory limit counts by it. */
  readonly projectId: string
  readonly url: string
  /** The failed calls in a row after which calls fail at once, until a probe succeeds; null for never. */
  readonly breakerAfter?: number | null
}

interface KnownBreaker {
  readonly endpoint: BreakerEndpoint
  readonly breaker: Breaker
}

/** The breakers of the endpoints that logins have asked for. */
export class Breakers {
  private readonly onBreaker: (isOpen: boolean, endpoint: BreakerEndpoint) => void
  private readonly known: LRUCache<string, KnownBreaker>

  /** `onBreaker` is called when a breaker opens, and when calls are made again. */
  constructor(onBreaker: (isOpen: boolean, endpoint: BreakerEndpoint) => void = () => {}) {
    this.onBreaker = onBreaker
    this.known = new LRUCache<string, KnownBreaker>({
      max: MAX_BREAKERS,
      ttl: BREAKER_KEPT_MS,
      updateAgeOnGet: true,
      dispose: ({ endpoint, breaker }) => {
        if (breaker.state !== 'closed') onBreaker(false, endpoint)
      },
    })
  }

  /** The breaker of an endpoint, if it has one. Another address, or another limit, begins with a closed one. */
  of({ projectId, key, url, breakerAfter }: BreakerEndpoint): Breaker | undefined {
    if (breakerAfter === null || breakerAfter === undefined) {
      this.known.delete(key)
      return undefined
    }
    const endpoint = { projectId, key, url, breakerAfter }
    const known = this.known.get(key)
    if (known && isOf(endpoint, known)) return known.breaker
    const breaker = new Breaker(breakerAfter, (isOpen) => {
      // A call of before a change of the settings may end after it.
      if (this.known.peek(key)?.breaker === breaker) this.onBreaker(isOpen, endpoint)
    })
    this.known.set(key, { endpoint, breaker })
    return breaker
  }

  stateOf(endpoint: BreakerEndpoint): BreakerState {
    const known = this.known.peek(endpoint.key)
    return known && isOf(endpoint, known) ? known.breaker.state : 'closed'
  }

  /** How many are not closed. */
  open(): number {
    return [...this.known.values()].filter(({ breaker }) => breaker.state !== 'closed').length
  }
}

const isOf = ({ url, breakerAfter }: BreakerEndpoint, { endpoint }: KnownBreaker): boolean =>
  url === endpoint.url && breakerAfter === endpoint.breakerAfter
