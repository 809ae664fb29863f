import { request } from 'undici'
import { parseJson } from '../base/json.ts'
import {
  ATTEMPT_TIMEOUT_MS,
  type ConnectionOptions,
  decodedBody,
  errorOf,
  guardedAgent,
  readAtMost,
  within,
} from '../webhook/webhook-connection.ts'

/** The longest document: a key set has some keys, and a configuration some dozens of members. */
const MAX_BYTES = 512 * 2 ** 10

/** The reason why a document could not be read: the class of the failure, or its status. */
export class DocumentFault extends Error {}

export interface GuardedJson {
  /** The value of a JSON document at an address that webhooks may have, too. Throws a {@link DocumentFault}. */
  read(url: string): Promise<unknown>
  close(): Promise<void>
}

/** Reads documents of issuers, with the guards of webhook calls: addresses, time, size, no redirects. */
export function createGuardedJson(options: ConnectionOptions): GuardedJson {
  const agent = guardedAgent(options)

  async function read(url: string): Promise<unknown> {
    const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)
    let text: string
    try {
      text = await textAt(url, signal)
    } catch (error) {
      throw error instanceof DocumentFault ? error : new DocumentFault(`${errorOf(error, signal)} at ${url}`)
    }
    try {
      return parseJson(text)
    } catch {
      throw new DocumentFault(`no JSON at ${url}`)
    }
  }

  async function textAt(url: string, signal: AbortSignal): Promise<string> {
    const headers = { accept: 'application/json', 'user-agent': 'tierway' }
    const sent = request(url, { dispatcher: agent, headers, signal })
    // undici observes the signal only once it is connected.
    const { statusCode, headers: answered, body } = await within(signal, sent)
    // Its reader receives the error of a broken body.
    body.on('error', () => undefined)
    if (statusCode !== 200) {
      body.destroy()
      const isRedirect = statusCode >= 300 && statusCode < 400 && answered.location !== undefined
      throw new DocumentFault(`${isRedirect ? 'a redirect, ' : ''}status ${statusCode} at ${url}`)
    }
    const bytes = await readAtMost(decodedBody(body, answered), MAX_BYTES)
    // Without a byte order mark, which some servers send.
    return new TextDecoder().decode(bytes)
  }

  return { read, close: () => agent.destroy() }
}
