import { isAscii, isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type Fault, invalidRequest, Refusal } from '../base/errors.ts'
import { depthExceeds, kindOf, parseJson, syntaxFault } from '../base/json.ts'
import { MAX_DEPTH, MAX_REQUEST_ID } from '../base/limits.ts'
import { createSemaphore } from '../base/semaphore.ts'
import { isFormOrEncoded, isWide } from './media-types.ts'
import { JsonSource } from './source.ts'

// A byte order mark is kept, and refused like any other text that is not JSON.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Longer bodies take milliseconds to parse. */
const LONG_BYTES = 64 * 1024
/** One long body in each turn of the event loop, so that other requests are served between hundreds of them. */
const turns = createSemaphore(1)

/** Reads a request's body up to a limit. Beyond it nothing more is read. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (isEncoded(request)) throw encoded()
  const { 'content-type': type } = request.headers
  if (type !== undefined && type !== 'application/json' && isWide(type)) throw otherType()
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new Refusal('payloadTooLarge')
    let body: Buffer = Buffer.of()
    let length = 0
    request.on('data', function take(chunk: Buffer) {
      const from = length
      length += chunk.length
      if (length > maxBytes) {
        request.off('data', take).pause()
        reject(new Refusal('payloadTooLarge'))
      } else if (from === 0) {
        body = chunk
      } else {
        // Copied, not kept: a million chunks of one byte would take hundreds of megabytes.
        if (length > body.length) body = grown(body, length)
        chunk.copy(body, from)
      }
    })
    request.on('end', () => resolve(length > LONG_BYTES ? inTurn(body.subarray(0, length)) : body.subarray(0, length)))
    // A client that leaves early gets no answer, but the promise must still settle.
    request.on('error', () => reject(unreadable('the body must be whole')))
  })
}

/** Whether a body is compressed. A compressed body can be a thousand times as long as its bytes. */
function isEncoded({ headers }: IncomingMessage): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding.trim().toLowerCase() !== 'identity'
}

function encoded(): Refusal {
  const message = 'must be absent or identity: the service does not decompress bodies'
  return new Refusal('unsupportedMediaType', { faults: [{ path: 'Content-Encoding', message }] })
}

async function inTurn(body: Buffer): Promise<Buffer> {
  setImmediate(await turns.acquire())
  return body
}

/** How long a client that is refused while it sends may take to read the answer, or to send more. */
export const LINGER_MS = 500
/** How often it may send more. */
const LINGERS = 10

/**
 * Reads on after the answer to an incomplete body, as long as more of it comes, up to some seconds. A client whose
 * connection closes while it sends would not read the answer; one that has sent all of it may use the connection again.
 */
export function letBy(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || !(request.headers['content-length'] || request.headers['transfer-encoding'])) return
  response.once('finish', () => {
    let lingers = LINGERS
    let isSilent = true
    let timer: NodeJS.Timeout
    const close = () => {
      if (request.complete) return
      lingers -= 1
      if (isSilent || lingers === 0) return request.socket.destroySoon()
      wait()
    }
    const wait = () => {
      isSilent = true
      // A busy process first reads what has come meanwhile.
      timer = setTimeout(() => setImmediate(close), LINGER_MS).unref()
    }
    wait()
    request
      .once('close', () => clearTimeout(timer))
      .on('data', () => {
        isSilent = false
      })
    request.resume()
  })
}

/** A copy of the bytes, with room for twice this many. */
function grown(bytes: Buffer, length: number): Buffer {
  const larger = Buffer.allocUnsafe(2 * length)
  bytes.copy(larger)
  return larger
}

const otherType = (...faults: readonly Fault[]): Refusal =>
  new Refusal('unsupportedMediaType', {
    faults: [{ path: 'Content-Type', message: 'the body must be JSON, in UTF-8' }, ...faults],
  })

/**
 * The members of a body that is one JSON object, whatever its `Content-Type` says. Any other body is a 400 with the
 * reason, or a 415 where its type is a form or another encoding.
 */
export function readJson(body: Buffer, type: string | undefined): JsonSource {
  try {
    return objectOf(textOf(body), 'the body')
  } catch (error) {
    if (type === undefined || !(error instanceof Refusal) || !isFormOrEncoded(type)) throw error
    throw otherType(...error.faults)
  }
}

function objectOf(text: string, what: string): JsonSource {
  if (nestsDeeper(text, MAX_DEPTH)) throw unreadable(`${what} must not nest deeper than ${MAX_DEPTH}`)
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    throw unreadable(`${what} must be JSON: ${syntaxFault(text)}`)
  }
  const trimmed = text.trim()
  if (kindOf(trimmed) !== 'object') throw unreadable(`${what} must be a JSON object`)
  return new JsonSource(trimmed, value)
}

/** A line of a body, by its number from 1: a JSON object, or the fault of a text that is none. */
export type Line = { readonly number: number } & ({ readonly source: JsonSource } | { readonly fault: string })

/** The lines of a body that is NDJSON, without the blank ones. */
export function readLines(body: Buffer, most: number): readonly Line[] {
  const lines: Line[] = []
  let number = 0
  for (const text of textOf(body).split('\n')) {
    number += 1
    if (text.trim() === '') continue
    if (lines.length === most) throw unreadable(`the body must have at most ${most} lines`)
    try {
      lines.push({ number, source: objectOf(text, 'the line') })
    } catch (refusal) {
      const fault = refusal instanceof Refusal && refusal.faults[0]?.message
      if (!fault) throw refusal
      lines.push({ number, fault })
    }
  }
  return lines
}

/** The text of a body, which must be UTF-8. */
export function textOf(body: Buffer): string {
  if (isAscii(body)) return body.toString('latin1')
  try {
    return utf8.decode(body)
  } catch {
    throw unreadable('the body must be valid UTF-8')
  }
}

/** Most bodies open one object and no list, which is quick to see. */
function nestsDeeper(text: string, limit: number): boolean {
  if (!text.includes('[') && text.indexOf('{') === text.lastIndexOf('{')) return false
  return depthExceeds(text, limit)
}

const unreadable = (message: string): Refusal => invalidRequest({ path: '', message })

/** Allowed request ids. They can break neither a log nor a header. */
const SANE_REQUEST_ID = new RegExp(`^[\\w.:-]{1,${MAX_REQUEST_ID}}$`)

/** The caller's id for its request if it is allowed, otherwise a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && SANE_REQUEST_ID.test(sent) ? sent : randomUUID()
}

/** The header by which a call with a platform key names the person behind it; null without one. */
export const operatorHeader = (headers: IncomingHttpHeaders): string | null => decodeName(headers['x-operator'])

/**
 * A name as it was meant. A header arrives as bytes, each of which is one character: names are UTF-8, as terminals send
 * them, or Latin-1, as `fetch` does.
 */
export function decodeName(header: string | readonly string[] | null | undefined): string | null {
  if (header === undefined || header === null) return null
  const bytes = Buffer.from(String(header), 'latin1')
  return isUtf8(bytes) ? bytes.toString() : bytes.toString('latin1')
}
