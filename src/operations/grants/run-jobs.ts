import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Background } from '../../base/background.ts'
import { actOnEach, doLeased, HELD_MS, PAGE, repeatLeased } from '../../base/leased-work.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { JobState } from '../../events/catalogue.ts'
import type { GroupCommit } from '../../transactions/group-commit.ts'
import { actOnPlayer } from './give.ts'
import {
  isTooMuch,
  JOB_COLUMNS,
  type Job,
  type JobRow,
  jobOf,
  needsApproval,
  publishing,
  readPolicy,
  totalOf,
} from './job.ts'
import { FIRST, readPage, type TargetPlayer } from './targets.ts'

// Runs grant jobs: collects their players, and gives each of them theirs. One instance runs a job at a time, and one job
// of an environment runs at a time. When the instance dies, another one continues: a player's row says what was given,
// so nobody gets anything twice.

/** The pause after players received rewards, as a multiple of the time that it took: the game continues meanwhile. */
const PAUSE_FACTOR = 1.5

/** The advisory lock under which jobs are taken, so that no two of an environment are. */
const TAKE_LOCK = 7_219_553_012

const HOLD = "clock_timestamp() + $2::float8 * interval '1 millisecond'"
/** Due are jobs that nobody runs, and those that this instance could not release. */
const IS_DUE = `(j.state IN ('planned', 'collecting', 'running')
        AND (j.state <> 'planned' OR j.starts_at <= clock_timestamp()) OR j.holder IS NOT NULL)
      AND (j.holder IS NULL OR j.holder = $1::uuid OR j.held_until <= clock_timestamp())`
const LOOK = {
  name: 'grant-jobs-look',
  text: `SELECT EXISTS (SELECT FROM grant_jobs j WHERE ${IS_DUE}) AS due`,
}
/** The first that is due. One that has ended while its instance died is only released. */
const TAKE = `UPDATE grant_jobs t SET holder = $1::uuid, held_until = ${HOLD},
    started_at = CASE WHEN t.state = 'running' THEN coalesce(t.started_at, clock_timestamp()) ELSE t.started_at END
  WHERE t.id = (
    SELECT j.id FROM grant_jobs j
    WHERE ${IS_DUE}
      AND NOT EXISTS (
        SELECT FROM grant_jobs o WHERE o.environment_id = j.environment_id AND o.id <> j.id
          AND o.holder IS NOT NULL AND o.held_until > clock_timestamp()
      )
    ORDER BY j.id LIMIT 1
  ) RETURNING ${JOB_COLUMNS}`
const MINE = 't.id = $1::uuid AND t.holder = $3::uuid'
/** Adds collected players with the place, in one statement. */
const COLLECT = `WITH held AS (
    UPDATE grant_jobs t SET after_player = $4::uuid, players = t.players + cardinality($5::uuid[]),
      amount = t.amount + $7::numeric, held_until = ${HOLD}
    WHERE ${MINE} AND t.state = 'collecting' RETURNING t.environment_id, t.id, t.players, t.amount::text AS amount
  ), added AS (
    INSERT INTO grant_job_players (environment_id, player_id, job_id, amount)
    SELECT h.environment_id, r.player_id, h.id, r.amount
    FROM held h, unnest($5::uuid[], $6::bigint[]) AS r (player_id, amount)
  ) SELECT players, amount FROM held`
const READ = {
  name: 'grant-jobs-read',
  text: `SELECT player_id AS "playerId" FROM grant_job_players
    WHERE job_id = $1 AND player_id > $2 AND outcome IS NULL ORDER BY player_id LIMIT ${PAGE}`,
}
const NOTE = {
  name: 'grant-jobs-note',
  text: publishing(
    `UPDATE grant_jobs t SET after_player = $4::uuid, granted = t.granted + $5, failed = t.failed + $6,
      held_until = ${HOLD},
      told_at = CASE WHEN t.told_at > now() - interval '1 second' THEN t.told_at ELSE now() END
     WHERE ${MINE} AND t.state = 'running'`,
    'told_at = now()',
  ),
}
/** Counts what the rows say, since the counts of an instance that died lack its last players. */
const COUNTED = (outcome: string) =>
  `(SELECT count(*)::int FROM grant_job_players p WHERE p.job_id = t.id AND p.outcome = '${outcome}')`
const RELEASE = {
  name: 'grant-jobs-release',
  text: publishing(
    `UPDATE grant_jobs t SET holder = NULL, told_at = now(), granted = ${COUNTED('granted')}, failed = ${COUNTED('failed')}
     WHERE t.id = $1::uuid AND t.holder = $2::uuid`,
  ),
}

export interface GrantJobsOptions {
  readonly pool: Pool
  readonly run: GroupCommit['run']
  /** Called when a job could not go on. A later look tries again. */
  readonly onError: (error: unknown) => void
}

/** Looks for jobs and runs them. When it is stopped, another instance continues. */
export function createGrantJobs({ pool, run, onError }: GrantJobsOptions): Background {
  const holder = randomUUID()
  return repeatLeased((signal) => runJobs({ pool, run, signal, holder }), onError)
}

interface Runner extends Pick<GrantJobsOptions, 'pool' | 'run'> {
  readonly signal: AbortSignal
  /** This instance. */
  readonly holder: string
  /** How long an instance holds a job without a sign of life. Default: 30 s. */
  readonly heldMs?: number
}

