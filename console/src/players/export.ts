import { sessionFetch } from '../session/client.ts'
import { saveFile } from '../ui/csv.ts'
import { faultText, sentence } from '../ui/errors.ts'
import { exportParameters, type Filters } from './filters.ts'

const LINE_FEED = 10

/**
 * Saves the players that match as lines of JSON. Returns their number, or the reason of a failure in a sentence. A file
 * is saved only when it is complete.
 */
export async function exportPlayers(options: {
  readonly projectId: string
  readonly environment: string
  readonly filters: Filters
  readonly reason: string
  readonly signal: AbortSignal
  readonly onCount: (read: number) => void
}): Promise<{ readonly count: number; readonly auditId: string | null } | { readonly fault: string }> {
  const { projectId, environment, filters, reason, signal, onCount } = options
  const parameters = exportParameters(filters)
  parameters.set('environment', environment)
  parameters.set('reason', reason)
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let count = 0
  let auditId: string | null = null
  try {
    const response = await sessionFetch(`/platform/v1/projects/${projectId}/players.ndjson?${parameters}`, { signal })
    if (!response.ok || !response.body) {
      const { error, details } = await response.json()
      const faults = Array.isArray(details) ? details.map((fault) => ` ${faultText(fault)}`).join('') : ''
      return { fault: `Nothing was exported. ${sentence(String(error))}${faults}` }
    }
    auditId = response.headers.get('tierway-audit-entry')
    const reader = response.body.getReader()
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      chunks.push(read.value)
      for (const byte of read.value) if (byte === LINE_FEED) count += 1
      onCount(count)
    }
  } catch {
    return { fault: signal.aborted ? 'The export was stopped.' : 'The export broke off. No file was saved: try again.' }
  }
  saveFile(`players-${environment}.ndjson`, new Blob(chunks), 'application/x-ndjson')
  return { count, auditId }
}
