/** Where a client keeps what must outlive the page: its login, and xp that is not sent yet. Values are strings. */
export interface Storage {
  get(key: string): Promise<string | null> | string | null
  set(key: string, value: string): Promise<unknown> | unknown
  remove(key: string): Promise<unknown> | unknown
  /** The keys that begin with this. Only an outbox needs it. */
  keys?(prefix: string): Promise<readonly string[]> | readonly string[]
  /** Tells when something else has changed a key: another tab. Where it is not there, the next refresh finds out. */
  watch?(key: string, changed: () => void): void
}

/** Keeps things until the program ends. */
export function memoryStorage(): Storage {
  const values = new Map<string, string>()
  return {
    get: (key) => values.get(key) ?? null,
    set: (key, value) => void values.set(key, value),
    remove: (key) => void values.delete(key),
    keys: (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
  }
}

/** What this needs of a browser's `localStorage`. */
interface WebStorage {
  readonly length: number
  key(index: number): string | null
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/**
 * Keeps things in the browser's `localStorage`, for all tabs of the origin. Where that is not there, or refuses a write as
 * in some private windows, things are kept in memory.
 */
export function localStorage(): Storage {
  const found = probe()
  if (!found) return memoryStorage()
  return {
    get: (key) => found.getItem(key),
    set: (key, value) => found.setItem(key, value),
    remove: (key) => found.removeItem(key),
    keys(prefix) {
      const keys = Array.from({ length: found.length }, (_, index) => found.key(index))
      return keys.filter((key) => key !== null).filter((key) => key.startsWith(prefix))
    },
    watch(key, changed) {
      const tab = globalThis as unknown as Tab
      tab.addEventListener?.('storage', (event) => {
        // Without a key: all was cleared.
        if (event.storageArea === found && (event.key === key || event.key === null)) changed()
      })
    },
  }
}

/** Browsers tell each tab what the others have changed. */
interface Tab {
  addEventListener?(
    type: 'storage',
    listener: (event: { readonly key: string | null; readonly storageArea: unknown }) => void,
  ): void
}

function probe(): WebStorage | undefined {
  try {
    const { localStorage: found } = globalThis as { localStorage?: WebStorage }
    found?.setItem('tierway:probe', '1')
    found?.removeItem('tierway:probe')
    return found
  } catch {
    return undefined
  }
}

const PATIENCE_MS = 3_000

/** The same, but never waited for longer than three seconds: some storages hang in a page that is being put away. */
export function patient<Value>(access: () => Promise<Value> | Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the storage did not answer in time')), PATIENCE_MS)
    // It may throw at once, too: a full `localStorage` does.
    new Promise<Value>((done) => done(access())).then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
