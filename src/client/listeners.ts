/** Listeners by event name. Nothing waits for them, and their errors affect nothing else. */
export class Listeners<Events extends object> {
  readonly #byName = new Map<keyof Events, Set<(event: never) => unknown>>()

  /** Calls a function with each event. Returns a function that removes the listener. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => unknown): () => void {
    const listeners = this.#byName.get(name) ?? new Set()
    this.#byName.set(name, listeners)
    const own = (event: Events[Name]): unknown => listener(event)
    listeners.add(own)
    return () => void listeners.delete(own)
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        const result = (listener as (event: Events[Name]) => unknown)(event)
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
