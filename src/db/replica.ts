import type { Pool } from 'pg'
import { repeatInBackground } from '../base/background.ts'
import { Refusal } from '../base/errors.ts'
import { isTimeLimit, toRefusal } from './failures.ts'
import type { PrismaClient } from './prisma.ts'

/** What reads use. */
export interface Source {
  readonly pool: Pool
  readonly prisma: PrismaClient
}

/** Where the reads of one answer go. */
export interface Reader {
  /** All that was committed by then is in the answer. */
  readonly asOf: Date
  /**
   * Runs reads on the replica, or on the primary. Reads that fail on the replica run once more, on the primary, except
   * those that take too long, which would take as long there.
   */
  read<T>(work: (source: Source) => Promise<T>): Promise<T>
}

export interface Reads {
  /** The reader of one answer. It shows what the holder of the key has changed through this instance. */
  reader(keyId: string): Reader
  /** The holder of the key gets the answer to a change. */
  changed(keyId: string): void
}

/** Reads without a replica. */
export const readsOf = (primary: Source, now: () => number): Reads => ({
  reader: () => ({ asOf: new Date(now()), read: (work) => work(primary) }),
  changed: () => {},
})

/** Why the primary serves a read: the replica is too old, or cannot be used, or lacks the reader's own change. */
export type Reason = 'old' | 'failed' | 'own_change'

export interface ReplicaOptions {
  readonly primary: Source
  readonly replica: Source
  /** For short reads of the primary. */
  readonly primaryPool: Pool
  /** A connection to the replica which slow reads cannot keep waiting. */
  readonly checkPool: Pool
  /** Reads go to the replica while its age is at most this. */
  readonly maxAgeMs: number
  /** The clock of the primary. */
  readonly now: () => number
  readonly onRead: (place: 'replica' | 'primary', reason: Reason | '') => void
  /** The replica is used from now on (null), or no longer, with what is wrong with it. */
  readonly onChange: (fault: string | null) => void
  /** A read failed on the replica, and runs on the primary. */
  readonly onError: (error: unknown) => void
}

export interface Replica extends Reads {
  /** How old the answers of the replica can be. Before it was ever current, the time since the start. */
  ageSeconds(): number
  start(): void
  stop(): Promise<void>
}

const CHECK_MS = 1_000
const CHECK_TIMEOUT_MS = 2_000
/** Marks are kept longer than the replica may be old, so that the age of one that is older is known, too. */
const MARKS_MS = 600_000

/** Where the primary stood at a time of this process's clock: what was committed before is before the position. */
interface Mark {
  readonly at: number
  readonly position: bigint
}

/** A commit that was answered is flushed, and only what is flushed goes to replicas. */
const ASK_PRIMARY = `SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text AS position,
  ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int AS timeline,
  (SELECT system_identifier::text FROM pg_control_system()) || ' ' || current_database() AS database`
/** The timeline is that of the last restart point, which follows a failover within minutes. */
const ASK_REPLICA = `SELECT pg_is_in_recovery() AS is_standby,
  pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::text AS position,
  (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline,
  (SELECT system_identifier::text FROM pg_control_system()) || ' ' || current_database() AS database`

interface Standing {
  readonly position: string
  readonly timeline: number
  readonly database: string
}

/**
 * Reads of operators on a streaming replica. Its age does not come from clocks: the time of its last transaction says
 * little while the primary is idle, and nothing once the replica is cut off. Each second the primary reports its
 * position in the write-ahead log, which is kept with the time, and the replica reports its replayed position. It has
 * all that was committed before the last position that it has passed. What is not confirmed again grows old by itself.
 */
