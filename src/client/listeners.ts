/** Listeners by event name. Nothing waits for them, and their errors affect nothing else. */
export class Listeners<Heard extends object> {
  readonly #byName = new Map<keyof Heard, Set<(heard: never) => unknown>>()

  /** Calls a function with each event. Returns a function that removes the listener. */
  on<Name extends keyof Heard>(name: Name, listener: (heard: Heard[Name]) => unknown): () => void {
    const listeners = this.#byName.get(name) ?? new Set()
    this.#byName.set(name, listeners)
    const own = (heard: Heard[Name]): unknown => listener(heard)
    listeners.add(own)
    return () => void listeners.delete(own)
  }

  tell<Name extends keyof Heard>(name: Name, heard: Heard[Name]): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        const result = (listener as (heard: Heard[Name]) => unknown)(heard)
        if (result instanceof Promise) result.catch(report)
      } catch (error) {
        report(error)
      }
    }
  }
}

/** Reports to the browser's console and its `error` event; elsewhere to the console. */
function report(error: unknown): void {
  const { reportError } = globalThis as { reportError?: (error: unknown) => void }
  if (reportError) reportError(error)
  else console.error(error)
}
