// A breaker spares players the wait for an endpoint that is away. After a number of failed calls in a row it is open:
// further calls fail at once. After a pause one call goes through, the probe, and its end decides.

/** Failed calls in a row count within this time. */
export const BREAKER_WINDOW_MS = 60_000
/** From the opening, and from a probe that failed, to the next probe. */
export const BREAKER_PAUSE_MS = 5_000

/** `half_open` while a probe is under way. */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** How a call ended. `neither` when the call says nothing about the endpoint. */
export type BreakerOutcome = 'answered' | 'failed' | 'neither'

export class Breaker {
  private readonly after: number
  private readonly onChange: (isOpen: boolean) => void
  /** When the failed calls in a row ended, the oldest first: fewer than `after`. */
  private failures: number[] = []
  private openedAt: number | null = null
  private probe: BreakerCall | null = null

  /** Opens after `after` failed calls in a row. `onChange` is called when it opens and when it closes. */
  constructor(after: number, onChange: (isOpen: boolean) => void = () => {}) {
    this.after = after
    this.onChange = onChange
  }

  get state(): BreakerState {
    if (this.openedAt === null) return 'closed'
    return this.probe ? 'half_open' : 'open'
  }

  /** Admits a call, whose end must be reported; null while it is open. Times are in milliseconds, from any origin. */
  admit(now: number): BreakerCall | null {
    const call = { end: (outcome: BreakerOutcome, at: number) => this.end(call, outcome, at) }
    if (this.openedAt === null) return call
    if (this.probe || now - this.openedAt < BREAKER_PAUSE_MS) return null
    this.probe = call
    return call
  }

  /** Any call that the endpoint answers closes it, also one from before it was opened. */
  private end(call: BreakerCall, outcome: BreakerOutcome, now: number): void {
    const isProbe = this.probe === call
    if (isProbe) this.probe = null
    if (outcome === 'answered') this.close()
    else if (outcome === 'failed') this.fail(isProbe, now)
  }

  private close(): void {
    this.failures = []
    this.probe = null
    if (this.openedAt === null) return
    this.openedAt = null
    this.onChange(false)
  }

  private fail(isProbe: boolean, now: number): void {
    if (this.openedAt !== null) {
      if (isProbe) this.openedAt = now
      return
    }
    this.failures = [...this.failures, now].filter((at) => now - at < BREAKER_WINDOW_MS)
    if (this.failures.length < this.after) return
    this.failures = []
    this.openedAt = now
    this.onChange(true)
  }
}

export interface BreakerCall {
  /** Tells how the call ended. To be called once. */
  end(outcome: BreakerOutcome, now: number): void
}
