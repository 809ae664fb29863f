/**
 * An async stream from two functions: `next` gives a value, or undefined at the end; `end` is called once, whoever ends
 * it. Not a generator function: its `return()` would wait for a `next()` that waits.
 */
export function stream<T>(next: () => Promise<T | undefined>, end: () => unknown): AsyncGenerator<T, undefined> {
  let ended = false

  async function finish(): Promise<{ done: true; value: undefined }> {
    if (!ended) {
      ended = true
      await end()
    }
    return { done: true, value: undefined }
  }

  const iterator = {
    async next() {
      if (ended) return finish()
      try {
        const value = await next()
        return value === undefined || ended ? finish() : { done: false, value }
      } catch (error) {
        await finish()
        throw error
      }
    },
    return: finish,
    async throw(error: unknown) {
      await finish()
      throw error
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator as unknown as AsyncGenerator<T, undefined>
}
