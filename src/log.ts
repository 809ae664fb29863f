import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { LogLevel } from './config.ts'

export type { Logger }

/** What may carry a secret never reaches a log, wherever it stands in an object. */
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

/** Lines that a person can read in a terminal; one JSON object a line anywhere else, as at a given destination. */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: undefined,
    redact: {
      paths: REDACTED.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: '[redacted]',
    },
  }
  if (destination) return pino(options, destination)
  if (!process.stdout.isTTY) return pino(options)
  return pino(options, pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname', sync: true }))
}
