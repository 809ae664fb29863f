import { startStopwatch } from './stopwatch.ts'

/** The pause between polls. It grows, since a poll can cost a call of the service. */
const POLL_MS = { first: 10, most: 50 }
/** For what hangs. A test that promises a time gives its own. */
const DEADLINE_MS = 60_000

/** Waits until the condition holds, and fails with a message when that takes too long. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { deadlineMs = DEADLINE_MS }: { deadlineMs?: number } = {},
): Promise<void> {
  const elapsed = startStopwatch()
  while (!(await holds())) {
    if (elapsed() > deadlineMs) throw new Error(`${what}: not within ${deadlineMs} ms`)
    const waitMs = Math.min(POLL_MS.most, POLL_MS.first + elapsed() / 20)
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
