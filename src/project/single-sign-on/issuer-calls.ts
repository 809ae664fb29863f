import { MAX_WEBHOOK_TIMEOUT_MS } from '../../base/limits.ts'
import { errorOf } from '../../base/outgoing/attempt-fault.ts'
import type { ConnectionOptions } from '../../base/outgoing/connections.ts'
import { type Answer, BODILESS, createOutgoing, type Outgoing, wholeBody } from '../../base/outgoing/outgoing.ts'

/** The longest answer of an issuer. */
const MAX_BYTES = 512 * 2 ** 10

/** Why an issuer could not be asked, or what is wrong with its answer. It contains no code, token or secret. */
export class IssuerFault extends Error {
  /** The issuer said that the person is not signed in, or has cancelled. */
  readonly isRefusal: boolean

  constructor(message: string, options: ErrorOptions & { readonly isRefusal?: boolean } = {}) {
    super(message, options)
    this.isRefusal = options.isRefusal ?? false
  }
}

/** A request of the library. */
export interface Asked {
  readonly method: string
  readonly headers: object
  readonly body?: unknown
}

/** Asks issuers with the guards of all calls that go out: addresses, time, size, no redirects. */
export class IssuerCalls {
  private readonly outgoing: Outgoing

  constructor(options: ConnectionOptions) {
    this.outgoing = createOutgoing({ ...options, name: 'issuer of single sign-on' })
  }

  async ask<T>(url: string, { method, headers, body }: Asked, read: (answer: Answer) => Promise<T>): Promise<T> {
    const asked = {
      method: method as 'GET' | 'POST',
      headers: headers as Record<string, string>,
      ...(body != null && { body: Buffer.from(String(body)) }),
      timeoutMs: MAX_WEBHOOK_TIMEOUT_MS,
    }
    try {
      return await this.outgoing.send(url, { ...asked, read })
    } catch (error) {
      throw new IssuerFault(`${errorOf(error).replaceAll('_', ' ')} at ${new URL(url).origin}`, { cause: error })
    }
  }

  /** The fetch of the library, which follows no redirect. */
  async fetch(url: string, asked: Asked): Promise<Response> {
    const response = await this.ask(url, asked, async (answer) => {
      const { status, headers } = answer
      if (redirectOf(answer) !== undefined) {
        answer.body.destroy()
        return status
      }
      const bytes = await wholeBody(answer, MAX_BYTES)
      // `Response` refuses a body, also an empty one, with a status that has none.
      const content = BODILESS.has(status) ? null : bytes
      return new Response(content, { status, headers: { 'content-type': String(headers['content-type'] ?? '') } })
    })
    if (typeof response === 'number') throw new IssuerFault(`a redirect, status ${response}, at ${new URL(url).origin}`)
    return response
  }

  close(): Promise<void> {
    return this.outgoing.close()
  }
}

/** Where an answer leads. Undefined for one that is no redirect. */
export const redirectOf = ({ status, headers }: Answer): string | undefined =>
  status >= 300 && status < 400 && headers.location !== undefined ? String(headers.location) : undefined
