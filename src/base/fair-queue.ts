import { notBegun } from './errors.ts'

/** Runs tasks in the order of a project's row. Refuses one whose row is full, with the seconds after which it is not. */
export type FairQueue = <T>(projectId: string, work: () => Promise<T>) => Promise<T>

/** Which tasks run at once, over all queues that share it, and which row is next. */
export interface Places {
  begin(row: Row): void
  /** The rows that have tasks. */
  readonly rows: number
  readonly places: number
}

interface Row {
  /** The tasks that wait or run, of which one runs. */
  readonly tasks: (() => Promise<void>)[]
}

/** Lets a number of rows run a task each. The rows take turns, so that a long one keeps no other waiting for all of it. */
export function createPlaces(places: number): Places {
  let free = places
  let rows = 0
  let due: Row[] = []

  async function run(row: Row): Promise<void> {
    await row.tasks[0]?.()
    row.tasks.shift()
    free += 1
    if (row.tasks.length > 0) due.push(row)
    else rows -= 1
    next()
  }

  function next(): void {
    const begun = due.slice(0, free)
    due = due.slice(free)
    free -= begun.length
    for (const row of begun) void run(row)
  }

  return {
    begin(row) {
      rows += 1
      due.push(row)
      next()
    },
    get rows() {
      return rows
    },
    places,
  }
}

/**
 * A queue with a row for each project, in which `maxWaiting` tasks can wait while one runs. So a project that sends many
 * tasks fills its own row alone. `tasks` names them in a refusal.
 */
export function createFairQueue(places: Places, { maxWaiting, tasks: what }: { maxWaiting: number; tasks: string }) {
  const rows = new Map<string, Row>()
  /** How long a task took of late, in seconds. */
  let usualSeconds = 1

  const queue: FairQueue = (projectId, work) => {
    const row = rows.get(projectId) ?? { tasks: [] }
    if (row.tasks.length > maxWaiting) {
      const rounds = Math.ceil(places.rows / places.places)
      const reason = `${row.tasks.length} ${what} of this project run or wait, and no more can`
      throw notBegun(reason, { waitSeconds: Math.max(1, Math.ceil(rounds * usualSeconds)) })
    }
    return new Promise((resolve, reject) => {
      row.tasks.push(async () => {
        const begun = performance.now()
        try {
          resolve(await work())
        } catch (error) {
          reject(error)
        }
        usualSeconds += ((performance.now() - begun) / 1000 - usualSeconds) / 4
        if (row.tasks.length === 1) rows.delete(projectId)
      })
      if (row.tasks.length > 1) return
      rows.set(projectId, row)
      places.begin(row)
    })
  }
  return queue
}
