import { setTimeout as wait } from 'node:timers/promises'

/** Work that an instance repeats beside its calls. */
export interface Background {
  start(): void
  /** Resolves once nothing is running. */
  stop(): Promise<void>
}

export interface Repeated {
  /** One round. It looks at the signal between its steps. When it throws, a later round tries again. */
  readonly work: (signal: AbortSignal) => Promise<unknown>
  readonly onError: (error: unknown) => void
  /** The pause before a round, in milliseconds. */
  readonly everyMs: number
  /** The pause after a round that has failed. Default: `everyMs`. */
  readonly againMs?: number
  /** True begins the first round without a pause. */
  readonly isAtOnce?: boolean
}

/** Repeats each of these until it is stopped. They do not wait for each other, and keep no process alive. */
export function repeatInBackground(...all: readonly Repeated[]): Background {
  const ended = new AbortController()
  const { signal } = ended
  let running: Promise<unknown> = Promise.resolve()

  async function repeat({ work, onError, everyMs, againMs = everyMs, isAtOnce = false }: Repeated): Promise<void> {
    for (let waitMs = isAtOnce ? 0 : everyMs; await pause(waitMs, signal); ) {
      waitMs = everyMs
      try {
        await work(signal)
      } catch (error) {
        if (!signal.aborted) onError(error)
        waitMs = againMs
      }
    }
  }

  return {
    start() {
      running = Promise.all(all.map(repeat))
    },
    async stop() {
      ended.abort()
      await running
    },
  }
}

/** Waits for a number of milliseconds. False, at once, when the signal is there. */
export const pause = (ms: number, signal: AbortSignal): Promise<boolean> =>
  wait(ms, true, { ref: false, signal }).catch(() => false)
