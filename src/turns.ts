export interface Turns {
  /** Resolves with what ends the turn; rejects when the signal comes first. */
  enter(signal: AbortSignal): Promise<() => void>
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

  function enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (free > 0) {
      free -= 1
      return Promise.resolve(leave)
    }
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiting.delete(begin)
        reject(signal.reason)
      }
      const begin = () => {
        waiting.delete(begin)
        signal.removeEventListener('abort', abort)
        resolve(leave)
      }
      waiting.add(begin)
      signal.addEventListener('abort', abort)
    })
  }

  return { enter }
}

/** Lets so many through in each turn of the event loop; the others wait in a row for the next ones. */
export function createPace(most: number): () => Promise<void> {
  const waiting: (() => void)[] = []
  let passed = 0
  let isCounting = false

  function beginTurn(): void {
    const passing = waiting.splice(0, most)
    passed = passing.length
    isCounting = passed > 0
    if (isCounting) setImmediate(beginTurn)
    for (const pass of passing) pass()
  }

  return () => {
    if (!isCounting) {
      isCounting = true
      setImmediate(beginTurn)
    }
    if (passed === most) return new Promise((resolve) => waiting.push(resolve))
    passed += 1
    return Promise.resolve()
  }
}
