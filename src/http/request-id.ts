import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** What a caller may name a request, so that it can never break a log or a header. */
const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/

/** The caller's name for its request if that is sane, else one of ours. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && SANE_REQUEST_ID.test(sent) ? sent : randomUUID()
}
