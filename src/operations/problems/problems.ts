import type { Pool } from 'pg'
import type { LoginOutcome } from '../../accounts/login/log/login-log.ts'
import { readLoginStatistics } from '../../accounts/login/log/login-statistics.ts'
import type { Secrets } from '../../base/secrets.ts'
import { unreadableSecrets } from '../../db/sealed-secrets.ts'
import { floorTo, LENGTH_MS, type Range } from '../../declare/range.ts'
import { readGameNow } from '../../game/clock/game-clock.ts'
import { readPassStatistics } from '../figures/pass-statistics.ts'

// What needs a person in an environment now. It is found when it is asked for: nothing is stored.

export const PROBLEM_KINDS = [
  'secrets unreadable',
  'logins fail',
  'xp limited',
  'settlement late',
  'settlement incomplete',
  'publication failed',
  'grant job failed',
  'grant job paused',
  'grant job awaits approval',
  'alerts fail',
] as const
export type ProblemKind = (typeof PROBLEM_KINDS)[number]

export interface Problem {
  readonly kind: ProblemKind
  /** When it began or was found. */
  readonly at: Date
  /** A sentence. */
  readonly text: string
  readonly provider?: string
  readonly scenarioId?: string
  readonly nodeId?: string
  readonly grantJobId?: string
  readonly publicationId?: string
  readonly alertWebhookId?: string
}

/** Failures of a studio's webhook or of an issuer, in contrast to refusals of a player. */
const FAILURES: ReadonlySet<string> = new Set([
  'custom_auth_invalid_response',
  'custom_auth_unavailable',
  'custom_auth_invalid_data',
  'sign_in_unavailable',
] satisfies LoginOutcome[])
/** Fewer failures are those of single clients. */
const FEWEST_FAILED_LOGINS = 10
const FEWEST_CLIPPED_CALLS = 50
const SHARE = 0.05

/** A settlement of millions of players takes minutes. */
const LATE = '15 minutes'
/** An attempt or two may fail. */
const LONG_FAILING = '10 minutes'
/** What failed longer ago is no longer a problem of today. */
const RECENT = '7 days'
/** Of each kind. */
export const MAX_PROBLEMS = 20

interface Place {
  readonly projectId: string
  readonly environmentId: string
}

export async function readProblems(
  { pool, secrets }: { readonly pool: Pool; readonly secrets: Secrets },
  place: Place,
): Promise<Problem[]> {
  const { environmentId } = place
  // The hour before and this one, so that there are enough calls to judge by at its start, too.
  const now = new Date()
  const range = { from: new Date(floorTo('hour', now).getTime() - LENGTH_MS.hour), to: now }
  // One after the other: together they would take five connections of the pool.
  const found = [
    ...(await lostSecrets(pool, secrets, place)),
    ...(await failingLogins(pool, environmentId, range)),
    ...(await clippedXp(pool, environmentId, range)),
    ...(await settlements(pool, environmentId)),
    ...(await publications(pool, environmentId)),
    ...(await grantJobs(pool, environmentId)),
    ...(await failingAlerts(pool, environmentId)),
  ]
  return found.sort((a, b) => PROBLEM_KINDS.indexOf(a.kind) - PROBLEM_KINDS.indexOf(b.kind))
}

/** One for all, since one change mends them. */
async function lostSecrets(pool: Pool, secrets: Secrets, place: Place): Promise<Problem[]> {
  const sentences = await unreadableSecrets(pool, secrets, place)
  if (sentences.length === 0) return []
  return [{ kind: 'secrets unreadable', at: new Date(), text: `Secrets cannot be read: ${sentences.join('; ')}.` }]
}

async function failingLogins(pool: Pool, environmentId: string, range: Range): Promise<Problem[]> {
  const { providers } = await readLoginStatistics(pool, { environmentId, provider: null, ...range })
  return providers.flatMap(({ provider, figures: { logins, outcomes } }): Problem[] => {
    const failed = outcomes.reduce((sum, one) => sum + (FAILURES.has(one.outcome) ? one.logins : 0), 0)
    if (failed < FEWEST_FAILED_LOGINS || failed < logins * SHARE) return []
    const text = `Logins through ${provider} fail: ${failed} of ${logins} since the hour before.`
    return [{ kind: 'logins fail', at: range.from, text, provider }]
  })
}

