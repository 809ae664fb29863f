import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { SelectField, TextField } from './form.tsx'
import type { Option } from './option.ts'

/** Values of parameters of an address. Null for an absent one. */
type Parameters = Readonly<Record<string, string | null>>

export interface Filters {
  /** The value of a filter; empty when it is not set. */
  readonly value: (name: string) => string
  /** Sets a filter. An empty value removes it. */
  readonly set: (name: string, value: string) => void
  readonly change: (changes: Parameters) => void
  readonly isSet: (...names: readonly string[]) => boolean
  readonly clear: (...names: readonly string[]) => void
  /** The query of the address with another value: `?a=1`, or empty. */
  readonly with: (name: string, value: string) => string
}

export function useFilters(): Filters {
  const [search, setSearch] = useSearchParams()
  const change = (changes: Parameters) => setSearch((before) => withParameters(before, changes), { replace: true })
  return {
    value: (name) => search.get(name) ?? '',
    set: (name, value) => change({ [name]: value || null }),
    change,
    isSet: (...names) => names.some((name) => search.has(name)),
    clear: (...names) => change(Object.fromEntries(names.map((name) => [name, null]))),
    with(name, value) {
      const query = withParameters(search, { [name]: value || null }).toString()
      return query === '' ? '' : `?${query}`
    },
  }
}

export function withParameters(before: URLSearchParams, changes: Parameters): URLSearchParams {
  const after = new URLSearchParams(before)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) after.delete(name)
    else after.set(name, value)
  }
  return after
}

interface FilterProps {
  readonly label: string
  readonly name: string
  readonly filters: Filters
}

/** A list is read again once a person pauses, not at each letter. */
const PAUSE_MS = 300

export function FilterField(
  props: FilterProps & {
    readonly placeholder?: string
    /** Default: sets the filter. */
    readonly onChange?: (text: string) => void
  },
) {
  const { label, name, placeholder, filters } = props
  const { onChange = (typed) => filters.set(name, typed) } = props
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
    const timer = setTimeout(() => onChange(text.trim()), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return <TextField label={label} name={name} type="search" placeholder={placeholder} value={text} onChange={setText} />
}

export const FilterSelect = ({
  filters,
  ...field
}: FilterProps & {
  readonly options: readonly Option[]
  /** Default: that of the address. */
  readonly value?: string
}) => (
  <SelectField value={filters.value(field.name)} {...field} onChange={(chosen) => filters.set(field.name, chosen)} />
)

/** A filter that is a day, in UTC. */
export const FilterDay = ({
  filters,
  ...field
}: FilterProps & {
  /** Default: that of the address. */
  readonly value?: string
  readonly hint?: string
  /** In sentences. */
  readonly faults?: readonly string[]
}) => (
  <TextField
    value={filters.value(field.name)}
    {...field}
    type="date"
    onChange={(day) => filters.set(field.name, day)}
  />
)
