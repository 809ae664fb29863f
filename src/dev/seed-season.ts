import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { openClient, targetOf } from '../db/pool.ts'
import type { PassNode } from '../game/definition/definition.ts'
import { parseDefinition } from '../game/definition/parse.ts'
import { SeededBooks, SeededTotals } from './seed-books.ts'
import { createJoining, createWeekends } from './seed-habits.ts'
import { playSeason } from './seed-player.ts'
import { createRandom } from './seed-random.ts'
import type { SeededSeason } from './seed-records.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** How long the log of logins is kept. */
const LOGIN_DAYS = 30
const BATCH_PLAYERS = 250
/** The longest time that a player acts without a check of the clock. */
const LAST_MS = 15_000
/** After this many players, playing yields so that the connection can send and receive. */
const YIELD_PLAYERS = 5
/** Few enough that concurrent calls of the game do not wait longer for the stream than usual. */
const STREAM_EVENTS = 2_000

export interface SeedSeasonOptions {
  /** The database. The seeding has its own connection, since its statements have no time limit. */
  readonly url: string
  readonly ca?: string | null
  readonly environmentId: string
  readonly scenarioId: string
  readonly players: number
  readonly days: number
  /** The end of the played time. Default: now. */
  readonly until?: Date
  /** Which weekday the first day is played as, 0 for Sunday. Default: its own. */
  readonly firstWeekday?: number
  /** Older events are not written, as the service would remove them. */
  readonly eventRetentionDays: number
  /** The same seed plays the same season, if its first day is the same weekday. */
  readonly seed: number
  /** See `SeededSeason`. The figures of dashboards are then written once, at the end. */
  readonly lean?: boolean
  readonly onProgress?: (progress: SeedProgress) => void
  /** Stops between two batches: the players written by then are complete. */
  readonly signal?: AbortSignal
}

export interface SeedProgress {
  readonly doing: 'players' | 'events'
  readonly done: number
  readonly of: number
}

export interface SeededCounts {
  readonly players: number
  readonly xpGrants: number
  readonly claims: number
  readonly events: number
  /** All players were made: the seeding was not stopped. */
  readonly complete: boolean
}

/** Batches take longer than the time limits that a role or database may have for its programs. */
const SESSION = [
  'tierway.keeps_versions=on',
  'statement_timeout=0',
  'lock_timeout=0',
  'idle_in_transaction_session_timeout=0',
]

/**
 * Adds players to an environment, with a played season of the past days. Each batch of players is one transaction and
 * leaves the books as the service would have; the events follow after all players, since a stream is in the order of
 * time. It can run while the service or another seeding runs.
 */
export async function seedSeason(options: SeedSeasonOptions): Promise<SeededCounts> {
  const client = await openClient({
    ...targetOf(options, SESSION),
    application_name: 'tierway seed',
    keepAlive: true,
  })
  try {
    return await new Seeding(client, options).run()
  } finally {
    await client.end()
  }
}

interface Batch {
  readonly books: SeededBooks
  readonly totals: SeededTotals
  /** The number of the first player after the batch. */
  readonly end: number
}

type Joining = ReturnType<typeof createJoining>

class Seeding {
  private readonly client: pg.Client
  private readonly options: SeedSeasonOptions
  private readonly totals: SeededTotals
  private counts = { players: 0, xpGrants: 0, claims: 0, events: 0 }

  constructor(client: pg.Client, options: SeedSeasonOptions) {
    this.client = client
    this.options = options
    this.totals = new SeededTotals(options.environmentId)
  }

  async run(): Promise<SeededCounts> {
    const season = await this.readSeason()
    await this.client.query(
      `CREATE TEMPORARY TABLE seeded_events (n bigint GENERATED ALWAYS AS IDENTITY, environment_id uuid, at timestamptz,
        type text, handle text, player_id uuid, scenario_id text, node_id text, run_id uuid, data text)`,
    )
    await this.addPlayers(season)
    await this.addEvents()
    return { ...this.counts, complete: this.counts.players === this.options.players }
  }

  private async readSeason(): Promise<SeededSeason> {
    const { environmentId, scenarioId, days, lean = false } = this.options
    const { rows } = await this.client.query(
      `SELECT v.definition, extract(epoch FROM now())::float8 * 1000 AS now, to_hex(floor(random() * 2^31)::int) AS tag
       FROM scenarios s JOIN scenario_versions v
         ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
       WHERE s.environment_id = $1 AND s.id = $2`,
      [environmentId, scenarioId],
    )
    if (rows.length === 0) throw new Error(`There is no scenario ${scenarioId} in this environment.`)
    const [{ definition: text, now, tag }] = rows
    const parsed = parseDefinition(text)
    const pass = parsed.ok && [...parsed.definition.nodes.values()].find((node) => node.type === 'battle-pass')
    if (!parsed.ok || !pass) throw new Error(`The scenario ${scenarioId} has no battle pass.`)
    const { fromMs, toMs } = boundsOf(pass, this.options.until?.getTime() ?? Math.floor(now), days)
    return {
      environmentId,
      definition: parsed.definition,
      pass,
      fromMs,
      toMs,
      tag,
      lean,
      isWeekend: createWeekends(fromMs, this.options.firstWeekday ?? new Date(fromMs).getUTCDay()),
      scope: { scenarioId, nodeId: pass.id },
      eventsFromMs: now - this.options.eventRetentionDays * DAY_MS,
      loginsFromMs: now - LOGIN_DAYS * DAY_MS,
      // An evening at a weekend, not long ago.
      outageMs: Math.floor((toMs - 0.15 * (toMs - fromMs)) / DAY_MS) * DAY_MS + 19 * HOUR_MS,
    }
  }

