import { invalidRequest, Refusal } from '../errors.ts'
import { depthExceeds, kindOf } from '../json.ts'

/** Deeper nesting is refused: no request of ours needs it, and recursive readers would not bear it. */
const MAX_DEPTH = 64

// A byte order mark is kept, so that it is refused like any other text that is not JSON.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a request's body up to a limit; beyond it nothing more is taken in. */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length')
  if (declared !== null) {
    if (Number(declared) > maxBytes) throw new Refusal('payloadTooLarge')
    // The server holds a body to its declared length, so it cannot grow past the limit.
    return new Uint8Array(await request.arrayBuffer())
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) throw new Refusal('payloadTooLarge')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
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