async function clippedXp(pool: Pool, environmentId: string, range: Range): Promise<Problem[]> {
  const ref = { environmentId, scenarioId: null, nodeId: null, ...range }
  const { times } = await readPassStatistics(pool, ref, 'hour')
  const clipped = times.reduce((sum, time) => sum + Number(time.clipped), 0)
  const grants = times.reduce((sum, time) => sum + Number(time.grants), 0)
  if (clipped < FEWEST_CLIPPED_CALLS || clipped < grants * SHARE) return []
  const text = `Limits held back xp of ${clipped} calls since the hour before, while ${grants} granted some.`
  return [{ kind: 'xp limited', at: range.from, text }]
}

async function settlements(pool: Pool, environmentId: string): Promise<Problem[]> {
  const { rows } = await pool.query<{ scenarioId: string; nodeId: string; at: Date; isOver: boolean; failed: string }>({
    name: 'problems-settlements',
    text: `SELECT scenario_id AS "scenarioId", node_id AS "nodeId", coalesce(finished_at, due_at) AS at,
        finished_at IS NOT NULL AS "isOver", failed
      FROM season_settlements
      WHERE environment_id = $1 AND (
        finished_at IS NULL AND due_at < $2::timestamptz - interval '${LATE}'
        OR failed > 0 AND finished_at > now() - interval '${RECENT}'
      )
      ORDER BY due_at DESC LIMIT ${MAX_PROBLEMS}`,
    values: [environmentId, await readGameNow(pool, environmentId)],
  })
  return rows.map(({ scenarioId, nodeId, at, isOver, failed }) => {
    const season = { at, scenarioId, nodeId }
    if (!isOver)
      return { kind: 'settlement late', ...season, text: `The season ${scenarioId} is closed and not settled.` }
    const text = `The season ${scenarioId} is settled, but ${failed} rewards, currencies or crossings did not fit.`
    return { kind: 'settlement incomplete', ...season, text }
  })
}

async function publications(pool: Pool, environmentId: string): Promise<Problem[]> {
  const { rows } = await pool.query<{ id: string; scenarioId: string; at: Date; failure: string }>({
    name: 'problems-publications',
    text: `SELECT id, scenario_id AS "scenarioId", ended_at AS at, failure FROM scheduled_publications
      WHERE environment_id = $1 AND state = 'failed' AND ended_at > now() - interval '${RECENT}'
      ORDER BY ended_at DESC LIMIT ${MAX_PROBLEMS}`,
    values: [environmentId],
  })
  return rows.map(({ id, scenarioId, at, failure }) => {
    const text = `The planned publication of ${scenarioId} failed: ${failure}`
    return { kind: 'publication failed', at, text, scenarioId, publicationId: id }
  })
}

const JOBS = {
  failed: ['grant job failed', 'A grant job failed'],
  paused: ['grant job paused', 'A grant job is paused'],
  'awaiting approval': ['grant job awaits approval', 'A grant job awaits the approval of a second person'],
} as const satisfies Readonly<Record<string, readonly [ProblemKind, string]>>

async function grantJobs(pool: Pool, environmentId: string): Promise<Problem[]> {
  const { rows } = await pool.query<{ id: string; state: keyof typeof JOBS; at: Date; why: string }>({
    name: 'problems-grant-jobs',
    text: `SELECT id, state, coalesce(finished_at, told_at, created_at) AS at, coalesce(note, reason) AS why FROM grant_jobs
      WHERE environment_id = $1 AND (state IN ('paused', 'awaiting approval')
        OR state = 'failed' AND coalesce(finished_at, told_at) > now() - interval '${RECENT}')
      ORDER BY id DESC LIMIT ${MAX_PROBLEMS}`,
    values: [environmentId],
  })
  return rows.map(({ id, state, at, why }) => {
    const [kind, text] = JOBS[state]
    return { kind, at, text: `${text}: ${why}`, grantJobId: id }
  })
}

async function failingAlerts(pool: Pool, environmentId: string): Promise<Problem[]> {
  const { rows } = await pool.query<{ id: string; name: string; at: Date; failure: string }>({
    name: 'problems-alerts',
    text: `SELECT id, name, failing_since AS at, failure FROM alert_webhooks
      WHERE environment_id = $1 AND enabled AND failing_since < clock_timestamp() - interval '${LONG_FAILING}'
      ORDER BY failing_since DESC`,
    values: [environmentId],
  })
  return rows.map(({ id, name, at, failure }) => {
    const text = `Alerts do not arrive at ${name}: ${failure}.`
    return { kind: 'alerts fail', at, text, alertWebhookId: id }
  })
}
