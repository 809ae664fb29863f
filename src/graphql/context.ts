import type { ServerResponse } from 'node:http'
import type { Access } from '../auth/access.ts'
import type { PrismaClient } from '../db/prisma.ts'
import type { Subscriptions } from '../events/subscriptions.ts'
import type { StorageAnswer } from '../players/storage-answers.ts'
import type { Service } from '../service.ts'

/** Sent by the server that carries the call: HTTP headers, or the parameters of a WebSocket connection. */
export interface ServerContext {
  /** What an answer over HTTP is written to. */
  readonly res?: ServerResponse
  /** Names a request over HTTP, in its answer and in the log. */
  readonly requestId?: string
  /** Of an operation over a WebSocket: it was answered. */
  readonly closed?: AbortSignal
  readonly authorization?: string | null
  readonly sdkKey?: string | null
  /** Whom the parameters of a WebSocket connection name, whatever they have there. */
  readonly operator?: unknown
}

/** What resolvers work with. */
export interface Context extends Access {
  readonly service: Service
  readonly subscriptions: Subscriptions
  readonly prisma: PrismaClient
  /** What the resolver of the one root field has come to, when that is known already. */
  readonly outcome?: () => unknown
  /** Undefined over a WebSocket. */
  readonly requestId: string | undefined
  /** Where a client of server-sent events comes back to: the cursor of the last event that it has. */
  readonly lastEventId: string | null
  /** What the answer carries of storage. */
  readonly storageAnswer: () => Promise<StorageAnswer>
}
