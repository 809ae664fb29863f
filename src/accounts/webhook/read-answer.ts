import type { Readable } from 'node:stream'
import { AttemptFault } from '../../base/outgoing/attempt-fault.ts'
import { type Answer, BODILESS, decodedBody, discard } from '../../base/outgoing/outgoing.ts'
import type { Semaphore } from '../../base/semaphore.ts'

// What is read of an endpoint's answer: all of a 200, and the beginning of any other.

/** The longest answer, after decompression. */
export const MAX_ANSWER_BYTES = 16 * 2 ** 20
/** Answers up to this size are read at once. A longer one waits for its provider's turn, within its attempt's time. */
const SHORT_ANSWER_BYTES = 64 * 2 ** 10
/** Bytes of an answer without a player that are read: the reason of a denial fits. */
const START_BYTES = 4_096
/** The longest wait for the beginning of an answer that is no 200. The client waits meanwhile. */
const EXCERPT_MS = 500

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Refuses an answer that says that it is too long. Closes its connection. */
export function refuseLong({ headers, body }: Answer): void {
  if (Number(headers['content-length'] ?? 0) <= MAX_ANSWER_BYTES) return
  body.destroy()
  throw new AttemptFault('too_large')
}

/** The text of an answer. Its bytes count in the memory of its project until they are read. */
export async function readText(
  answer: Answer,
  { memory, projectId, longAnswers }: { memory: Memory; projectId: string; longAnswers: Semaphore },
): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  let leave: (() => void) | undefined
  try {
    for await (const chunk of decodedBody(answer)) {
      length += chunk.length
      const fits = memory.take(projectId, chunk.length)
      if (length > MAX_ANSWER_BYTES) throw new AttemptFault('too_large')
      if (!fits) throw new AttemptFault('overloaded')
      chunks.push(chunk)
      // A waiting body is not read, so its sender is held back.
      if (length > SHORT_ANSWER_BYTES) leave ??= await longAnswers.acquire(answer.signal)
    }
    return utf8.decode(Buffer.concat(chunks, length))
  } catch (error) {
    throw error instanceof TypeError ? new AttemptFault('encoding') : error
  } finally {
    memory.giveBack(projectId, length)
    leave?.()
  }
}

/** The first bytes of an answer that is no 200, if they are not compressed. The rest is discarded. */
export async function readStart(answer: Answer): Promise<Buffer> {
  const { status, headers, body, signal } = answer
  const isWorded = !BODILESS.has(status) && headers['content-encoding'] === undefined
  const start = isWorded ? await startOf(body, signal) : Buffer.alloc(0)
  void discard(answer)
  return start
}

/** The part of a body that arrives within `EXCERPT_MS` and the attempt. The rest remains to be read. Never fails. */
function startOf(body: Readable, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      body.off('readable', take).off('end', end)
      resolve(Buffer.concat(chunks).subarray(0, START_BYTES))
    }
    const take = () => {
      for (let chunk = body.read(); chunk !== null; chunk = length < START_BYTES ? body.read() : null) {
        chunks.push(chunk)
        length += chunk.length
      }
      if (length >= START_BYTES) end()
    }
    const timer = setTimeout(end, EXCERPT_MS)
    signal.addEventListener('abort', end)
    body.on('readable', take).once('end', end).on('error', end)
  })
}

export interface Memory {
  /** Counts bytes for an owner. False when they exceed the share of the owner or the total. */
  take(owner: string, bytes: number): boolean
  giveBack(owner: string, bytes: number): void
}

export function createMemory(most: number, mostOfOne: number): Memory {
  const taken = new Map<string, number>()
  let all = 0

  function take(owner: string, bytes: number): boolean {
    const own = (taken.get(owner) ?? 0) + bytes
    taken.set(owner, own)
    all += bytes
    return own <= mostOfOne && all <= most
  }

  function giveBack(owner: string, bytes: number): void {
    const own = (taken.get(owner) ?? 0) - bytes
    if (own > 0) taken.set(owner, own)
    else taken.delete(owner)
    all -= bytes
  }

  return { take, giveBack }
}

/** Why an answer with a status other than 200 lets no player in, in words. */
export function causeOfStatus(status: number, location: string | null): string {
  if (status >= 500) return `status ${status}: the endpoint failed`
  if (status >= 400) return `status ${status}: the endpoint refused the player or the request`
  if (status < 300) return `status ${status}: only 200 accepts a player`
  return `status ${status}: redirects are not followed${location === null ? '' : `; this one leads to ${location}`}`
}

/** The meaning of a status other than 200 (contract 7.1). A redirect is not followed: it is an invalid response. */
export function meaningOf(status: number): 'rejected' | 'unavailable' | 'invalidResponse' {
  if (status >= 400 && status < 500) return 'rejected'
  return status >= 500 ? 'unavailable' : 'invalidResponse'
}
