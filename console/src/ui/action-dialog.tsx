import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import type { CombinedError } from 'urql'
import { Link } from 'wouter'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { codeOf, type Fault, faultsOf, isOutcomeOpen, textOf } from './errors.ts'
import { Form, ReasonField, SubmitButton } from './form.tsx'
import { Notice } from './states.tsx'

export interface ActionResult {
  /** A request that was refused, or had no answer. */
  readonly error?: CombinedError
  /** The faults of the fields, when the request names its members differently. Default: the faults of `error`. */
  readonly faults?: readonly Fault[]
  /** The refusal of an action of support: data, not an error. */
  readonly refusal?: string | null
  readonly done?: ReactNode
  /** Set when `done` has something that is not shown again: only the buttons then close the dialog. */
  readonly isShownOnce?: boolean
  /** The entry of the audit log; null when nothing changed. */
  readonly auditEntry?: { readonly id: string } | null
  /** The address of that entry. Default: in the audit log of the project, which needs the role admin. */
  readonly auditHref?: string
}

export interface ActionDialogProps {
  readonly title: string
  /** The effect of the change with the current fields. */
  readonly effect: ReactNode
  readonly confirm: string
  readonly tone?: 'primary' | 'danger'
  /** Set while the fields cannot be sent. */
  readonly disabled?: boolean
  readonly wide?: boolean
  /** The reason to begin with. */
  readonly reason?: string
  readonly run: (reason: string) => Promise<ActionResult>
  readonly onClose: () => void
  readonly children?: ReactNode
}

/**
 * A dialog for one change: its fields, its effect, and a reason. Afterwards it shows the result with a link to the row
 * of the audit log.
 */
export function ActionDialog(props: ActionDialogProps) {
  const [reason, setReason] = useState(props.reason ?? '')
  const [result, setResult] = useState<ActionResult>()
  // The same list while the result is the same: the form forgets which of its faults were corrected with another list.
  const faults = useMemo(() => result?.faults ?? faultsOf(result?.error), [result])

  /** A refusal is about the fields as they were. An answer that was lost is not. */
  const [isCorrected, setCorrected] = useState(false)
  const isShown = !isCorrected || isOutcomeOpen(result?.error)

  async function submit(): Promise<void> {
    setCorrected(false)
    setResult(undefined)
    setResult(await props.run(reason))
  }

  if (result?.done !== undefined) {
    return (
      <Dialog title={props.title} onClose={props.onClose} stays={result.isShownOnce}>
        <Done result={result} onClose={props.onClose} />
      </Dialog>
    )
  }
  return (
    <Dialog title={props.title} onClose={props.onClose} wide={props.wide}>
      <Form onSubmit={submit} faults={faults} onChange={() => setCorrected(true)}>
        {props.children}
        <ReasonField value={reason} onChange={setReason} />
        <div className="effect">{props.effect}</div>
        {isShown && result?.refusal && <Notice tone="error">{result.refusal}</Notice>}
        {isShown && result?.error && (
          <Notice tone="error">
            {codeOf(result.error) === 'INVALID_REQUEST'
              ? 'Correct what is marked, and try again.'
              : textOf(result.error)}
          </Notice>
        )}
        <div className="actions">
          <Button onClick={props.onClose}>Cancel</Button>
          <SubmitButton tone={props.tone} disabled={props.disabled}>
            {props.confirm}
          </SubmitButton>
        </div>
      </Form>
    </Dialog>
  )
}

/** The result. The focus goes to its first button, since the pressed button is gone. */
function Done({ result, onClose }: { result: ActionResult; onClose: () => void }) {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => ref.current?.querySelector('button')?.focus(), [])
  return (
    <div className="form" ref={ref}>
      <Notice tone="success">{result.done}</Notice>
      {result.auditEntry && (
        <p>
          <Link href={result.auditHref ?? `~/console/project/audit/${result.auditEntry.id}`} onClick={() => onClose()}>
            Row of the audit log
          </Link>
        </p>
      )}
      <div className="actions">
        <Button tone="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </div>
  )
}