  /** While a batch is written, the next one is played. */
  private async addPlayers(season: SeededSeason): Promise<void> {
    const { players, signal, onProgress } = this.options
    const joining = createJoining(season)
    let batch: Batch | undefined = await this.playBatch(season, joining, 0)
    while (batch) {
      const written: Batch = batch
      const isLast = written.end === players || signal?.aborted === true
      const next = isLast ? undefined : this.playBatch(season, joining, written.end)
      ;[batch] = await Promise.all([next, this.write(written, isLast)])
      this.counts.players = written.end
      this.counts.xpGrants += written.books.count('xp_ledger')
      this.counts.claims += written.books.count('tier_claims')
      onProgress?.({ doing: 'players', done: written.end, of: players })
    }
  }

  private async playBatch(season: SeededSeason, joining: Joining, start: number): Promise<Batch> {
    const { environmentId, players, seed } = this.options
    const end = Math.min(start + BATCH_PLAYERS, players)
    const books = new SeededBooks(environmentId)
    const totals = season.lean ? this.totals : new SeededTotals(environmentId)
    for (let number = start; number < end; number += 1) {
      playSeason(season, { books, totals }, number, createRandom(seed, number), joining)
      if (number % YIELD_PLAYERS === 0) await setImmediate()
    }
    return { books, totals, end }
  }

  private async write({ books, totals }: Batch, isLast: boolean): Promise<void> {
    await this.inTransaction(async () => {
      await books.write(this.client)
      if (!this.options.lean || isLast) await totals.write(this.client)
    })
  }

  /** Appends the events to the environment's stream, the oldest first. */
  private async addEvents(): Promise<void> {
    const { client } = this
    const { environmentId, onProgress } = this.options
    await client.query(
      'CREATE TEMPORARY TABLE seeded_stream AS SELECT row_number() OVER (ORDER BY at, n) AS k, * FROM seeded_events',
    )
    await client.query('CREATE UNIQUE INDEX ON seeded_stream (k)')
    await client.query('ANALYZE seeded_stream')
    const { rows: counted } = await client.query<{ events: number }>(
      'SELECT count(*)::int AS events FROM seeded_stream',
    )
    const of = counted[0]?.events ?? 0
    for (let done = 0; done < of; ) {
      const count = Math.min(STREAM_EVENTS, of - done)
      await this.inTransaction(async () => {
        // Its lock makes commit order position order, as for every other writer.
        const { rows } = await client.query<{ position: string }>(
          `INSERT INTO streams AS s (environment_id, position) VALUES ($1, $2)
           ON CONFLICT (environment_id) DO UPDATE SET position = s.position + excluded.position RETURNING position`,
          [environmentId, count],
        )
        // Time never runs backwards in a stream: no event gets an earlier time than the last existing one.
        await client.query(
          `INSERT INTO events
             (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, data, occurred_at)
           SELECT environment_id, $2::bigint - $3::bigint + k - $4::bigint, type, handle, player_id, scenario_id, node_id,
             run_id, data, greatest(at, (
               SELECT occurred_at FROM events WHERE environment_id = $1 AND position = $2::bigint - $3::bigint
             ))
           FROM seeded_stream WHERE k > $4::bigint AND k <= $4::bigint + $3::bigint`,
          [environmentId, rows[0]?.position, count, done],
        )
        await client.query(
          `UPDATE streams s SET reached_at = e.occurred_at FROM events e
           WHERE s.environment_id = $1 AND e.environment_id = $1 AND e.position = s.position`,
          [environmentId],
        )
      })
      done += count
      this.counts.events = done
      onProgress?.({ doing: 'events', done, of })
    }
  }

  private async inTransaction(work: () => Promise<void>): Promise<void> {
    await this.client.query('BEGIN')
    try {
      await work()
      await this.client.query('COMMIT')
    } catch (error) {
      await this.client.query('ROLLBACK')
      throw error
    }
  }
}

/** The played time: the last `days` within the season, less the time that a begun action may take. */
function boundsOf({ startsAt, endsAt }: PassNode, nowMs: number, days: number): { fromMs: number; toMs: number } {
  const toMs = Math.min(nowMs, endsAt?.getTime() ?? nowMs) - LAST_MS
  const fromMs = Math.max(toMs - days * DAY_MS, startsAt?.getTime() ?? 0)
  if (fromMs >= toMs) throw new Error('The season has not begun.')
  return { fromMs, toMs }
}
