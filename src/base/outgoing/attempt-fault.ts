export const ATTEMPT_ERRORS = [
  'timeout',
  'dns',
  'private_address',
  'refused',
  'reset',
  'tls',
  'protocol',
  'bad_status',
  'too_large',
  'encoding',
  'overloaded',
  'breaker_open',
  'network',
] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

/** The end of an attempt without an answer that can be used, by its class. The cause may name addresses. */
export class AttemptFault extends Error {
  readonly error: AttemptError

  constructor(error: AttemptError, options?: ErrorOptions) {
    super(error, options)
    this.error = error
  }
}

const ERRORS: Readonly<Record<string, AttemptError>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
}

/** The class of an error, searched from the outermost cause inwards. Its text is dropped: it may name addresses. */
export function errorOf(thrown: unknown): AttemptError {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof AttemptFault) return error.error
    // Only its name identifies it.
    if (error.name === 'HTTPParserError') return 'protocol'
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string') continue
    const known = ERRORS[code]
    if (known) return known
    if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return 'tls'
    // Codes of zlib: the body is complete and cannot be decompressed.
    if (/^(Z_|ERR__ERROR_)/.test(code)) return 'encoding'
  }
  return 'network'
}
