import type { IncomingMessage, ServerResponse } from 'node:http'
import type { YogaInitialContext } from 'graphql-yoga'
import type { Service } from '../../app/service.ts'
import type { Config } from '../../base/config.ts'
import type { Metrics } from '../../base/metrics.ts'
import { clientAddress } from '../../base/rate-limits/client-address.ts'
import type { ConnectionLimits } from '../../base/rate-limits/connection-limits.ts'
import { type Access, accessOf, type Caller, idOfCaller } from '../../callers/access.ts'
import type { AccessWatch } from '../../callers/access-watch.ts'
import type { PrismaClient } from '../../db/prisma.ts'
import type { Context, ServerContext } from '../../declare/graphql/context.ts'
import { decodeName, operatorHeader } from '../../declare/request.ts'
import { closedOf } from '../../declare/respond.ts'
import type { Subscriptions } from '../../events/subscriptions.ts'

export interface ContextOptions {
  readonly config: Config
  readonly metrics: Metrics
  readonly service: Service
  readonly subscriptions: Subscriptions
  readonly watch: AccessWatch
  readonly prisma: PrismaClient
  readonly connectionLimits: ConnectionLimits
}

/** What a context needs to know of a request, besides its headers. */
export interface CallOfContext {
  readonly requestId: string
  readonly variablesText: () => string | undefined
  /** Aborts once the client no longer waits for the answer. */
  readonly closed: () => AbortSignal
}

/** The data of a call, over any transport. */
interface Call {
  readonly authorization: string | null
  readonly sdkKey: string | null
  readonly operator: unknown
  readonly address: () => string
  readonly lastEventId: string | null
  readonly requestId: string | undefined
  readonly variablesText: () => string | undefined
  readonly isSocket: boolean
  /** Aborts once the client no longer waits for the answer. */
  readonly closed: () => AbortSignal
}

/** Makes the contexts in which operations run. */
export class Contexts {
  private readonly options: ContextOptions
  /** The callers of requests that Yoga answers. */
  private readonly accesses = new WeakMap<ServerResponse, Access>()

  constructor(options: ContextOptions) {
    this.options = options
  }

  /** The context of a request that runs without Yoga. */
  ofRequest(request: IncomingMessage, { closed, requestId, variablesText }: CallOfContext): Context {
    const { headers } = request
    return this.make({
      authorization: headers.authorization ?? null,
      sdkKey: headers['x-sdk-key']?.toString() ?? null,
      operator: operatorHeader(headers),
      address: this.addressOf(request),
      lastEventId: null,
      requestId,
      variablesText,
      isSocket: false,
      closed,
    })
  }

  /** The context of a request that Yoga answers, or of an operation over a WebSocket. */
  ofYoga(initial: YogaInitialContext & ServerContext): Context {
    const { request, authorization, sdkKey, operator, address, requestId, variablesText, res, closed } = initial
    const context = this.make({
      authorization: authorization ?? request?.headers.get('authorization') ?? null,
      sdkKey: sdkKey ?? request?.headers.get('x-sdk-key') ?? null,
      operator: operator ?? decodeName(request?.headers.get('x-operator')),
      address: address ?? (() => ''),
      lastEventId: request?.headers.get('last-event-id') || null,
      requestId,
      variablesText: variablesText ?? (() => undefined),
      // An operation over a WebSocket has no request of its own.
      isSocket: request === undefined,
      closed: () => closed ?? (res ? closedOf(res) : new AbortController().signal),
    })
    if (res) this.accesses.set(res, context)
    return context
  }

  /** The callers of a request that Yoga answers, once its context was made. */
  accessOf(response: ServerResponse | undefined): Access | undefined {
    return response && this.accesses.get(response)
  }

  addressOf(request: IncomingMessage): () => string {
    return () => clientAddress(request, this.options.config.trustedProxies)
  }

  private make(call: Call): Context {
    const { service, prisma } = this.options
    const access = accessOf(service, call, 'forbidden')
    let storageAnswer: ReturnType<Context['storageAnswer']> | undefined
    const beginStorageAnswer = async () => {
      const caller = await access.caller()
      return service.beginStorageAnswer(caller.kind === 'player' ? caller.playerId : caller.keyId, call.closed)
    }
    // Named one by one: spreading objects costs 8 µs a call.
    return {
      caller: access.caller,
      client: access.client,
      server: access.server,
      found: access.found,
      address: access.address,
      wrongKind: access.wrongKind,
      service,
      subscriptions: this.subscriptionsOf(access, call.isSocket),
      prisma,
      requestId: call.requestId,
      variablesText: call.variablesText,
      lastEventId: call.lastEventId,
      storageAnswer: () => {
        storageAnswer ??= beginStorageAnswer()
        return storageAnswer
      },
    }
  }

  /** Counts a caller's subscriptions. Over SSE, they end when the caller loses access; a WebSocket then closes itself. */
  private subscriptionsOf(access: Access, isSocket: boolean): Subscriptions {
    const { subscriptions, connectionLimits, metrics, watch } = this.options
    return {
      ...subscriptions,
      async open(request) {
        const caller = await access.caller()
        const release = holdSubscription(connectionLimits, caller, isSocket ? undefined : access.address())
        const subscription = await subscriptions.open(request).catch((error) => {
          release()
          throw error
        })
        subscription.onceEnded(release)
        metrics.subscriptions.inc()
        subscription.onceEnded(() => metrics.subscriptions.dec())
        if (!isSocket) subscription.onceEnded(watch.watch(caller, () => subscription.end()))
        return subscription
      },
    }
  }
}

/**
 * Counts a subscription of a caller and, if `streamOf` is the client's address, its event stream. Returns a function
 * that ends the count. Refuses when too many are open.
 */
function holdSubscription(limits: ConnectionLimits, caller: Caller, streamOf: string | undefined): () => void {
  const id = idOfCaller(caller)
  const stream =
    streamOf === undefined
      ? []
      : ([
          ['caller_sockets', id],
          ['sockets', streamOf],
        ] as const)
  return limits.holdAll([['caller_subscriptions', id], ...stream])
}