export function createReplica(options: ReplicaOptions): Replica {
  const { primary, replica, primaryPool, checkPool, maxAgeMs, now, onRead, onChange, onError } = options
  const progress = new Progress(Math.max(maxAgeMs, MARKS_MS))
  /** Keys with a change that the replica may lack, and the time of the answer. */
  const changes = new Map<string, number>()
  const started = performance.now()
  /** After a fault, reads wait for the next check. */
  let isFaulty = true
  let reported: string | null | undefined

  function whyNot(keyId: string): Reason | null {
    if (isFaulty) return 'failed'
    if (progress.ageMs() > maxAgeMs) return 'old'
    return (changes.get(keyId) ?? Number.NEGATIVE_INFINITY) < progress.freshAt ? null : 'own_change'
  }

  function reader(keyId: string): Reader {
    let reason = whyNot(keyId)
    const asOf = new Date(now() - (reason === null ? progress.ageMs() : 0))
    return {
      asOf,
      async read(work) {
        // The primary is never behind the replica: an answer that began on the replica may go on there.
        reason ??= whyNot(keyId)
        if (reason === null) {
          onRead('replica', '')
          try {
            return await work(replica)
          } catch (error) {
            if (error instanceof Refusal || isTimeLimit(error)) throw error
            if (toRefusal(error)) isFaulty = true
            onError(error)
            reason = 'failed'
          }
        }
        onRead('primary', reason)
        return work(primary)
      },
    }
  }

  async function check(): Promise<void> {
    const fault = await compare(primaryPool, checkPool, progress).catch(
      (error: Error) => `its position cannot be compared: ${error.message}`,
    )
    for (const [keyId, changedAt] of changes) if (changedAt < progress.freshAt) changes.delete(keyId)
    isFaulty = fault !== null
    report(fault ?? (progress.ageMs() > maxAgeMs ? 'it is too old' : null))
  }

  /** Reports a fault once, however its words change. */
  function report(fault: string | null): void {
    const [kind = null] = fault?.split(':') ?? []
    if (kind === reported) return
    reported = kind
    onChange(fault)
  }

  const checking = repeatInBackground({ work: check, onError, everyMs: CHECK_MS, isAtOnce: true })

  return {
    reader,
    changed: (keyId) => void changes.set(keyId, performance.now()),
    ageSeconds: () => (performance.now() - Math.max(progress.freshAt, started)) / 1000,
    start: checking.start,
    stop: checking.stop,
  }
}

/** How far the replica has followed the primary. */
class Progress {
  /** The replica has all that was committed before, by this process's clock. */
  freshAt = Number.NEGATIVE_INFINITY
  private readonly marks: Mark[] = []
  private readonly keptMs: number

  constructor(keptMs: number) {
    this.keptMs = keptMs
  }

  ageMs(): number {
    return performance.now() - this.freshAt
  }

  /** The primary stood at this position, or behind it. */
  mark(at: number, position: bigint): void {
    this.marks.push({ at, position })
    while ((this.marks[0]?.at ?? at) < at - this.keptMs) this.marks.shift()
  }

  /** The replica has replayed up to this position. */
  reach(replayed: bigint): void {
    const last = this.marks.findLast(({ position }) => position <= replayed)
    this.freshAt = Math.max(this.freshAt, last?.at ?? this.freshAt)
  }
}

/** Compares the replica with the primary. Gives what is wrong with it, or null. */
async function compare(primary: Pool, replica: Pool, progress: Progress): Promise<string | null> {
  const at = performance.now()
  const ours = await ask<Standing>(primary, ASK_PRIMARY)
  progress.mark(at, BigInt(ours.position))
  type Theirs = Omit<Standing, 'position'> & { readonly is_standby: boolean; readonly position: string | null }
  const theirs = await ask<Theirs>(replica, ASK_REPLICA)
  if (theirs.database !== ours.database) return 'it is no replica of this database'
  if (!theirs.is_standby) return 'its address leads to a primary'
  if (theirs.position === null) return 'it has replayed nothing yet'
  if (theirs.timeline !== ours.timeline) return 'it has not followed the last failover yet'
  progress.reach(BigInt(theirs.position))
  return null
}

async function ask<Row extends object>(pool: Pool, text: string): Promise<Row> {
  const { rows } = await pool.query<Row>({ text, query_timeout: CHECK_TIMEOUT_MS } as { text: string })
  const [row] = rows
  if (!row) throw new Error('no answer')
  return row
}
