import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useOperator } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form, ReasonField, SubmitButton } from '../ui/form.tsx'
import { playersText } from '../ui/players-text.ts'
import { Notice } from '../ui/states.tsx'
import { exportPlayers } from './export.ts'
import { type Filters, filtersText } from './filters.ts'

/** Exports the players that match the filters of the page. `total` is their number in words. */
export function ExportDialog(props: {
  readonly filters: Filters
  readonly total: string
  readonly onClose: () => void
}) {
  const { filters, total, onClose } = props
  const environment = useEnvironment()
  const { projectId } = useOperator()
  const [reason, setReason] = useState('')
  const [read, setRead] = useState<number>()
  const [result, setResult] = useState<Awaited<ReturnType<typeof exportPlayers>>>()
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])

  async function submit(): Promise<void> {
    const controller = new AbortController()
    stop.current = controller
    setResult(undefined)
    setRead(0)
    const { signal } = controller
    try {
      setResult(await exportPlayers({ projectId, environment, filters, reason, signal, onCount: setRead }))
    } finally {
      setRead(undefined)
    }
  }

  const matching = filtersText(filters.filter, filters)
  return (
    <Dialog title="Export players" onClose={onClose}>
      {result && 'count' in result ? (
        <>
          <Notice tone="success">{playersText(result.count)} exported.</Notice>
          {result.auditId !== null && (
            <p>
              <Link href={`~/console/project/audit/${result.auditId}`} onClick={() => onClose()}>
                Row of the audit log
              </Link>
            </p>
          )}
          <div className="actions">
            <Button tone="primary" onClick={onClose}>
              Close
            </Button>
          </div>
        </>
      ) : (
        <Form onSubmit={submit}>
          <ReasonField value={reason} onChange={setReason} />
          <div className="effect">
            Saves {total} of {environment}
            {matching === '' ? '' : ` (${matching})`}, as a file with one line of JSON for each: ids, nickname, status,
            times, region and language{filters.filter.nodeId ? ', level, xp and premium' : ''}. The newest come first.
            The audit log names you.
          </div>
          {result && <Notice tone="error">{result.fault}</Notice>}
          {read !== undefined && <p role="status">{playersText(read)} read so far.</p>}
          <div className="actions">
            {read === undefined ? (
              <Button onClick={onClose}>Cancel</Button>
            ) : (
              <Button onClick={() => stop.current?.abort()}>Stop</Button>
            )}
            <SubmitButton>Export</SubmitButton>
          </div>
        </Form>
      )}
    </Dialog>
  )
}
