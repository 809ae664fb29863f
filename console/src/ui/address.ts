import { useParams } from 'wouter'
import { navigate, usePathname, useSearch } from 'wouter/use-browser-location'

// wouter decodes an address before it is split into its parts, and leaves some characters encoded, such as `:` and `/`.
// An id with one of them would be encoded twice. Here the parts are decoded, each by itself.

/** So encoded, an address is the browser's own after wouter has decoded it. */
const encode = (text: string): string => text.replaceAll('%', '%25')

/** The address for wouter's `Router`, with encoded parts. */
export const encodedLocation = {
  hook: (): [string, typeof navigate] => [encode(usePathname()), navigate],
  searchHook: (): string => encode(useSearch()),
}

/** The parameters of the path of a page, decoded. */
export function usePathParameters(): Readonly<Record<string, string | undefined>> {
  const parameters: Readonly<Record<string, string | undefined>> = useParams()
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, value === undefined ? undefined : decode(value)]),
  )
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
