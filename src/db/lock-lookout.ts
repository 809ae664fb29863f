import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { openClient } from './pool.ts'

const LOOK_EVERY_MS = 300

/** A session that another one waits for. Postgres hides its program and its age from roles without that right. */
interface Holder {
  readonly pid: number
  readonly program: string | null
  readonly role: string | null
  readonly seconds: number | null
  readonly relation: string | null
}

export interface LockLookout {
  /** Who held what at the last look; undefined when nobody was seen. */
  readonly seen: string | undefined
  close(): void
}

/**
 * Looks, on a connection of its own, for the sessions that one session waits for. Postgres reports them only while it
 * waits. A lookout that cannot connect sees nobody.
 */
export function openLockLookout(target: pg.ClientConfig, pid: number): LockLookout {
  let seen: string | undefined
  const closing = new AbortController()
  const { signal } = closing

  async function look(): Promise<void> {
    // Most migrations end before the first look, which then costs no connection.
    await delay(LOOK_EVERY_MS, undefined, { signal })
    const client = await openClient(target)
    try {
      for (;;) {
        const { rows } = await client.query<Holder>(HOLDERS, [pid])
        if (rows.length > 0) seen = describe(rows)
        await delay(LOOK_EVERY_MS, undefined, { signal })
      }
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  look().catch(() => undefined)

  return {
    get seen() {
      return seen
    },
    close: () => closing.abort(),
  }
}

function describe(holders: readonly Holder[]): string {
  const sessions = holders.map(({ pid, program, role, seconds }) => {
    const who = [program || 'a session', role && `of role ${role}`, `(pid ${pid})`].filter(Boolean).join(' ')
    return seconds === null ? who : `${who} for ${seconds} s`
  })
  return `${holders[0]?.relation ?? 'earlier transactions'}, held by ${sessions.join(', ')}`
}

const HOLDERS = `
SELECT a.pid, a.application_name AS program, a.usename AS role,
  extract(epoch FROM clock_timestamp() - a.xact_start)::int AS seconds,
  (SELECT w.relation::regclass::text FROM pg_locks w
    WHERE w.pid = $1 AND NOT w.granted AND w.relation IS NOT NULL LIMIT 1) AS relation
FROM pg_stat_activity a WHERE a.pid = ANY (pg_blocking_pids($1)) ORDER BY a.xact_start LIMIT 5`
