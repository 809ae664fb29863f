import { Refusal } from './errors.ts'
import { createSemaphore } from './semaphore.ts'

/** Runs one task after another. Refuses with `unavailable` when more tasks than the limit wait. */
export function createBoundedQueue(maxWaiting: number): <T>(work: () => Promise<T>) => Promise<T> {
  const turns = createSemaphore(1)
  let waiting = 0
  return async (work) => {
    if (waiting > maxWaiting) throw new Refusal('unavailable')
    waiting += 1
    const leave = await turns.acquire()
    try {
      return await work()
    } finally {
      leave()
      waiting -= 1
    }
  }
}
