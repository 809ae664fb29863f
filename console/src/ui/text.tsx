import { Link } from 'wouter'
import { toast } from './toast.tsx'

/** A whole number with groups of digits: `12,345`. Takes the decimal strings of Int64 without rounding. */
export const number = (value: string | number): string =>
  (typeof value === 'string' ? BigInt(value) : value).toLocaleString('en-US')

/** A share of 0 to 1 as text. A dash for null. */
export const percent = (share: number | null): string =>
  share === null ? '–' : `${(share * 100).toLocaleString('en-US', { maximumFractionDigits: 1 })} %`

/** An enum's value in words: `LEVEL_NOT_REACHED` is `level not reached`. */
export const words = (value: string): string => value.toLowerCase().replaceAll('_', ' ')

/** An id to copy, and a link where its object has a page. */
export function Id({ of, href }: { of: string; href?: string }) {
  const text = <code>{of}</code>
  return (
    <span className="id">
      {href === undefined ? text : <Link href={href}>{text}</Link>}
      <button type="button" className="button quiet" aria-label={`Copy ${of}`} onClick={() => void copy(of)}>
        Copy
      </button>
    </span>
  )
}

/** Browsers give the clipboard to pages over HTTPS and on this computer only. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast('Copied.', 'success')
  } catch {
    toast('This browser does not let the page copy. Select the text instead.', 'warning')
  }
}
