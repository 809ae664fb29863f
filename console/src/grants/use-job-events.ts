import { useEffect, useMemo, useRef } from 'react'
import { type LiveEvents, useEvents } from '../events/use-events.ts'
import { type Counted, isOutdated, progressOf, withProgress } from './job-progress.ts'

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
