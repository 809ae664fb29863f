import { saveFile } from '../ui/csv.ts'

const LINE_FEED = 10

/** Saves every player of an environment as lines of JSON. Answers why it could not, in a sentence. */
export async function exportPlayers(options: {
  readonly token: string
  readonly projectId: string
  readonly environment: string
  readonly onCount: (read: number) => void
}): Promise<string | undefined> {
  const { token, projectId, environment, onCount } = options
  const path = `/platform/v1/projects/${projectId}/players.ndjson?environment=${encodeURIComponent(environment)}`
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let count = 0
  try {
    const response = await fetch(path, { headers: { authorization: `Bearer ${token}` } })
    if (!response.ok || !response.body) {
      const { error } = await response.json()
      return `The players could not be exported: ${error}.`
    }
    const reader = response.body.getReader()
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      chunks.push(read.value)
      for (const byte of read.value) if (byte === LINE_FEED) count += 1
    }
  } catch {
    return 'The export broke off. Nothing was saved: try again.'
  }
  onCount(count)
  saveFile(`players-${environment}.ndjson`, await new Blob(chunks).text(), 'application/x-ndjson')
  return undefined
}
