import { useSyncExternalStore } from 'react'
import { keepText } from './storage.ts'

interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly times: 'UTC' | 'local'
  /** Times in lists. */
  readonly lists: 'relative' | 'exact'
  readonly besideGraph: 'fields' | 'json'
  readonly isNavNarrow: boolean
}

const KEY = 'tierway.preferences'
const DEFAULTS: Preferences = {
  theme: 'system',
  times: 'UTC',
  lists: 'relative',
  besideGraph: 'fields',
  isNavNarrow: false,
}
const listeners = new Set<() => void>()
let preferences = read()
showTheme()

export const usePreferences = (): Preferences => useSyncExternalStore(listen, () => preferences)

export function prefer(change: Partial<Preferences>): void {
  preferences = { ...preferences, ...change }
  keepText(localStorage, KEY, JSON.stringify(preferences))
  showTheme()
  for (const listener of listeners) listener()
}

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(KEY) ?? '{}') }
  } catch {
    return DEFAULTS
  }
}

function showTheme(): void {
  document.documentElement.dataset.theme = preferences.theme
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
