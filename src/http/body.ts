import type { IncomingMessage } from 'node:http'
import { invalidRequest, Refusal } from '../errors.ts'
import { depthExceeds, kindOf } from '../json.ts'

/** Deeper nesting is refused: no request of ours needs it, and recursive readers would not bear it. */
const MAX_DEPTH = 64

// A byte order mark is kept, so that it is refused like any other text that is not JSON.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a request's body up to a limit; beyond it nothing more is taken in. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new Refusal('payloadTooLarge')
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) {
        request.pause()
        reject(new Refusal('payloadTooLarge'))
      } else {
        chunks.push(chunk)
      }
    })
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    // A client that leaves in the midst is owed no answer, but whoever waits for the body is, and it is nobody's fault here.
    request.on('error', () => reject(invalidRequest({ path: '', message: 'the body must be whole' })))
  })
}

/** The text of a body that is one JSON object; anything else is a 400 that says why. */
export function readJsonObject(body: Uint8Array): string {
  let text: string
  try {
    text = utf8.decode(body)
  } catch {
    throw invalidRequest({ path: '', message: 'the body must be valid UTF-8' })
  }
  if (depthExceeds(text, MAX_DEPTH))
    throw invalidRequest({ path: '', message: `the body must not nest deeper than ${MAX_DEPTH}` })
  try {
    JSON.parse(text)
  } catch {
    throw invalidRequest({ path: '', message: 'the body must be JSON' })
  }
  text = text.trim()
  if (kindOf(text) !== 'object') throw invalidRequest({ path: '', message: 'the body must be a JSON object' })
  return text
}
