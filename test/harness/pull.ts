import type { StreamEvent } from '../../src/events/catalogue.ts'
import type { Sink, Subscription } from '../../src/events/subscription.ts'

/** The most events that wait for `next()`, without the last chunk. */
const PULLED = 32

/** Takes the events of a subscription one after the other. It begins with the first call of `next()`. */
export function pull(subscription: Subscription): AsyncGenerator<StreamEvent, undefined> {
  return new Pulled(subscription)
}

class Pulled implements AsyncGenerator<StreamEvent, undefined>, Sink {
  private readonly subscription: Subscription
  private events: StreamEvent[] = []
  private hasBegun = false
  private hasEnded = false
  private error: unknown
  private wake = (): void => {}

  constructor(subscription: Subscription) {
    this.subscription = subscription
  }

  take(events: readonly StreamEvent[]): boolean {
    this.events.push(...events)
    this.wake()
    return this.events.length < PULLED
  }

  end(error?: unknown): void {
    this.hasEnded = true
    this.error = error
    // Events that arrived before an error are still delivered.
    if (error === undefined) this.events = []
    this.wake()
  }

  async next(): Promise<IteratorResult<StreamEvent, undefined>> {
    if (!this.hasBegun) {
      this.hasBegun = true
      this.subscription.flow(this)
    }
    for (;;) {
      const event = this.events.shift()
      if (event) return { done: false, value: event }
      if (this.hasEnded) {
        const { error } = this
        this.error = undefined
        if (error !== undefined) throw error
        return { done: true, value: undefined }
      }
      this.subscription.resume()
      if (this.events.length > 0 || this.hasEnded) continue
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  async return(): Promise<IteratorResult<StreamEvent, undefined>> {
    this.subscription.end()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<never> {
    this.subscription.end()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.subscription.end()
  }
}
