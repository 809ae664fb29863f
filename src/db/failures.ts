import { Refusal } from '../errors.ts'

/** The SQLSTATE of an error that the server reported; undefined when the connection itself is gone, or for a bug. */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  if (typeof code !== 'string' || typeof severity !== 'string') return undefined
  return severity === 'FATAL' || severity === 'PANIC' || ENDS_SESSION.test(code) ? undefined : code
}

/**
 * The server ends the session with these: shutdown, crash, terminated by an administrator, out of time. Its word for how
 * severe that is may be of any language.
 */
const ENDS_SESSION = /^(57P|25P0[34])/

/** Serialization failure and deadlock: the whole transaction may simply run again. */
export function isRetryable(code: string): boolean {
  return code === '40001' || code === '40P01'
}

/** Timeouts, exhausted resources, and a server that takes no writes for now: the caller may try again later. */
export function isTransient(code: string): boolean {
  return code === '57014' || code === '55P03' || code === '25006' || code.startsWith('53') || isRetryable(code)
}

/** No session for this user, or none on this database, or without a right that it takes. */
export function isTurnedAway(code: string): boolean {
  return /^(28|3D|42501|55000)/.test(code)
}

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // Of Prisma, which keeps those of the network to itself: not reachable, too slow, closed.
  'P1001',
  'P1008',
  'P1017',
])
const CONNECTION_LOST =
  /^(Connection terminated|timeout (exceeded )?when trying to connect|Query read timeout|Client has encountered a connection error)/

/** What an error is to a caller: a refusal, `unavailable` when the database is away or slow; undefined for a bug. */
export function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof Error)) return undefined
  const code = codeOf(error)
  const away =
    (typeof code === 'string' &&
      (NETWORK_CODES.has(code) || ENDS_SESSION.test(code) || code.startsWith('08') || isTransient(code))) ||
    CONNECTION_LOST.test(error.message)
  return away ? new Refusal('unavailable', { cause: error }) : undefined
}

/** The code that the server or the network gave, also where Prisma has put one of its own in front of it. */
function codeOf(error: Error): unknown {
  const { code, meta } = error as {
    code?: unknown
    meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } }
  }
  return meta?.driverAdapterError?.cause?.originalCode ?? code
}
