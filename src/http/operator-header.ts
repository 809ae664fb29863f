import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'

/** The header by which a call with a platform key names the person behind it; null without one. */
export const operatorHeader = (headers: IncomingHttpHeaders): string | null => decodeName(headers['x-operator'])

/**
 * A name as it was meant. A header arrives as bytes, each of which is one character: names are UTF-8, as terminals send
 * them, or Latin-1, as `fetch` does.
 */
export function decodeName(header: string | readonly string[] | null | undefined): string | null {
  if (header === undefined || header === null) return null
  const bytes = Buffer.from(String(header), 'latin1')
  return isUtf8(bytes) ? bytes.toString() : bytes.toString('latin1')
}
