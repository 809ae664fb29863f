import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { LogLevel } from '../config.ts'
import { tracing } from '../request/tracing.ts'

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

/** Logs the same warning at most once a minute: a job that fails each second would fill the log. */
export function rateLimited(log: Logger): (error: unknown, message: string) => void {
  const last = new Map<string, number>()
  return (error, message) => {
    const now = performance.now()
    if (now - (last.get(message) ?? Number.NEGATIVE_INFINITY) < SPARING_MS) return
    last.set(message, now)
    log.warn({ err: causeText(error) }, message)
  }
}

/** The cause of an error in one line. The error of a host with several addresses has one for each, and no text. */
export function causeText(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(String).join('; ') : String(error)
}

/** Readable lines in a terminal; elsewhere, and for a given destination, one JSON object a line. */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: undefined,
    mixin() {
      const span = tracing()?.active()
      return span ? { traceId: span.traceId } : {}
    },
    redact: {
      paths: REDACTED.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: '[redacted]',
    },
  }
  if (destination) return pino(options, destination)
  if (!process.stdout.isTTY) return pino(options)
  return pino(options, pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname', sync: true }))
}
