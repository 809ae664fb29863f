import { useSearchParams } from 'wouter'
import { withParameters } from '../ui/filters.tsx'

/** A value of the address's query. Null for none. Setting it adds an entry to the browser's history. */
export function useParameter(name: string): readonly [string | null, (value: string | null) => void] {
  const [search, setSearch] = useSearchParams()
  return [search.get(name), (value) => setSearch((before) => withParameters(before, { [name]: value }))]
}
