import type { ReactNode } from 'react'
import type { CombinedError, UseQueryState } from 'urql'
import { Button } from './button.tsx'
import { codeOf, faultsOf, faultText, textOf } from './errors.ts'
import type { Tone } from './toast.tsx'

export function Notice({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role={tone === 'error' ? 'alert' : 'status'}>
      {children}
    </div>
  )
}

/** The outline of what is being read. With `what`, work that takes seconds is named. */
export const Loading = ({ what }: { what?: string }) =>
  what === undefined ? (
    <div className="skeleton" role="status" aria-busy="true">
      <span className="hidden">Loading…</span>
      <i />
      <i />
      <i />
    </div>
  ) : (
    <div className="state" role="status" aria-busy="true">
      <span className="spinner" aria-hidden="true" /> {what}…
    </div>
  )

/** A list or a page without content, and a hint how to fill it. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="state">
    <strong>{title}</strong>
    {children && <div className="muted">{children}</div>}
  </div>
)

/** A read that failed, or that the role does not allow. */
export function Failed({ error, onRetry }: { error: CombinedError; onRetry?: () => void }) {
  const isDenied = codeOf(error) === 'FORBIDDEN'
  const faults = faultsOf(error)
  return (
    <div className="state" role="alert">
      <strong>{isDenied ? 'Not allowed' : 'This could not be read'}</strong>
      <p>{textOf(error)}</p>
      {faults.length > 0 && (
        <ul>
          {faults.map((fault) => (
            <li key={`${fault.path} ${fault.message}`}>{faultText(fault)}</li>
          ))}
        </ul>
      )}
      {onRetry && !isDenied && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

/** The answer of a query, or its state. Existing data stays while it is read again. */
export function Answer<Data>(props: {
  readonly of: UseQueryState<Data>
  readonly onRetry?: () => void
  readonly children: (data: Data) => ReactNode
}) {
  const { data, error, fetching } = props.of
  // A refused query has null instead of data.
  if (data === undefined || data === null) {
    if (fetching) return <Loading />
    return error ? <Failed error={error} onRetry={props.onRetry} /> : null
  }
  return (
    <>
      {error && <Notice tone="warning">{textOf(error)}</Notice>}
      {props.children(data)}
    </>
  )
}
