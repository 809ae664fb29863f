import type { Pool } from 'pg'
import { repeatInBackground } from '../base/background.ts'
import type { Group } from '../transactions/group.ts'
import { Stream } from './append.ts'
import type { Bus } from './bus.ts'
import { columnOf, EVENT_FIELDS, type StreamEvent } from './catalogue.ts'

/** Events that are numbered at once. More of them are numbered right afterwards. */
const MOST = 1_000
/**
 * The pause after numbers were given, as a multiple of the time that it took. Each time flushes the log of Postgres, and
 * so holds up the flushes of calls: while these are slow, events are numbered less often and more at a time. The longest
 * pause bounds how late an event reaches its listener: with 20 ms instead of 40, the slowest hundredth comes at 20 ms
 * instead of 35, and calls behind slow flushes are within 4 %.
 */
const PAUSE_FACTOR = 3.5
const MAX_PAUSE_MS = 20
/** How often an instance looks for events that other instances left without a position, as after a crash. */
const LOOK_EVERY_MS = 500
/** Waiting events up to this age are those of other instances that are about to number them. */
const LEFT_AFTER_MS = 250

const columns = EVENT_FIELDS.map(columnOf).join(', ')

/**
 * Gives the next positions to the events that are visible, in the order of their ids, and answers them. The row of the
 * stream is locked first, so that two instances never give one position twice, whatever each believes. A call's events
 * become visible with its COMMIT, and a player's later call begins after it: of a player's events, none is visible before
 * an earlier one.
 *
 * Transactions before the horizon, `$2`, have ended, and their events are numbered: the index is read from there instead of
 * from the rows that were removed since the last vacuum. It is the transaction of a numbered event, which no crash undoes,
 * and holds only for the server, `$4`, that reported it: after a failover, transactions may be counted from a lower
 * number.
 */
const HORIZON = 'CASE WHEN pg_postmaster_start_time()::text = $4::text THEN $2::bigint ELSE 0 END'
const number = (lock: string): string => `WITH held AS MATERIALIZED (
    SELECT position, reached_at FROM streams WHERE environment_id = $1::uuid
      AND EXISTS (SELECT FROM unnumbered_events u WHERE u.environment_id = $1::uuid AND u.xid >= ${HORIZON})
      AND (numbered_at IS NULL OR numbered_at <= clock_timestamp() - $3::float8 * interval '1 millisecond')
    FOR UPDATE ${lock}
  ), taken AS (
    DELETE FROM unnumbered_events u USING held
    WHERE u.environment_id = $1::uuid AND u.xid >= ${HORIZON} AND u.id = ANY (ARRAY (
      SELECT id FROM unnumbered_events u WHERE u.environment_id = $1::uuid AND u.xid >= ${HORIZON}
      ORDER BY id LIMIT ${MOST}
    ))
    RETURNING u.*
  ), placed AS (
    SELECT t.*, h.position + row_number() OVER w AS position, h.reached_at AS before_at,
      greatest(h.reached_at, max(t.happened_at) OVER w) AS occurred_at
    FROM taken t, held h WINDOW w AS (ORDER BY t.id)
  ), moved AS (
    UPDATE streams s SET position = p.position, reached_at = p.occurred_at,
      numbered_at = greatest(clock_timestamp(), s.numbered_at + interval '1 microsecond')
    FROM (SELECT max(position) AS position, max(occurred_at) AS occurred_at FROM placed) p
    WHERE s.environment_id = $1::uuid AND p.position IS NOT NULL
  ), written AS (
    INSERT INTO events (environment_id, position, ${columns}, occurred_at)
    SELECT environment_id, position, ${columns}, occurred_at FROM placed
  )
  SELECT seen.*, extract(epoch FROM p.before_at) * 1000 AS before_at, p.position,
    ${EVENT_FIELDS.map((field) => `p.${columnOf(field)}`).join(', ')}, extract(epoch FROM p.occurred_at) * 1000 AS occurred_at
  FROM (
    SELECT (SELECT least(max(xid), pg_snapshot_xmin(pg_current_snapshot())::text::bigint) FROM taken HAVING count(*) > 0) AS horizon,
      pg_postmaster_start_time()::text AS server,
      EXISTS (SELECT FROM unnumbered_events u WHERE u.environment_id = $1::uuid AND u.xid >= ${HORIZON}) AS has_some
  ) seen LEFT JOIN placed p ON true ORDER BY p.position`

