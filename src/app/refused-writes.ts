import type { WriteRefusal } from '../db/pool.ts'

/**
 * Shorter than the alert waits, so that a single refusal, such as one during a failover, wakes nobody. Whether Postgres is
 * read-only is asked, too: a refusal of a connection that reached another server counts only while it happens.
 */
const REMEMBERED_MS: Readonly<Record<WriteRefusal, number>> = { '53100': 45_000, '25006': 2_000 }

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
    reason: (): string | undefined =>
      last && now() - last.at < REMEMBERED_MS[last.state] ? REASONS[last.state] : undefined,
  }
}
