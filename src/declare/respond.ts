import { type ServerResponse, STATUS_CODES, validateHeaderValue } from 'node:http'
import type { Refusal } from '../base/errors.ts'
import { type Json, print } from '../base/json.ts'
import type { Tagged } from './player-call.ts'

export interface Reply {
  readonly status: number
  /** Null for an answer without one (204, 304). */
  readonly body: string | Buffer | null
  /** Names and values in turn, which `writeHead` takes without copying. */
  readonly headers: readonly string[]
  /** A body that is produced while it is sent, instead of `body`. */
  readonly pages?: AsyncIterable<string>
  /** The pages come as things happen, for as long as the client reads. */
  readonly isLive?: true
}

export const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'] as const
export const NO_STORE = ['cache-control', 'no-store'] as const
const JSON_HEADERS = [...JSON_TYPE, ...NO_STORE]

export function json(body: Json, status = 200): Reply {
  return { status, body: print(body), headers: JSON_HEADERS }
}

/**
 * Ends an answer whose head was written. Node adds an empty chunk to a body that comes with the end of an answer, and
 * then writes a list of chunks: that took 3 µs of each call.
 */
export function endWith(response: ServerResponse, body: Reply['body']): void {
  if (body !== null) {
    response.write(body)
    // Null while an earlier answer uses the connection.
    response.socket?.uncork()
  }
  response.end()
}

/**
 * The first lines of an answer that is written without Node's `ServerResponse`. `headers` are names and values in turn.
 * A value that could begin another header throws, as Node's `writeHead` does.
 */
export function headOf(status: number, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const value = headers[at + 1] ?? ''
    validateHeaderValue(name, value)
    text += `${name}: ${value}\r\n`
  }
  return text
}

/** Aborts when the answer was sent, or the client is gone. */
export function closedOf(response: ServerResponse): AbortSignal {
  const closed = new AbortController()
  if (response.closed) closed.abort()
  else response.once('close', () => closed.abort())
  return closed.signal
}

/**
 * An answer that clients keep, by its tag. One that the client has already is not sent again, as for GET (RFC 9110, 13.1.2).
 */
export function tagged({ etag, print }: Tagged, known: string | undefined): Reply {
  if (hasTag(known, etag)) return { status: 304, body: null, headers: [...NO_STORE, 'etag', etag] }
  return { status: 200, body: print(), headers: [...JSON_HEADERS, 'etag', etag] }
}

/** Whether an `If-None-Match` names a tag. Weak tags count as strong ones. */
export const hasTag = (known: string | undefined, etag: string): boolean =>
  known?.split(',').some((one) => one.trim() === '*' || strong(one.trim()) === strong(etag)) ?? false

const strong = (tag: string): string => tag.replace(/^W\//, '')

export function noContent(): Reply {
  return { status: 204, body: null, headers: NO_STORE }
}

/** A refusal in its REST form: `{error, code, requestId}`, and `details` where it has any. */
export function refusalReply(refusal: Refusal, requestId: string): Reply {
  const { message: error, code, details } = refusal
  const body = { error, code, requestId, ...(details !== undefined && { details }) }
  const reply = json(body, refusal.status)
  return { ...reply, headers: [...reply.headers, ...retryHeaders(refusal)] }
}

/**
 * `Retry-After`, and the exceeded limit as the draft of the HTTPAPI working group writes it
 * (draft-ietf-httpapi-ratelimit-headers-10): `RateLimit-Policy: "player";q=3000;w=60` and `RateLimit: "player";r=0;t=1`.
 */
export function retryHeaders({ limit, retryAfterSeconds }: Refusal): string[] {
  if (retryAfterSeconds === undefined) return []
  const headers = ['retry-after', String(retryAfterSeconds)]
  if (!limit) return headers
  const { name, calls, seconds } = limit
  headers.push(
    'ratelimit-policy',
    `"${name}";q=${calls};w=${seconds}`,
    'ratelimit',
    `"${name}";r=0;t=${retryAfterSeconds}`,
  )
  return headers
}