/** Leaves a stream alone that another instance numbers. */
const NUMBER = { name: 'stream-number', text: number('SKIP LOCKED') }
/** Waits for another instance. */
const NUMBER_ALL = { name: 'stream-number-all', text: number('') }
const WAITING = {
  name: 'stream-waiting',
  text: 'SELECT EXISTS (SELECT FROM unnumbered_events WHERE environment_id = $1::uuid) AS waits',
}
const LOOK = {
  name: 'streams-waiting',
  text: `SELECT environment_id, count(*)::int AS events,
      extract(epoch FROM clock_timestamp() - min(happened_at))::float8 * 1000 AS oldest_ms
    FROM unnumbered_events GROUP BY environment_id`,
}
/** The transaction from which on events may wait, as the server reports it. */
interface Horizon {
  readonly xid: string
  readonly server: string
}

const NO_HORIZON: Horizon = { xid: '0', server: '' }

export interface NumberingOptions {
  /** For looks, and for those who wait until all is numbered. */
  readonly pool: Pool
  /** A pool of one connection, for the events of calls. */
  readonly ownPool: Pool
  readonly bus: Bus
  /** Called when events could not be numbered. They are tried again within a second. */
  readonly onError: (error: unknown) => void
}

export interface Numbering {
  /** Numbers the events of a group soon. Call it after COMMIT. */
  committed(group: Group): void
  /** Resolves once all events that were committed before have their positions, or Postgres refuses to give them. */
  settle(environmentId: string): Promise<void>
  /** Events without a position at the last look, over all environments. */
  waiting(): number
  /** The age of the oldest of them, in seconds. */
  age(): number
  start(): void
  /** Numbers what this instance has committed, and resolves once nothing is running. */
  stop(): Promise<void>
}

/**
 * Gives committed events their positions and publishes them. Every instance numbers what it has committed, together with
 * everything else that it sees; the lock on the stream's row makes one of them work at a time. So there is no leader
 * whose death anybody has to notice.
 */
export function createNumbering({ pool, ownPool, bus, onError }: NumberingOptions): Numbering {
  const positions = new Positions(bus)
  const rounds = new Rounds(ownPool, positions, onError)
  const asked = new Map<string, Promise<void>>()
  let seen = { events: 0, oldestMs: 0, at: 0 }

  /** Those who ask in the same turn of the event loop share one look, such as the players of a list. */
  function settle(environmentId: string): Promise<void> {
    const shared = asked.get(environmentId)
    if (shared) return shared
    const own = new Promise(setImmediate).then(() => {
      asked.delete(environmentId)
      return settleNow(environmentId)
    })
    asked.set(environmentId, own)
    return own
  }

  async function settleNow(environmentId: string): Promise<void> {
    const underWay = rounds.running
    try {
      const { rows } = await pool.query<{ waits: boolean }>({ ...WAITING, values: [environmentId] })
      for (let isLeft = rows[0]?.waits ?? false; isLeft; ) {
        const looked = await positions.give(pool, NUMBER_ALL, environmentId, NO_HORIZON, 0)
        isLeft = looked.events.length === MOST
      }
      // What it has numbered must be published, too.
      await underWay
    } catch (error) {
      onError(error)
    }
  }

  async function look(signal: AbortSignal): Promise<void> {
    const { rows } = await pool.query<{ environment_id: string; events: number; oldest_ms: number }>(LOOK)
    const oldestMs = Math.max(0, ...rows.map(({ oldest_ms }) => oldest_ms))
    seen = { events: rows.reduce((sum, { events }) => sum + events, 0), oldestMs, at: performance.now() }
    if (signal.aborted) return
    for (const { environment_id: environmentId, oldest_ms: ageMs } of rows)
      if (ageMs > LEFT_AFTER_MS) rounds.due.set(environmentId, NO_HORIZON)
    rounds.schedule()
  }

  const looking = repeatInBackground({ work: look, onError, everyMs: LOOK_EVERY_MS, isAtOnce: true })

  return {
    committed(group) {
      if (!group.has(Stream)) return
      for (const environmentId of group.of(Stream).environments())
        if (!rounds.due.has(environmentId)) rounds.due.set(environmentId, positions.horizonOf(environmentId))
      rounds.schedule()
    },
    settle,
    waiting: () => seen.events,
    age: () => (seen.events === 0 ? 0 : (seen.oldestMs + performance.now() - seen.at) / 1_000),
    start: looking.start,
    async stop() {
      const looked = looking.stop()
      await rounds.stop()
      await looked
    },
  }
}

