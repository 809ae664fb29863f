/** Storage for data that must outlive the page: the login, and xp that is not sent yet. Values are strings. */
export interface Storage {
  get(key: string): Promise<string | null> | string | null
  set(key: string, value: string): Promise<unknown> | unknown
  remove(key: string): Promise<unknown> | unknown
  /** The keys with this beginning. Only an outbox needs it. */
  keys?(prefix: string): Promise<readonly string[]> | readonly string[]
  /** Calls `changed` when another tab has changed a key. Without it, the next refresh notices. */
  watch?(key: string, changed: () => void): void
}

/** Keeps values until the program ends. */
export function memoryStorage(): Storage {
  const values = new Map<string, string>()
  return {
    get: (key) => values.get(key) ?? null,
    set: (key, value) => void values.set(key, value),
    remove: (key) => void values.delete(key),
    keys: (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
  }
}

/** The part of a browser's `localStorage` that is used. */
interface WebStorage {
  readonly length: number
  key(index: number): string | null
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/**
 * Keeps values in the browser's `localStorage`, for all tabs of the origin. Where that is missing or refuses a write,
 * as in some private windows, values are kept in memory.
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
        // Without a key, the whole storage was cleared.
        if (event.storageArea === found && (event.key === key || event.key === null)) changed()
      })
    },
  }
}

/** Browsers notify each tab of changes by other tabs. */
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

/** Accesses a storage with a timeout of three seconds: some storages hang while the browser suspends the page. */
export function patient<Value>(access: () => Promise<Value> | Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the storage did not answer in time')), PATIENCE_MS)
    // The call may also throw at once: a full `localStorage` does.
    new Promise<Value>((done) => done(access())).then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
