export interface Semaphore {
  /**
   * Takes one place, or several. Resolves with a function that ends the turn; rejects when the signal aborts first. More
   * places than there are are never free.
   */
  acquire(signal?: AbortSignal, places?: number): Promise<() => void>
}

interface Waiting {
  readonly places: number
  readonly begin: () => void
}

/** Lets a number of callers in at once; the others wait in a row. */
export function createSemaphore(places: number): Semaphore {
  let free = places
  const waiting = new Set<Waiting>()

  function enter(taken: number): () => void {
    free -= taken
    return () => {
      free += taken
      admit()
    }
  }

  function admit(): void {
    for (const one of waiting) {
      if (one.places > free) return
      one.begin()
    }
  }

  function acquire(signal?: AbortSignal, places = 1): Promise<() => void> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (waiting.size === 0 && places <= free) return Promise.resolve(enter(places))
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiting.delete(one)
        reject(signal?.reason)
        // It may have stood before others that need less.
        admit()
      }
      const begin = () => {
        waiting.delete(one)
        signal?.removeEventListener('abort', abort)
        resolve(enter(places))
      }
      const one = { places, begin }
      waiting.add(one)
      signal?.addEventListener('abort', abort)
    })
  }

  return { acquire }
}
