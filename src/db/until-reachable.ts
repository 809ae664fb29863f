import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { mayAnswerSoon } from './failures.ts'

const DEADLINE_MS = 60_000
const RETRY_MS = 500
const TELL_EVERY_MS = 5_000

export interface UntilReachableOptions {
  /** Called with the error at once, and every few seconds. */
  readonly onWait: (error: unknown) => void
  /** Ends the wait early. */
  readonly isOver?: () => boolean
  readonly deadlineMs?: number
}

/**
 * Waits for a Postgres that is not there yet, as when both start together. Throws its error after a minute, and at once
 * an error that waiting does not mend, such as a wrong password.
 */
export async function untilReachable(
  pool: pg.Pool,
  { onWait, isOver = () => false, deadlineMs = DEADLINE_MS }: UntilReachableOptions,
): Promise<void> {
  const deadline = performance.now() + deadlineMs
  let tellAt = 0
  while (!isOver()) {
    try {
      await pool.query('SELECT')
      return
    } catch (error) {
      const now = performance.now()
      if (!mayAnswerSoon(error) || now > deadline) throw error
      if (now > tellAt) {
        onWait(error)
        tellAt = now + TELL_EVERY_MS
      }
    }
    await delay(RETRY_MS)
  }
}
