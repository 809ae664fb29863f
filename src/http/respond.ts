import type { ServerResponse } from 'node:http'
import type { Refusal } from '../errors.ts'
import { type Json, print } from '../json.ts'

/** An answer before it is sent. */
export interface Reply {
  readonly status: number
  /** Null for an answer without one (204, 304). */
  readonly body: string | Buffer | null
  /** Names and values in turn, as `writeHead` takes them without copying. */
  readonly headers: readonly string[]
  /** A body that is made while it is sent, in the place of `body`. */
  readonly pages?: AsyncIterable<string>
}

export const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'] as const
export const NO_STORE = ['cache-control', 'no-store'] as const
const JSON_HEADERS = [...JSON_TYPE, ...NO_STORE]
/** Seconds after which a client should try again when the service is unavailable. */
const RETRY_AFTER = ['retry-after', '1'] as const

export function json(body: Json, status = 200): Reply {
  return { status, body: print(body), headers: JSON_HEADERS }
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
  return { status: 204, body: null, headers: NO_STORE }
}

/** A refusal in its REST form: `{error, code, requestId}`, and `details` where it has faults. */
export function refusalReply(refusal: Refusal, requestId: string): Reply {
  const details = refusal.faults.map(({ path, message }) => ({ path, message }))
  const body = { error: refusal.message, code: refusal.code, requestId, ...(refusal.hasDetails && { details }) }
  const reply = json(body, refusal.status)
  return refusal.status === 503 ? { ...reply, headers: [...reply.headers, ...RETRY_AFTER] } : reply
}
