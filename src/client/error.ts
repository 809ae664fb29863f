import type { RefusalCode } from './contract.ts'

/** The `code` of a `TierwayError`: one of the service, or one of the library. */
export type ErrorCode =
  | RefusalCode
  /** Too many calls. Retried after `Retry-After`. */
  | 'rate_limited'
  /** No connection, or it broke before the answer came. */
  | 'network_error'
  /** No answer came in time. */
  | 'timeout'
  /** No player is signed in, or the login has ended. Sign in again. */
  | 'signed_out'
  /** The answer did not come from the service: a proxy's page, for example. */
  | 'invalid_answer'
  /** The given `fetch` does not stream bodies, or the platform has no `TextDecoder` for them. Give both. */
  | 'no_stream'

/** One fault of a request. */
export interface Fault {
  /** The place of the fault, such as `amount`. */
  readonly path: string
  /** What is wrong with it. */
  readonly message: string
}

/** Further facts of a refusal, for some codes. */
export interface Facts {
  /** Of `identity_already_linked`, where the environment gives tickets: the way to the other player, for `switchPlayer`. */
  readonly conflict?: { readonly ticket: string; readonly expiresAt: string }
  /** Of `custom_auth_rejected`: why the studio denied the player. */
  readonly reason?: { readonly code: string; readonly text: string | null }
}

interface Properties {
  readonly code: ErrorCode
  readonly message?: string
  readonly status?: number
  readonly details?: readonly Fault[]
  readonly facts?: Facts
  readonly requestId?: string | null
  readonly retryable?: boolean
  readonly outcomeUnknown?: boolean
  readonly cause?: unknown
}

const BRAND = Symbol.for('tierway.error')

/**
 * A call that was refused or had no answer. A game's "no" is no error: it is a result with `success` false and `error`.
 */
export class TierwayError extends Error {
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number
  /** The code to match on. */
  readonly code: ErrorCode
  /** Every fault of a request that is refused with 400, or by the library before it is sent. */
  readonly details: readonly Fault[]
  /** Further facts of a refusal, for some codes. Empty for the others. */
  readonly facts: Facts
  /** The id of the call in the service's log. */
  readonly requestId: string | null
  /** The same call may succeed later. The library has already retried as often as it may. */
  readonly retryable: boolean
  /** The call may have taken effect. Repeat it with `idempotencyKey` to learn the outcome: it takes effect once. */
  readonly outcomeUnknown: boolean
  /** The key of a change that was sent, also a random one; null for other calls. */
  readonly idempotencyKey: string | null = null

  constructor({ code, message, status, details, facts, requestId, retryable, outcomeUnknown, cause }: Properties) {
    super(textOf(message ?? code.replace(/_/g, ' '), details), cause === undefined ? undefined : { cause })
    this.name = 'TierwayError'
    this.code = code
    this.status = status ?? 0
    this.details = details ?? []
    this.facts = facts ?? {}
    this.requestId = requestId ?? null
    this.retryable = retryable ?? false
    this.outcomeUnknown = outcomeUnknown ?? false
    Object.defineProperty(this, BRAND, { value: true })
  }

  /** Whether a value is a `TierwayError`, even one of another copy of this library. */
  static is(value: unknown): value is TierwayError {
    return typeof value === 'object' && value !== null && BRAND in value
  }

  toJSON(): object {
    const { name, message, code, status, details, facts, requestId, retryable, outcomeUnknown, idempotencyKey } = this
    return { name, message, code, status, details, facts, requestId, retryable, outcomeUnknown, idempotencyKey }
  }
}

/** Logs show a message alone, so it has the faults, too. */
function textOf(message: string, details: readonly Fault[] = []): string {
  const faults = details.map((fault) => `${fault.path} ${fault.message}`.trim())
  return faults.length === 0 ? message : `${message}: ${faults.join('; ')}`
}

/** The refusal of what the service would refuse, or could not receive as it was meant. Nothing was sent. */
export const invalidRequest = (details: readonly Fault[], message = 'invalid request'): TierwayError =>
  new TierwayError({ code: 'invalid_request', message, details })

/** Whether an option is fine, its name, and what it must be. */
export type OptionCheck = readonly [isFine: boolean, path: string, message: string]

/** Names every faulty option: a program may have no types, and a setting may be missing. */
export function refuseOptions(checks: readonly OptionCheck[]): void {
  const details = checks.flatMap(([isFine, path, message]) => (isFine ? [] : [{ path, message }]))
  if (details.length > 0) throw invalidRequest(details, 'invalid options')
}
