import { startStopwatch } from './stopwatch.ts'

const POLL_MS = 10
const DEADLINE_MS = 20_000

/** Waits until it holds, and fails in words when that takes too long. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { deadlineMs = DEADLINE_MS }: { deadlineMs?: number } = {},
): Promise<void> {
  const elapsed = startStopwatch()
  while (!(await holds())) {
    if (elapsed() > deadlineMs) throw new Error(`${what}: not within ${deadlineMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
