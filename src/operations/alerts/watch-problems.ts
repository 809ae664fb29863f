import type { Pool } from 'pg'
import { newWebhookId } from '../../accounts/webhook/webhook.ts'
import { type Background, repeatInBackground } from '../../base/background.ts'
import { type Json, parseJson, print } from '../../base/json.ts'
import type { Secrets } from '../../base/secrets.ts'
import { databaseNow } from '../../db/ids.ts'
import { readProblems } from '../problems/problems.ts'
import { openTarget, UNREADABLE } from './alert-webhooks.ts'
import { changesOf, type Reported } from './changes.ts'
import { type AlertMessage, plainOf } from './messages.ts'
import type { AlertFormat } from './requests.ts'
import {
  type AlertAttempt,
  type AlertSender,
  failureOf,
  hasArrived,
  isGone,
  isRefused,
  isUnknown,
} from './send-message.ts'

// Notifies alert webhooks of problems. A message is stored before it is sent, and stays as it is until it has
// arrived: one that arrived without its answer is sent again with the same id. What changes meanwhile is in the next
// message. One instance at a time works on a webhook.

/** How often an instance looks for webhooks that are due. */
const EVERY_MS = 5_000
/** How often a webhook's problems are looked at. So long, the instance that took it works on it alone. */
const LOOK_EVERY_MS = 30_000
const FIRST_PAUSE_MS = 30_000
const LONGEST_PAUSE_MS = 60 * 60_000
/** A hundred years. Another address begins at once. */
const UNTIL_A_CHANGE_MS = 100 * 365 * 86_400_000
/** A message that a receiver refuses this often would keep it from all later ones. */
const MOST_REFUSALS = 5
/** A proxy may answer 404 for a moment. From this many failures on it is the address. */
const FEW_FAILURES = 3

const IS_DUE = `enabled AND (looked_at IS NULL OR looked_at <= clock_timestamp() - $1::float8 * interval '1 millisecond')`
const LOOK = { name: 'alerts-look', text: `SELECT EXISTS (SELECT FROM alert_webhooks WHERE ${IS_DUE}) AS due` }
const TAKE = `UPDATE alert_webhooks w SET looked_at = clock_timestamp()
  FROM environments e JOIN projects p ON p.id = e.project_id
  WHERE e.id = w.environment_id AND w.id = (
    SELECT id FROM alert_webhooks WHERE ${IS_DUE} ORDER BY looked_at NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  RETURNING w.id, w.format, w.url, w.secret, w.link, w.kinds, w.told, w.pending, w.failures, w.looked_at::text AS taken,
    w.next_attempt_at > clock_timestamp() AS "isPaused",
    e.id AS "environmentId", e.name AS environment, p.id AS "projectId", p.name AS project`
/** The instance that took it last. */
const MINE = 'id = $1 AND looked_at = $2::timestamptz'

interface Taken {
  readonly id: string
  readonly format: AlertFormat
  readonly url: string
  readonly secret: string | null
  readonly link: string | null
  readonly kinds: readonly string[]
  readonly told: string
  readonly pending: string | null
  readonly failures: number
  readonly taken: string
  readonly isPaused: boolean | null
  readonly environmentId: string
  readonly environment: string
  readonly projectId: string
  readonly project: string
}

export interface AlertsOptions {
  readonly pool: Pool
  readonly secrets: Secrets
  readonly send: AlertSender['send']
  readonly onSent: (attempt: AlertAttempt) => void
  /** Called when a look failed. A later one tries again. */
  readonly onError: (error: unknown) => void
}

export const createAlerts = (options: AlertsOptions): Background =>
  repeatInBackground({
    work: (signal) => tellWebhooks({ ...options, signal }),
    onError: options.onError,
    everyMs: EVERY_MS,
  })

interface Round extends Omit<AlertsOptions, 'onError'> {
  readonly signal: AbortSignal
  /** Default: 30 s. */
  readonly lookEveryMs?: number
}

/** Looks at each webhook that is due, once. */
export async function tellWebhooks(round: Round): Promise<void> {
  const { pool, signal, lookEveryMs = LOOK_EVERY_MS } = round
  const seen = new Set<string>()
  while (!signal.aborted) {
    const { rows: looked } = await pool.query<{ due: boolean }>({ ...LOOK, values: [lookEveryMs] })
    if (!looked[0]?.due) return
    const { rows } = await pool.query<Taken>(TAKE, [lookEveryMs])
    const [taken] = rows
    // Another instance took it, or this one has had it in this round.
    if (!taken || seen.has(taken.id)) return
    seen.add(taken.id)
    await notify(round, taken)
  }
}

