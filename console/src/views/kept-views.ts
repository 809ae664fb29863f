import { useMemo, useSyncExternalStore } from 'react'
import { keepText } from '../ui/storage.ts'

// Filters of a page with a name that are a person's own. They stay in the browser; the service has those that are shared.

/** A page with its filters. */
export interface View {
  readonly name: string
  /** The query of the address, without `?`. */
  readonly query: string
}

export const MAX_VIEWS = 20

/** With a view, in the order of the names. One with the same name is replaced. */
export const withView = (views: readonly View[], view: View): View[] =>
  [...withoutView(views, view.name), view].sort((a, b) => a.name.localeCompare(b.name))

export const withoutView = (views: readonly View[], name: string): View[] => views.filter((one) => one.name !== name)

/** What is kept; nothing for a text that no console has written. */
export function readViews(text: string | null): View[] {
  try {
    const kept: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(kept) ? kept.filter(isView).slice(0, MAX_VIEWS) : []
  } catch {
    return []
  }
}

function isView(value: unknown): value is View {
  const { name, query } = (value ?? {}) as Partial<Record<keyof View, unknown>>
  return typeof name === 'string' && typeof query === 'string'
}

const keyOf = (person: string, page: string): string => `tierway.views:${page}:${person}`
const listeners = new Set<() => void>()

/** The views of a person on a page. False from `keep` when the browser's storage is full or blocked. */
export function useViews(person: string, page: string) {
  const key = keyOf(person, page)
  const text = useSyncExternalStore(listen, () => localStorage.getItem(key))
  const views = useMemo(() => readViews(text), [text])
  function keep(changed: readonly View[]): boolean {
    const isKept = keepText(localStorage, key, JSON.stringify(changed))
    for (const listener of listeners) listener()
    return isKept
  }
  return { views, keep }
}

/** Other tabs of this browser change them, too. */
function listen(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    removeEventListener('storage', listener)
  }
}
