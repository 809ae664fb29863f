import { sessionFetch } from '../session/client.ts'
import { saveFile } from '../ui/csv.ts'
import { sentence } from '../ui/errors.ts'

// Lists of players and of outcomes as CSV, over REST.

export interface PlayerList {
  readonly listId: string
  readonly players: number
  /** The list has an amount for each player. */
  readonly hasAmounts: boolean
  /** The first rows, with the players that they name. */
  readonly first: readonly FirstRow[]
}

export interface FirstRow {
  readonly row: number
  readonly playerId: string
  readonly provider: string | null
  readonly subject: string | null
  /** As JSON has it, which is exact up to 2^53. */
  readonly amount: number | null
}

/** A fault of a row, or of the whole file when there is no row. */
export interface RowFault {
  readonly row: string | null
  readonly message: string
}

export type Uploaded = PlayerList | { readonly problem: string; readonly faults: readonly RowFault[] }

/** Uploads a CSV. With any fault the service stores nothing. */
export async function uploadList(projectId: string, environment: string, csv: string): Promise<Uploaded> {
  let answer: {
    readonly listId?: string
    readonly players?: number
    readonly total?: number | null
    readonly first?: readonly FirstRow[]
    readonly error?: string
    readonly details?: readonly { readonly path: string; readonly message: string }[]
  }
  try {
    const query = new URLSearchParams({ environment })
    const response = await sessionFetch(`/platform/v1/projects/${projectId}/player-lists?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body: csv,
    })
    answer = await response.json()
  } catch {
    return { problem: 'The file could not be sent. Nothing was stored: try again.', faults: [] }
  }
  const { listId, players = 0, total, first = [], error, details = [] } = answer
  if (listId !== undefined) return { listId, players, hasAmounts: total !== null && total !== undefined, first }
  return {
    problem:
      details.length > 0
        ? 'Nothing was stored. Correct the file, and choose it again.'
        : `Nothing was stored. ${sentence(error ?? 'the answer cannot be read')}`,
    faults: details.map(({ path, message }) => ({ row: /^row (\d+)$/.exec(path)?.[1] ?? null, message })),
  }
}

/** Saves the players of a job with their outcomes. Returns the reason of a failure in a sentence. */
export async function saveOutcomes(projectId: string, jobId: string, reason: string): Promise<string | undefined> {
  try {
    const query = new URLSearchParams({ reason })
    const response = await sessionFetch(`/platform/v1/projects/${projectId}/grant-jobs/${jobId}/players.csv?${query}`)
    if (!response.ok) return sentence(String((await response.json()).error))
    saveFile(`grant-${jobId}.csv`, await response.blob())
    return undefined
  } catch {
    return 'The download broke off. No file was saved: try again.'
  }
}
