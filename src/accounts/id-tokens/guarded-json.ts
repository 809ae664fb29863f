import { parseJson } from '../../base/json.ts'
import { MAX_WEBHOOK_TIMEOUT_MS } from '../../base/limits.ts'
import { errorOf } from '../../base/outgoing/attempt-fault.ts'
import type { ConnectionOptions } from '../../base/outgoing/connections.ts'
import { type Answer, createOutgoing, wholeBody } from '../../base/outgoing/outgoing.ts'

/** The longest document: a key set has some keys, and a configuration some dozens of members. */
const MAX_BYTES = 512 * 2 ** 10

/** The reason why a document could not be read: the class of the failure, or its status. */
export class DocumentFault extends Error {}

export interface GuardedJson {
  /** The value of a JSON document at an address that webhooks may have, too. Throws a {@link DocumentFault}. */
  read(url: string): Promise<unknown>
  close(): Promise<void>
}

/** Reads documents of issuers, with the guards of all calls that go out: addresses, time, size, no redirects. */
export function createGuardedJson(options: ConnectionOptions): GuardedJson {
  const outgoing = createOutgoing({ ...options, name: 'issuer of ID tokens' })

  async function read(url: string): Promise<unknown> {
    const asked = {
      method: 'GET',
      headers: { accept: 'application/json' },
      timeoutMs: MAX_WEBHOOK_TIMEOUT_MS,
      read: readDocument,
    } as const
    const { text, fault } = await outgoing.send(url, asked).catch((error) => ({ text: null, fault: errorOf(error) }))
    if (text === null) throw new DocumentFault(`${fault} at ${url}`)
    try {
      return parseJson(text)
    } catch {
      throw new DocumentFault(`no JSON at ${url}`)
    }
  }

  return { read, close: outgoing.close }
}

async function readDocument(answer: Answer): Promise<{ text: string; fault: null } | { text: null; fault: string }> {
  const { status, headers, body } = answer
  // Without a byte order mark, which some servers send.
  if (status === 200) return { text: new TextDecoder().decode(await wholeBody(answer, MAX_BYTES)), fault: null }
  body.destroy()
  const isRedirect = status >= 300 && status < 400 && headers.location !== undefined
  return { text: null, fault: `${isRedirect ? 'a redirect, ' : ''}status ${status}` }
}
