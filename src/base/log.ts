import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogLevel } from './config.ts'
import { causeOf, type Refusal } from './errors.ts'
import { print } from './json.ts'
import { tracing } from './tracing.ts'
import { COMMIT, VERSION } from './version.ts'

export type { Logger }

/** Members that may hold a secret never reach a log, anywhere in an object. */
const REDACTED = [
  'authorization',
  'Authorization',
  'cookie',
  'x-sdk-key',
  'sdkKey',
  'platformKey',
  'accessToken',
  'refreshToken',
  'secret',
  'password',
  'customData',
  'tokenKeys',
  'secretsKeys',
  'databaseUrl',
  'redisUrl',
  'metricsToken',
]

const SPARING_MS = 60_000

/** The most causes of one message that are logged within a minute: the text of a cause may differ each time. */
const MAX_CAUSES = 10

/** Whether a message with this cause was not logged in the last minute. */
function createSparing(now: () => number): (message: string, cause: string) => boolean {
  const logged = new Map<string, Map<string, number>>()
  return (message, cause) => {
    const causes = logged.get(message) ?? new Map<string, number>()
    logged.set(message, causes)
    for (const [earlier, at] of causes) if (now() - at >= SPARING_MS) causes.delete(earlier)
    if (causes.has(cause) || causes.size >= MAX_CAUSES) return false
    causes.set(cause, now())
    return true
  }
}

/** Logs a message with the same cause at most once a minute: a job that fails each second would fill the log. */
export function rateLimited(log: Logger, now = () => performance.now()): (error: unknown, message: string) => void {
  const isNew = createSparing(now)
  return (error, message) => {
    const cause = causeText(error)
    if (isNew(message, cause)) log.warn({ err: cause }, message)
  }
}

export interface LoggedCall {
  readonly path: string
  readonly requestId: string
}

/**
 * Logs refused calls, such as those while Postgres is unreachable: the first of each cause in a minute. An outage would
 * write a line for each call.
 */
export function refusalWarnings(log: Logger, now = () => performance.now()) {
  const isNew = createSparing(now)
  return (refusal: Refusal, call: LoggedCall): void => {
    const cause = { ...refusal.about, cause: causeOf(refusal) }
    if (isNew(refusal.message, print(cause))) log.warn({ ...call, ...cause }, refusal.message)
  }
}

/** The cause of an error, or a detail, in one line. The error of a host with several addresses has no text, but an error for each. */
export function causeText(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(String).join('; ')
  return error instanceof Error || typeof error !== 'object' ? String(error) : JSON.stringify(error)
}

/** One JSON object a line, to standard output if no destination is given. */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    // Each line says which build wrote it: during an update, two builds write to one log.
    base: { version: VERSION, ...(COMMIT && { commit: COMMIT }) },
    mixin() {
      const span = tracing()?.active()
      return span ? { traceId: span.traceId } : {}
    },
    redact: {
      paths: REDACTED.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: '[redacted]',
    },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** A destination that writes readable lines to a terminal. Undefined where standard output is no terminal. */
export async function terminalLines(): Promise<DestinationStream | undefined> {
  if (!process.stdout.isTTY) return undefined
  const { default: pretty } = await import('pino-pretty')
  return pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname,version', sync: true })
}
