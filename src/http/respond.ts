import type { ServerResponse } from 'node:http'
import type { Refusal } from '../errors.ts'
import { type Json, print } from '../json.ts'

/** An answer before it is sent: its headers are gathered on the way. */
export interface Reply {
  readonly status: number
  /** Null for an answer without one (204). */
  readonly body: string | null
  readonly headers: Record<string, string>
}

/** Seconds after which a client should try again when the service is unavailable. */
const RETRY_AFTER_SECONDS = '1'

export function json(body: Json, status = 200): Reply {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }
  return { status, body: print(body), headers }
}

/** Aborts once an answer was taken, or nobody waits for it any more. */
export function closedOf(response: ServerResponse): AbortSignal {
  const closed = new AbortController()
  if (response.closed) closed.abort()
  else response.once('close', () => closed.abort())
  return closed.signal
}

/** Done, and nothing to say. */
export function noContent(): Reply {
  return { status: 204, body: null, headers: { 'cache-control': 'no-store' } }
}

/** A refusal in its REST form: `{error, code, requestId}`, and `details` for a 400. */
export function refusalReply(refusal: Refusal, requestId: string): Reply {
  const details = refusal.faults.map(({ path, message }) => ({ path, message }))
  const body = { error: refusal.message, code: refusal.code, requestId, ...(refusal.status === 400 && { details }) }
  const reply = json(body, refusal.status)
  if (refusal.status === 503) reply.headers['retry-after'] = RETRY_AFTER_SECONDS
  return reply
}