/** Runs the jobs that are due and that no other instance runs. */
export function runJobs(runner: Runner): Promise<void> {
  const { pool, signal, holder, heldMs = HELD_MS } = runner
  return doLeased<Job>(signal, {
    async isDue() {
      const { rows } = await pool.query<{ due: boolean }>({ ...LOOK, values: [holder] })
      return rows[0]?.due === true
    },
    take: () =>
      inTransaction(pool, async (client) => {
        await client.query('SELECT pg_advisory_xact_lock($1)', [TAKE_LOCK])
        const { rows } = await client.query<JobRow>(TAKE, [holder, heldMs])
        return rows[0] && jobOf(rows[0])
      }),
    async run(job) {
      const held = new HeldJob(runner, job)
      if (job.state === 'planned') await held.begin()
      if (job.state === 'planned' || job.state === 'collecting') await held.collect()
      else if (job.state === 'running') await held.giveAll()
    },
    release: (job) => pool.query({ ...RELEASE, values: [job.id, holder] }),
  })
}

/** A job while this instance runs it. */
class HeldJob {
  private readonly runner: Runner
  private readonly job: Job

  constructor(runner: Runner, job: Job) {
    this.runner = runner
    this.job = job
  }

  /** Begins a planned job. One that was cancelled meanwhile stays so, and collects nobody. */
  begin(): Promise<void> {
    return this.move('planned', 'collecting')
  }

  /** Freezes the players, page by page. With too many of them, or too much to give, the job fails. */
  async collect(): Promise<void> {
    const { job } = this
    const { pool, run, signal, holder, heldMs = HELD_MS } = this.runner
    const { environmentId, target, gift, most, beganAt: until } = job
    let after: string | null = job.afterPlayer ?? FIRST
    let { players, amount } = job
    while (after !== null) {
      if (signal.aborted) return
      const page: { readonly players: readonly TargetPlayer[]; readonly after: string | null } = await readPage(
        { pool, run },
        { environmentId, target, until, after },
      )
      const sum = page.players.reduce((total, one) => total + (one.amount ?? 0n), 0n)
      const place = page.after ?? page.players.at(-1)?.playerId ?? after
      const ids = page.players.map(({ playerId }) => playerId)
      const amounts = page.players.map((one) => one.amount)
      const values = [job.id, heldMs, holder, place, ids, amounts, sum]
      const { rows } = await pool.query<{ players: number; amount: string }>(COLLECT, values)
      // It was cancelled, or another instance has it.
      if (!rows[0]) return
      players = rows[0].players
      amount = BigInt(rows[0].amount)
      after = page.after
      if (players > most) return this.move('collecting', 'failed', `more than ${most} players match`)
    }
    const total = totalOf(gift, players, amount)
    if (isTooMuch(total)) return this.move('collecting', 'failed', 'the total would pass the largest 64-bit integer')
    if (players === 0) return this.move('collecting', 'done')
    const waits = needsApproval(await readPolicy(pool, environmentId), players, total)
    await this.move('collecting', waits ? 'awaiting approval' : 'running')
  }

  /** Gives all players theirs who wait for it. */
  async giveAll(): Promise<void> {
    const { job } = this
    const { pool, run, signal, holder, heldMs = HELD_MS } = this.runner
    const { environmentId } = job
    for (let after = job.afterPlayer ?? FIRST; ; ) {
      const { rows } = await pool.query<{ playerId: string }>({ ...READ, values: [job.id, after] })
      const isPageDone = await actOnEach(rows, {
        signal,
        pauseFactor: PAUSE_FACTOR,
        act: ({ playerId }) => run(actOnPlayer({ environmentId, playerId }, job, holder)),
        async note({ playerId }, outcomes) {
          // It was paused or cancelled, or another instance has it.
          if (outcomes.includes(null)) return false
          after = playerId
          const count = (outcome: string): number => outcomes.filter((one) => one === outcome).length
          const values = [job.id, heldMs, holder, after, count('granted'), count('failed')]
          const { rowCount } = await pool.query({ ...NOTE, values })
          return rowCount === 1
        },
      })
      if (!isPageDone) return
      if (rows.length < PAGE) return this.move('running', 'done')
    }
  }

  /** Moves the job on. Does nothing when it has another state by now. */
  private async move(from: JobState, to: JobState, note: string | null = null): Promise<void> {
    const isEnd = to === 'done' || to === 'failed'
    await this.runner.pool.query(
      publishing(
        `UPDATE grant_jobs t SET state = $4, note = $5, after_player = NULL, told_at = now()
           ${isEnd ? ', finished_at = clock_timestamp()' : ''}
         WHERE t.id = $1::uuid AND t.holder = $2::uuid AND t.state = $3`,
      ),
      [this.job.id, this.runner.holder, from, to, note],
    )
  }
}

/** Days for which the players of a job are kept after its end. */
const KEPT_DAYS = 400
const ROWS = 5_000

/** Removes some players of jobs that ended long ago. Returns how many. */
export async function purgeJobPlayers(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM grant_job_players WHERE ctid = ANY (ARRAY (
       SELECT p.ctid FROM grant_jobs j CROSS JOIN LATERAL (
         SELECT ctid FROM grant_job_players p WHERE p.job_id = j.id LIMIT ${ROWS}
       ) p WHERE j.finished_at < clock_timestamp() - interval '${KEPT_DAYS} days' LIMIT ${ROWS}))`,
  )
  return rowCount ?? 0
}