async function notify(round: Round, webhook: Taken): Promise<void> {
  const message = webhook.pending === null ? await nextMessage(round, webhook) : readMessage(webhook.pending)
  if (message === null || webhook.isPaused) return
  const outcome = await tryToSend(round, webhook, message)
  // A later look of any instance sends it again.
  if (round.signal.aborted) return
  await note(round.pool, webhook, outcome)
}

/** Null: the message has arrived. */
type Outcome = {
  readonly failure: string
  readonly pauseMs: number
  /** The message that is sent next. Null for none until something changes. */
  readonly next: AlertMessage | null
  /** The failures in a row of that message. */
  readonly failures: number
} | null

async function tryToSend(
  { secrets, send, onSent, signal }: Round,
  webhook: Taken,
  message: AlertMessage,
): Promise<Outcome> {
  const failures = webhook.failures + 1
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** webhook.failures)
  const target = openTarget(secrets, webhook, webhook)
  if (!target) return { failure: UNREADABLE, pauseMs, next: message, failures }
  const attempt = await send(target, message, signal)
  onSent(attempt)
  if (hasArrived(attempt)) return null
  const failure = failureOf(attempt)
  if (isGone(attempt)) return { failure, pauseMs: UNTIL_A_CHANGE_MS, next: message, failures }
  if (isUnknown(attempt) && failures >= FEW_FAILURES)
    return { failure, pauseMs: LONGEST_PAUSE_MS, next: message, failures }
  const refusals = (message.refusals ?? 0) + (isRefused(attempt) ? 1 : 0)
  if (refusals >= MOST_REFUSALS) {
    if (!message.isPlain)
      return { failure, pauseMs: FIRST_PAUSE_MS, next: plainOf(message, newWebhookId()), failures: 0 }
    return { failure: `${failure}, and the message was dropped`, pauseMs: 0, next: null, failures: 0 }
  }
  const asked = Math.min(LONGEST_PAUSE_MS, attempt.retryAfterMs ?? 0)
  return { failure, pauseMs: Math.max(pauseMs, asked), next: { ...message, refusals }, failures }
}

/** Stores how an attempt went, and when the next one is. */
async function note(pool: Pool, { id, taken }: Taken, outcome: Outcome): Promise<void> {
  if (outcome === null) {
    await pool.query(
      `UPDATE alert_webhooks SET pending = NULL, failures = 0, failure = NULL, failing_since = NULL,
         next_attempt_at = NULL, sent_at = clock_timestamp() WHERE ${MINE}`,
      [id, taken],
    )
    return
  }
  const { failure, pauseMs, next, failures } = outcome
  await pool.query(
    `UPDATE alert_webhooks SET failure = $3, failing_since = coalesce(failing_since, clock_timestamp()),
       next_attempt_at = clock_timestamp() + $4::float8 * interval '1 millisecond',
       failures = $5, pending = $6 WHERE ${MINE}`,
    [id, taken, failure, pauseMs, failures, next && textOf(next)],
  )
}

/** Stores the message about what has changed. Null when nothing has, or when another instance works on the webhook. */
async function nextMessage({ pool, secrets }: Round, webhook: Taken): Promise<AlertMessage | null> {
  const { id, taken, environment, project, link, kinds } = webhook
  const before = parseJson(webhook.told) as readonly Reported[]
  const problems = await readProblems({ pool, secrets }, webhook)
  const { reported, began, ended } = changesOf(before, problems, { kinds, now: new Date(databaseNow()) })
  const isNews = began.length > 0 || ended.length > 0
  const text = textOf(reported)
  if (text === webhook.told) return null
  const at = new Date(databaseNow()).toISOString()
  const message = { id: newWebhookId(), at, project, environment, link, isTest: false, began, ended }
  const { rowCount } = await pool.query(`UPDATE alert_webhooks SET told = $3, pending = $4 WHERE ${MINE}`, [
    id,
    taken,
    text,
    isNews ? textOf(message) : null,
  ])
  return isNews && rowCount === 1 ? message : null
}

const textOf = (stored: readonly Reported[] | AlertMessage): string => print(stored as unknown as Json)
const readMessage = (text: string): AlertMessage => parseJson(text) as AlertMessage
