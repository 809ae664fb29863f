import type { Json } from './json.ts'

/**
 * Refused requests: status and text on the wire (contract 7.1 and the API's table of errors). A game's "no" is not here: it
 * is an outcome in a 200. Any other thrown error is a bug.
 */
export const REFUSALS = {
  invalidRequest: [400, 'invalid request'],
  storageLimitExceeded: [400, 'storage limit exceeded'],
  costLimitExceeded: [400, 'cost limit exceeded'],
  invalidSdkKey: [401, 'invalid sdk key'],
  invalidToken: [401, 'invalid token'],
  customAuthDisabled: [401, 'custom auth disabled'],
  customAuthRejected: [401, 'custom auth rejected'],
  customAuthInvalidData: [401, 'custom auth invalid data'],
  signInDisabled: [401, 'sign-in disabled'],
  idTokenRejected: [401, 'id token rejected'],
  ticketRejected: [401, 'ticket rejected'],
  playerBanned: [403, 'player banned'],
  playerDeleted: [403, 'player deleted'],
  forbidden: [403, 'forbidden'],
  profileNotAllowed: [403, 'profile not allowed'],
  xpNotAllowed: [403, 'xp not allowed'],
  persistedQueryRequired: [403, 'persisted query required'],
  handleServerOwned: [403, 'handle is server-owned'],
  scenarioNotFound: [404, 'scenario not found'],
  nodeNotFound: [404, 'node not found'],
  runNotFound: [404, 'run not found'],
  projectNotFound: [404, 'project not found'],
  environmentNotFound: [404, 'environment not found'],
  playerNotFound: [404, 'player not found'],
  persistedQueryNotFound: [404, 'persisted query not found'],
  notFound: [404, 'not found'],
  methodNotAllowed: [405, 'method not allowed'],
  notAcceptable: [406, 'not acceptable'],
  requestTimeout: [408, 'request timeout'],
  runNotActive: [409, 'run not active'],
  nodeNotActive: [409, 'node not active'],
  seasonClosed: [409, 'season closed'],
  xpLimitExceeded: [409, 'xp limit exceeded'],
  xpLimitReached: [409, 'xp limit reached'],
  balanceLimitExceeded: [409, 'balance limit exceeded'],
  insufficientFunds: [409, 'insufficient funds'],
  unknownCurrency: [409, 'unknown currency'],
  creditLimitExceeded: [409, 'credit limit exceeded'],
  roleLimitExceeded: [409, 'role limit exceeded'],
  premiumTiersClaimed: [409, 'premium tiers claimed'],
  premiumNotAvailable: [409, 'premium not available'],
  tierNotFound: [409, 'tier not found'],
  premiumRequired: [409, 'premium required'],
  inboxFull: [409, 'inbox full'],
  tooManyNotes: [409, 'too many notes'],
  alreadyUndone: [409, 'already undone'],
  lastIdentity: [409, 'last identity'],
  approvalRequired: [409, 'approval required'],
  environmentExists: [409, 'environment already exists'],
  tooManyEnvironments: [409, 'too many environments'],
  tooManySecrets: [409, 'too many secrets'],
  tooManySessions: [409, 'too many sessions'],
  identityAlreadyLinked: [409, 'identity already linked'],
  cursorExpired: [410, 'cursor expired'],
  versionConflict: [412, 'version conflict'],
  payloadTooLarge: [413, 'payload too large'],
  unsupportedMediaType: [415, 'unsupported media type'],
  expectationFailed: [417, 'expectation failed'],
  idempotencyKeyReused: [422, 'idempotency key reused'],
  rateLimited: [429, 'rate limited'],
  subscriptionLimitExceeded: [429, 'subscription limit exceeded'],
  headersTooLarge: [431, 'headers too large'],
  internalError: [500, 'internal error'],
  customAuthInvalidResponse: [502, 'custom auth invalid response'],
  customAuthUnavailable: [503, 'custom auth unavailable'],
  signInUnavailable: [503, 'sign-in unavailable'],
  unavailable: [503, 'unavailable'],
} as const satisfies Record<string, readonly [status: number, text: string]>

