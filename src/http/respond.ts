import type { Refusal } from '../errors.ts'
import { type Json, print } from '../json.ts'

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

/** Seconds after which a client should try again when the service is unavailable. */
const RETRY_AFTER_SECONDS = '1'

export function json(body: Json, status = 200): Response {
  return new Response(print(body), { status, headers: JSON_HEADERS })
}

/** A refusal in its REST form: `{error, code, requestId}`, and `details` for a 400. */
export function refusalResponse(refusal: Refusal, requestId: string): Response {
  const details = refusal.faults.map(({ path, message }) => ({ path, message }))
  const body = { error: refusal.message, code: refusal.code, requestId, ...(refusal.status === 400 && { details }) }
  const response = json(body, refusal.status)
  if (refusal.status === 503) response.headers.set('retry-after', RETRY_AFTER_SECONDS)
  return response
}
