import { useEffect, useMemo, useRef } from 'react'
import type { GameEvent } from '../events/feed.ts'
import { type LiveEvents, useEvents } from '../events/use-events.ts'
import type { Job } from './gift.ts'

/** The last event of a job. */
export interface JobProgress {
  readonly cursor: string
  readonly jobId: string
  readonly state: string
  readonly players: number
  readonly granted: number
  readonly failed: number
}

function progressOf({ cursor, data }: GameEvent): JobProgress {
  const { jobId, state, players, granted, failed } = (data ?? {}) as Readonly<Record<string, unknown>>
  return {
    ...{ cursor, jobId: String(jobId), state: String(state).toUpperCase().replaceAll(' ', '_') },
    ...{ players: Number(players), granted: Number(granted), failed: Number(failed) },
  }
}

type Counted = Pick<Job, 'jobId' | 'state' | 'players' | 'granted' | 'failed'>

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

/** Events that are kept: of each job, the last one counts. */
const KEPT = 200
/** What was read may be older than an event, as of a replica: then it is read again after a pause. */
const AGAIN_MS = 2_000

/** Follows jobs while a page is shown. `reload` is called when they must be read again. */
export function useJobEvents<Row extends Counted>(
  environment: string,
  jobs: readonly Row[],
  reload: () => void,
  /** Only events of this job count. Default: of all. */
  onlyJobId?: string,
): { readonly jobs: readonly Row[]; readonly status: LiveEvents['status'] } {
  const { events, status } = useEvents({ environment, types: ['GRANT_JOB_CHANGED'] }, KEPT)
  const latest = useMemo(() => new Map(events.map(progressOf).map((one) => [one.jobId, one])), [events])
  const seen = useRef<string>(undefined)
  const outdated = [...latest.values()]
    .filter((one) =>
      onlyJobId === undefined ? isOutdated(jobs, one) : one.jobId === jobs[0]?.jobId && isOutdated(jobs, one),
    )
    .map(({ cursor }) => cursor)
    .join()
  const read = useRef(reload)
  read.current = reload
  // biome-ignore lint/correctness/useExhaustiveDependencies: jobs that were read and are still outdated are read again
  useEffect(() => {
    if (outdated === '') return
    const timer = setTimeout(() => read.current(), seen.current === outdated ? AGAIN_MS : 0)
    seen.current = outdated
    return () => clearTimeout(timer)
  }, [outdated, jobs])
  return { jobs: jobs.map((job) => withProgress(job, latest.get(job.jobId))), status }
}
