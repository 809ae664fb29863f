import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Allowed request ids. They can break neither a log nor a header. */
const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/

/** The caller's id for its request if it is allowed, otherwise a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && SANE_REQUEST_ID.test(sent) ? sent : randomUUID()
}
