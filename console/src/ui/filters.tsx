import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { TextField } from './form.tsx'

/** The filters of a page, which its address keeps. */
export interface Filters {
  /** The value of a filter; empty when it is not set. */
  readonly value: (name: string) => string
  readonly set: (name: string, value: string) => void
  readonly isSet: (...names: readonly string[]) => boolean
  readonly clear: (...names: readonly string[]) => void
  /** The query of the address with another value: `?a=1`, or empty. */
  readonly with: (name: string, value: string) => string
}

export function useFilters(): Filters {
  const [search, setSearch] = useSearchParams()
  const change = (entries: readonly Entry[]) => setSearch((before) => changed(before, entries), { replace: true })
  return {
    value: (name) => search.get(name) ?? '',
    set: (name, value) => change([[name, value]]),
    isSet: (...names) => names.some((name) => search.has(name)),
    clear: (...names) => change(names.map((name) => [name, ''])),
    with(name, value) {
      const query = changed(search, [[name, value]]).toString()
      return query === '' ? '' : `?${query}`
    },
  }
}

type Entry = readonly [name: string, value: string]

function changed(before: URLSearchParams, entries: readonly Entry[]): URLSearchParams {
  const after = new URLSearchParams(before)
  for (const [name, value] of entries) {
    if (value === '') after.delete(name)
    else after.set(name, value)
  }
  return after
}

/** A list is read again once a person pauses, not at each letter. */
const PAUSE_MS = 300

/** A filter that is typed. */
export function FilterField(props: {
  readonly label: string
  readonly name: string
  readonly placeholder?: string
  readonly filters: Filters
}) {
  const { label, name, placeholder, filters } = props
  const value = filters.value(name)
  const [text, setText] = useState(value)
  const [known, setKnown] = useState(value)
  if (value !== known) {
    // Another part of the page, or Back, has set the filter.
    setKnown(value)
    if (value !== text.trim()) setText(value)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed sets the filter
  useEffect(() => {
    if (text.trim() === value) return
    const timer = setTimeout(() => filters.set(name, text.trim()), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return <TextField label={label} name={name} type="search" placeholder={placeholder} value={text} onChange={setText} />
}
