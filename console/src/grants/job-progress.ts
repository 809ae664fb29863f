import type { GameEvent } from '../events/feed.ts'
import type { Job } from './gift.ts'

// Jobs as they were read, with the events that came since. Pure.

/** The last event of a job. */
export interface JobProgress {
  readonly cursor: string
  readonly jobId: string
  readonly state: string
  readonly players: number
  readonly granted: number
  readonly failed: number
}

export function progressOf({ cursor, data }: GameEvent): JobProgress {
  const { jobId, state, players, granted, failed } = (data ?? {}) as Readonly<Record<string, unknown>>
  return {
    cursor,
    jobId: String(jobId),
    state: String(state).toUpperCase().replaceAll(' ', '_'),
    players: Number(players),
    granted: Number(granted),
    failed: Number(failed),
  }
}

export type Counted = Pick<Job, 'jobId' | 'state' | 'players' | 'granted' | 'failed'>

/** A job with the counts of its last event, unless it has another state by now: then it is read again. */
export function withProgress<Row extends Counted>(job: Row, progress: JobProgress | undefined): Row {
  if (progress?.state !== job.state || progress.granted + progress.failed < job.granted + job.failed) return job
  const { players, granted, failed } = progress
  return { ...job, players: Math.max(players, job.players), granted, failed }
}

/** Whether jobs must be read again after an event: one of them has another state by now, or there is a newer one. */
export const isOutdated = (jobs: readonly Counted[], { jobId, state }: JobProgress): boolean => {
  const known = jobs.find((job) => job.jobId === jobId)
  // Ids begin with the time.
  return known ? known.state !== state : jobId > (jobs[0]?.jobId ?? '')
}
