import { Link } from 'wouter'
import { Id } from '../ui/text.tsx'
import { targetHref } from './actions.ts'

export function Target(props: {
  readonly of: { readonly action: string; readonly target: string; readonly environment: string | null }
  /** Long ids are cut. */
  readonly isClipped?: boolean
}) {
  const { of, isClipped } = props
  const { target } = of
  const href = targetHref(of)
  if (target === '') return '–'
  const text = isClipped ? (
    <code className="clip" title={target}>
      {target}
    </code>
  ) : (
    <code>{target}</code>
  )
  if (href !== undefined) return <Link href={href}>{text}</Link>
  return isClipped ? text : <Id of={target} />
}
