export interface Turns {
  /** Resolves with what ends the turn; rejects when the signal comes first. */
  enter(signal?: AbortSignal): Promise<() => void>
}

/** Lets a number of callers in at once; the others wait in a row. */
export function createTurns(places: number): Turns {
  let free = places
  const waiting = new Set<() => void>()

  function leave(): void {
    const [next] = waiting
    if (next) next()
    else free += 1
  }

  function enter(signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (free > 0) {
      free -= 1
      return Promise.resolve(leave)
    }
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiting.delete(begin)
        reject(signal?.reason)
      }
      const begin = () => {
        waiting.delete(begin)
        signal?.removeEventListener('abort', abort)
        resolve(leave)
      }
      waiting.add(begin)
      signal?.addEventListener('abort', abort)
    })
  }

  return { enter }
}
