import type { ServerResponse } from 'node:http'
import type { Service } from '../../app/service.ts'
import type { Access } from '../../callers/access.ts'
import type { PrismaClient } from '../../db/prisma.ts'
import type { Subscriptions } from '../../events/subscriptions.ts'
import type { StorageAnswer } from '../../players/storage-answers.ts'

/** The context from the server that carries the call: HTTP headers, or the parameters of a WebSocket connection. */
export interface ServerContext {
  readonly res?: ServerResponse
  /** The id of a request over HTTP, for its answer and the log. */
  readonly requestId?: string
  /** Aborts when an operation over a WebSocket was answered. */
  readonly closed?: AbortSignal
  readonly authorization?: string | null
  /** The text of the variables, as the caller sent it. */
  readonly variablesText?: () => string | undefined
  readonly address?: () => string
  readonly sdkKey?: string | null
  /** The person that the parameters of a WebSocket connection name, unchecked. */
  readonly operator?: unknown
}

export interface Context extends Access {
  readonly service: Service
  readonly subscriptions: Subscriptions
  readonly prisma: PrismaClient
  /** The text of the variables as the caller sent it, which is exact; undefined for an operation without variables. */
  readonly variablesText: () => string | undefined
  /** Undefined over a WebSocket. */
  readonly requestId: string | undefined
  /** The last cursor that a reconnecting client of server-sent events has received. */
  readonly lastEventId: string | null
  readonly storageAnswer: () => Promise<StorageAnswer>
}
