import { Refusal } from '../base/errors.ts'
import { poolerFault } from './pool.ts'

/** The SQLSTATE of an error that the server reported; undefined when the connection itself is gone, or for a bug. */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  if (typeof code !== 'string' || typeof severity !== 'string') return undefined
  return isFatal(error) || ENDS_SESSION.test(code) ? undefined : code
}

/** The server has ended the session, or refused it, for example because the user has no right to connect. */
function isFatal(error: unknown): boolean {
  const { severity } = error as { severity?: unknown }
  return severity === 'FATAL' || severity === 'PANIC'
}

/**
 * Codes with which the server ends a session: shutdown, crash, terminated by an administrator, timeout. The severity
 * that comes with them is localized.
 */
const ENDS_SESSION = /^(57P|25P0[34])/

/** Codes with which the server refuses a session: connection, password or role, database, right to connect. */
const REFUSES_SESSION = /^(08|28|3D)/

/** Serialization failure and deadlock: the transaction can run again. */
export function isRetryable(code: string): boolean {
  return code === '40001' || code === '40P01'
}

/** Timeouts, exhausted resources, and a server that refuses writes at the moment: the caller can try again later. */
export function isTransient(code: string): boolean {
  return code === '57014' || code === '55P03' || code === '25006' || code.startsWith('53') || isRetryable(code)
}

/** A statement that took longer than it may. */
export const isTimeLimit = (error: unknown): boolean => error instanceof Error && codeOf(error) === '57014'

/** The server refuses this user: in general, for this database, or for lack of a right. */
export function isTurnedAway(code: string): boolean {
  return /^(28|3D|42501|55000)/.test(code)
}

const UNREACHED_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]

const UNKNOWN_AUTHORITY =
  'the certificate of Postgres is not from an authority that this machine knows: set DATABASE_CA to the certificate of its authority'

/** What to do about the certificate of the server, by the code of Node. */
const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate of Postgres has expired: renew it',
  CERT_NOT_YET_VALID: 'the certificate of Postgres is not valid yet: compare the clocks of both machines',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate of Postgres is for another host than that of DATABASE_URL: use a name that the certificate lists',
}

const NO_TLS = 'The server does not support SSL connections'

/** A failure of TLS in one sentence that says what to do; undefined for any other error. */
export function tlsFault(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = codeOf(error)
  if (error.message.startsWith(NO_TLS))
    return 'Postgres does not offer TLS, and DATABASE_URL or DATABASE_CA asks for it: turn on `ssl` in Postgres'
  if (code === '28000' && error.message.endsWith('no encryption'))
    return 'Postgres takes only connections with TLS: add ?sslmode=verify-full to DATABASE_URL'
  return typeof code === 'string' ? CERTIFICATE_FAULTS[code] : undefined
}

/** What to do about a role that must not make tables; undefined for any other error. */
export const rightsFault = (error: unknown): string | undefined =>
  error instanceof Error && codeOf(error) === '42501' && /schema/.test(error.message)
    ? `the role of DATABASE_URL must not make tables (${error.message}): make it the owner of the database, with ALTER DATABASE … OWNER TO …`
    : undefined

/** Postgres is not reached, is starting or stopping, or has too many connections: it may accept one soon. */
export function mayAnswerSoon(error: unknown): boolean {
  if (!(error instanceof Error) || error.message.startsWith(NO_TLS)) return false
  const code = codeOf(error)
  if (typeof code !== 'string') return CONNECTION_LOST.test(error.message)
  return UNREACHED_CODES.includes(code) || ENDS_SESSION.test(code) || code === '53300'
}

const NETWORK_CODES = new Set([
  ...UNREACHED_CODES,
  ...Object.keys(CERTIFICATE_FAULTS),
  // Codes of Prisma, which hides those of the network: not reachable, too slow, closed.
  'P1001',
  'P1008',
  'P1017',
])
const CONNECTION_LOST =
  /^(Connection terminated|The server does not support SSL connections|timeout (exceeded )?when trying to connect|Query read timeout|Client has encountered a connection error)/

/**
 * The refusal that a caller gets for an error: `unavailable` when the database is unreachable or slow. Undefined for a
 * bug.
 */
export function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof Error)) return undefined
  const code = codeOf(error)
  const away =
    isFatal(error) ||
    (typeof code === 'string' &&
      (NETWORK_CODES.has(code) || ENDS_SESSION.test(code) || REFUSES_SESSION.test(code) || isTransient(code))) ||
    CONNECTION_LOST.test(error.message) ||
    poolerFault(error) !== undefined
  return away ? new Refusal('unavailable', { cause: error }) : undefined
}

/** The code of the server or of the network, even when Prisma wraps it in its own. */
function codeOf(error: Error): unknown {
  const { code, meta } = error as {
    code?: unknown
    meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } }
  }
  return meta?.driverAdapterError?.cause?.originalCode ?? code
}