export type RefusalKind = keyof typeof REFUSALS

/** One fault of a request: its place (`amount`, `nodes[2].id`) and what is wrong. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** The members of `details` that are no faults. Each of them belongs to few refusals. */
export interface Facts {
  readonly [name: string]: Json
}

/** The rate limit that a refused call has exceeded: a number of calls in a number of seconds. */
export interface ExceededLimit {
  readonly name: string
  readonly calls: number
  readonly seconds: number
  /** When the next call can succeed. At least 1. */
  readonly retryAfterSeconds: number
}

/** Thrown by operations for a refused request. Each surface renders it in its own form. */
export class Refusal extends Error {
  readonly kind: RefusalKind
  readonly faults: readonly Fault[]
  /** Details for the log, such as the name of the provider. Answers do not contain them. */
  readonly about: Readonly<Record<string, string>>
  /** Further facts for the caller: the `details` of the answer are this object instead of faults. */
  readonly facts: Facts | undefined
  /** Set for `rate limited`. */
  readonly limit: ExceededLimit | undefined
  /** Set where it is known when another attempt can succeed. */
  readonly waitSeconds: number | undefined

  constructor(
    kind: RefusalKind,
    options: {
      faults?: readonly Fault[]
      about?: Readonly<Record<string, string>>
      facts?: Facts | undefined
      limit?: ExceededLimit
      waitSeconds?: number | undefined
      cause?: unknown
    } = {},
  ) {
    super(REFUSALS[kind][1], { cause: options.cause })
    this.name = 'Refusal'
    this.kind = kind
    this.faults = options.faults ?? []
    this.about = options.about ?? {}
    this.facts = options.facts
    this.limit = options.limit
    this.waitSeconds = options.limit?.retryAfterSeconds ?? options.waitSeconds
  }

  /** Whether it is logged as a warning: a service is unavailable, or a webhook breaks its contract. */
  get isWarned(): boolean {
    return this.status === 502 || this.status === 503
  }

  get status(): number {
    return REFUSALS[this.kind][0]
  }

  /** Seconds after which a caller should try again; undefined when another attempt cannot help. */
  get retryAfterSeconds(): number | undefined {
    return this.waitSeconds ?? (this.status === 503 ? 1 : undefined)
  }

  /** The `details` of answers. A 400 names all faults, a 412 the current version. */
  get details(): Json | undefined {
    if (this.facts) return { ...this.facts }
    if (this.status !== 400 && this.faults.length === 0) return undefined
    return this.faults.map(({ path, message }) => ({ path, message }))
  }

  /** The snake_case of the text, as clients match on it: `season closed` is `season_closed`. */
  get code(): string {
    return this.message.replaceAll(/[^a-z]+/g, '_')
  }
}

/** The text of the cause, for the log. An error for several addresses has only a code. */
export function causeOf({ cause }: Refusal): string | undefined {
  if (!(cause instanceof Error)) return cause === undefined ? undefined : String(cause)
  return cause.message || String((cause as { code?: unknown }).code ?? cause.name)
}

/**
 * A 503 of a call that did not begin, with the reason in its details: its outcome is known. The log has the cause, by
 * default the reason.
 */
export function notBegun(
  reason: string,
  about: { readonly waitSeconds?: number; readonly cause?: unknown } = {},
): Refusal {
  const faults = [{ path: '', message: `nothing was done: ${reason}` }]
  return new Refusal('unavailable', { faults, waitSeconds: about.waitSeconds, cause: about.cause ?? reason })
}

/** The same failure of a call of several commands, of which others may have taken effect: its outcome is not known. */
export function withUnknownOutcome(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.kind !== 'unavailable') return error
  return new Refusal('unavailable', { waitSeconds: error.waitSeconds, cause: error.cause })
}

/** A 400 that names every fault at once. */
export function invalidRequest(...faults: Fault[]): Refusal {
  return new Refusal('invalidRequest', { faults })
}

/** Returns null instead of one of these refusals. */
export async function orNull<T>(found: Promise<T> | T, ...absent: readonly RefusalKind[]): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Refusal && absent.includes(error.kind)) return null
    throw error
  }
}
