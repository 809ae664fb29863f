import { Link } from 'wouter'
import { toast } from './toast.tsx'

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
