import { type FormEvent, type ReactNode, useState } from 'react'
import type { CombinedError } from 'urql'
import { Link } from 'wouter'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { type Fault, faultsOf, textOf } from './errors.ts'
import { Form, ReasonField } from './form.tsx'
import { Notice } from './states.tsx'

/** What a mutation came to. */
export interface ActionResult {
  /** A request that was refused, or had no answer. */
  readonly error?: CombinedError
  /** The refusal of an action of support: data, not an error. */
  readonly refusal?: string | null
  /** What happened, in a sentence. */
  readonly done?: ReactNode
  /** The entry of the audit log; null when nothing changed. */
  readonly auditEntry?: { readonly id: string } | null
  /** Where that entry is shown. By default in the audit log of the project, which needs the role admin. */
  readonly auditHref?: string
}

/**
 * A dialog for one change: its fields, what it will do, and a reason. Afterwards it shows the result with a link to the
 * row of the audit log.
 */
export function ActionDialog(props: {
  readonly title: string
  /** What the change will do, from what the fields hold. */
  readonly effect: ReactNode
  readonly confirm: string
  readonly tone?: 'primary' | 'danger'
  /** Set while the fields cannot be sent. */
  readonly disabled?: boolean
  readonly wide?: boolean
  readonly run: (reason: string) => Promise<ActionResult>
  readonly onClose: () => void
  readonly children?: ReactNode
}) {
  const [reason, setReason] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [result, setResult] = useState<ActionResult>()
  const faults: readonly Fault[] = faultsOf(result?.error)

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setResult(await props.run(reason))
    setBusy(false)
  }

  if (result?.done !== undefined) {
    return (
      <Dialog title={props.title} onClose={props.onClose}>
        <Notice tone="success">{result.done}</Notice>
        {result.auditEntry && (
          <p>
            <Link
              href={result.auditHref ?? `~/console/project/audit/${result.auditEntry.id}`}
              onClick={() => props.onClose()}
            >
              Row of the audit log
            </Link>
          </p>
        )}
        <div className="actions">
          <Button tone="primary" onClick={props.onClose}>
            Close
          </Button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title={props.title} onClose={props.onClose} wide={props.wide}>
      <Form onSubmit={submit} faults={faults}>
        {props.children}
        <ReasonField value={reason} onChange={setReason} />
        <div className="effect">{props.effect}</div>
        {result?.refusal && <Notice tone="error">{result.refusal}</Notice>}
        {result?.error && <Notice tone="error">{textOf(result.error)}</Notice>}
        <div className="actions">
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" tone={props.tone ?? 'primary'} busy={isBusy} disabled={props.disabled}>
            {props.confirm}
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