/** Gives positions, publishes what has got one, and remembers from where on to look for the next events. */
class Positions {
  private readonly bus: Bus
  private readonly horizons = new Map<string, Horizon>()

  constructor(bus: Bus) {
    this.bus = bus
  }

  /** From where on events of an environment may wait. */
  horizonOf(environmentId: string): Horizon {
    return this.horizons.get(environmentId) ?? NO_HORIZON
  }

  /** Numbers events, unless some were numbered less than the pause before. `isLeft` when others may wait. */
  async give(
    client: Pool,
    statement: typeof NUMBER,
    environmentId: string,
    { xid, server }: Horizon,
    pauseMs: number,
  ): Promise<{ events: readonly StreamEvent[]; isLeft: boolean }> {
    const values = [environmentId, xid, pauseMs, server]
    const { rows } = await client.query({ ...statement, values, rowMode: 'array' })
    const [first] = rows as unknown[][]
    const [reached, toldBy, hasSome] = first as [string | null, string, boolean]
    const events = eventsOf(environmentId, rows)
    const isLeft = hasSome && (events.length === 0 || events.length === MOST)
    if (!isLeft && reached !== null) this.horizons.set(environmentId, { xid: reached, server: toldBy })
    if (events.length > 0) this.bus.publish(events)
    return { events, isLeft }
  }
}

/** Numbers the events of calls in rounds, one at a time, with a pause after each. */
class Rounds {
  /** Environments with events to number, each with the horizon from which to look. */
  readonly due = new Map<string, Horizon>()
  /** The round under way. */
  running: Promise<void> | undefined
  private readonly pool: Pool
  private readonly positions: Positions
  private readonly onError: (error: unknown) => void
  private timer: NodeJS.Timeout | undefined
  private pauseMs = 0
  private endedAt = 0

  constructor(pool: Pool, positions: Positions, onError: (error: unknown) => void) {
    this.pool = pool
    this.positions = positions
    this.onError = onError
  }

  /** Begins a round after the pause, if there is something to number. */
  schedule(): void {
    if (this.running || this.timer || this.due.size === 0) return
    const waitMs = this.endedAt + this.pauseMs - performance.now()
    this.timer = setTimeout(() => this.run(), Math.max(0, waitMs))
  }

  /** Numbers what is due, without pauses, and resolves once nothing is running. */
  async stop(): Promise<void> {
    this.pauseMs = 0
    for (let tries = 0; this.due.size > 0 && tries < 20; tries += 1) {
      clearTimeout(this.timer)
      if (!this.running) this.run()
      await this.running
    }
    clearTimeout(this.timer)
    await this.running
  }

  private run(): void {
    this.timer = undefined
    this.running = this.numberDue()
      .catch(this.onError)
      .finally(() => {
        this.running = undefined
        this.endedAt = performance.now()
        this.schedule()
      })
  }

  private async numberDue(): Promise<void> {
    const { due, pool } = this
    const environments = [...due]
    due.clear()
    const started = performance.now()
    let given = 0
    for (const [environmentId, horizon] of environments) {
      const looked = await this.positions.give(pool, NUMBER, environmentId, horizon, this.pauseMs)
      given += looked.events.length
      // Another instance is at work, has just been, or there are more than fit.
      if (looked.isLeft) due.set(environmentId, due.get(environmentId) ?? horizon)
    }
    if (given > 0) this.pauseMs = pauseAfter((performance.now() - started) / environments.length)
  }
}

const pauseAfter = (tookMs: number): number => Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * tookMs)

/** The first columns of a row: what was seen, and the place of its event. The event's fields follow, and its time. */
const FIELDS_FROM = 5

/** The events of the rows that the statement answers. Without events it answers one row of nulls. */
function eventsOf(environmentId: string, rows: readonly (readonly unknown[])[]): StreamEvent[] {
  const events: StreamEvent[] = []
  let follows: number | null = null
  for (const row of rows) {
    const [, , , beforeAt, position] = row
    if (position === null || position === undefined) break
    if (events.length === 0 && beforeAt !== null) follows = Math.trunc(Number(beforeAt))
    const occurredAt = new Date(Math.trunc(Number(row.at(-1))))
    const event: Record<string, unknown> = { environmentId, position: BigInt(position as string), occurredAt, follows }
    for (const [index, field] of EVENT_FIELDS.entries()) event[field] = row[FIELDS_FROM + index]
    events.push(event as unknown as StreamEvent)
    follows = occurredAt.getTime()
  }
  return events
}
