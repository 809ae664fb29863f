import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Fault } from '../base/errors.ts'
import { type Fields, type RequestOf, refuseFaults, type Shape } from './shape.ts'
import { type Source, withMember } from './source.ts'

// The header `Idempotency-Key`, as another place of the member `idempotencyKey`.

/** Whether a call takes a key. */
export const isKeyed = ({ fields }: Shape<Fields>): boolean => 'idempotencyKey' in fields

/** The reader of a call whose idempotency key, if it takes one, may also come in the header. */
export function inputReader<F extends Fields>(shape: Shape<F>) {
  const takesKey = isKeyed(shape as unknown as Shape<Fields>)
  return (body: Source, request: IncomingMessage, faults: Fault[] = []): RequestOf<Shape<F>> => {
    const source = takesKey && request.headers['idempotency-key'] !== undefined ? withKey(body, request, faults) : body
    const input = shape.gather(source, faults)
    refuseFaults(faults)
    return input
  }
}

/** The header may come several times. */
export function withKey(body: Source, request: IncomingMessage, faults: Fault[]): Source {
  const fault = (message: string) => void faults.push({ path: 'idempotencyKey', message })
  const keys = new Set(keysOf(request))
  const [key] = keys
  const own = body.value('idempotencyKey')
  if (keys.has(undefined)) fault('must be UTF-8 in the header Idempotency-Key')
  else if (keys.size > 1) fault('must be the same in each header Idempotency-Key')
  else if (own !== undefined && own !== key)
    fault('must be the same as in the header Idempotency-Key, or stand in one of the two')
  // The fault stands already when the key could not be read.
  return withMember(body, 'idempotencyKey', key ?? 'unread')
}

/** One key of these characters, as nearly all are: it needs no further reading. */
const PLAIN_KEY = /^[\w.:-]+$/

/** Node joins the values of a header that was sent several times. */
function keysOf(request: IncomingMessage): readonly (string | undefined)[] {
  const joined = String(request.headers['idempotency-key'])
  if (PLAIN_KEY.test(joined)) return [joined]
  return (request.headersDistinct['idempotency-key'] ?? []).map(readKey)
}

/** A key in quotation marks, as the IETF's draft for the header writes it. */
const QUOTED = /^"(?:[^"\\]|\\["\\])*"$/

/** The key of a header, which arrives as bytes, each of which is one character. Undefined unless they are UTF-8. */
function readKey(sent: string): string | undefined {
  const bytes = Buffer.from(sent, 'latin1')
  if (!isUtf8(bytes)) return undefined
  const key = bytes.toString()
  return QUOTED.test(key) ? key.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : key
}
