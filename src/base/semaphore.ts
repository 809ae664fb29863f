export interface Semaphore {
  /** Resolves with a function that ends the turn; rejects when the signal aborts first. */
  acquire(signal?: AbortSignal): Promise<() => void>
}

/** Lets a number of callers in at once; the others wait in a row. */
export function createSemaphore(places: number): Semaphore {
  let free = places
  const waiting = new Set<() => void>()

  function release(): void {
    const [next] = waiting
    if (next) next()
    else free += 1
  }

  function enter(signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (free > 0) {
      free -= 1
      return Promise.resolve(release)
    }
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiting.delete(begin)
        reject(signal?.reason)
      }
      const begin = () => {
        waiting.delete(begin)
        signal?.removeEventListener('abort', abort)
        resolve(release)
      }
      waiting.add(begin)
      signal?.addEventListener('abort', abort)
    })
  }

  return { acquire: enter }
}
