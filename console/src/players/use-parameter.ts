import { useSearchParams } from 'wouter'

/** A value of the address's query. Null for none. Setting it adds an entry to the browser's history. */
export function useParameter(name: string): readonly [string | null, (value: string | null) => void] {
  const [search, setSearch] = useSearchParams()
  const set = (value: string | null) =>
    setSearch((before) => {
      const after = new URLSearchParams(before)
      if (value === null) after.delete(name)
      else after.set(name, value)
      return after
    })
  return [search.get(name), set]
}
