import { type Logger, rateLimited } from '../base/log.ts'
import { createMetrics, type Metrics } from '../base/metrics.ts'

/** The labels of `tierway_task_failures_total`. */
const TASKS = [
  'redis',
  'stream',
  'numbering',
  'ended_logins',
  'rate_limits',
  'access',
  'figures',
  'calls',
  'seasons',
  'settlements',
  'clocks',
  'grant_jobs',
  'alerts',
  'purge',
  'partitions',
] as const
export type Task = (typeof TASKS)[number]

/** Where the parts of the service report what happens. */
export interface Reports {
  readonly log: Logger
  readonly metrics: Metrics
  /** Logs what can happen with each call, now and then. */
  readonly warn: ReturnType<typeof rateLimited>
  /** Logs and counts a failure of what the service does by itself. */
  readonly failed: (task: Task) => (error: unknown, message: string) => void
  /** The same, with one message for all failures. */
  readonly failing: (task: Task, message: string) => (error: unknown) => void
}

export function createReports(log: Logger): Reports {
  const metrics = createMetrics()
  const warn = rateLimited(log)
  const failed: Reports['failed'] = (task) => (error, message) => {
    metrics.taskFailures.inc({ task })
    warn(error, message)
  }
  for (const task of TASKS) metrics.taskFailures.inc({ task }, 0)
  return { log, metrics, warn, failed, failing: (task, message) => (error) => failed(task)(error, message) }
}
