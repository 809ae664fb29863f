import type { WriteRefusal } from '../db/pool.ts'

/** Shorter than the alert waits, so that a single refusal, such as one during a failover, wakes nobody. */
const REMEMBERED_MS = 45_000

const REASONS: Readonly<Record<WriteRefusal, string>> = {
  '53100': 'the disk of Postgres is full',
  '25006': 'Postgres is read-only',
}

/**
 * Remembers for a while that Postgres refused a write. A full disk cannot be asked for: small changes of rows still
 * succeed on it while others fail.
 */
export function createRefusedWrites(now = () => performance.now()) {
  let last: { readonly state: WriteRefusal; readonly at: number } | undefined
  return {
    note(state: WriteRefusal): void {
      last = { state, at: now() }
    },
    /** Why writes are refused; undefined while they are not. */
    reason: (): string | undefined => (last && now() - last.at < REMEMBERED_MS ? REASONS[last.state] : undefined),
  }
}
