import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type DocumentNode, type ExecutionArgs, GraphQLError } from 'graphql'
import { CloseCode, handleProtocols, makeServer, type Server as Protocol, type SubscribePayload } from 'graphql-ws'
import type { YogaServerInstance } from 'graphql-yoga'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Config } from '../../base/config.ts'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { members } from '../../base/json.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { clientAddress } from '../../base/rate-limits/client-address.ts'
import { CONNECTION_LIMITS } from '../../base/rate-limits/connection-limits.ts'
import type { Context, ServerContext } from '../../declare/graphql/context.ts'
import { requestIdOf } from '../../declare/request.ts'
import { headOf, JSON_TYPE } from '../../declare/respond.ts'
import { refusalError, type TidyErrors } from '../graphql/failures.ts'
import type { CountRefused } from '../graphql/operation-metrics.ts'
import type { SentOperation } from '../graphql/persisted-operations.ts'
import { textOf } from '../graphql/serve.ts'
import { Connection } from './connection.ts'
import {
  admit,
  type CallerOptions,
  type Params,
  readAuthorization,
  readText,
  TRY_AGAIN_LATER,
} from './connection-callers.ts'
import { Heartbeat } from './heartbeat.ts'
import { Outlet } from './outlet.ts'
import { LiveResults, type Subscribe } from './shared-results.ts'
import { inSpan } from './socket-span.ts'
import { SocketStream } from './socket-stream.ts'

export interface SocketOptions extends CallerOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly metrics: Metrics
  readonly log: Logger
  readonly tidy: TidyErrors
  readonly countRefused: CountRefused
  readonly mask: (error: unknown) => GraphQLError
  readonly subscribe: Subscribe
  /** Finds the document that a client names or sends. Refuses a document that must not run. */
  readonly findDocument: (sent: SentOperation, address: () => string) => string | undefined
}

const MAX_MESSAGE_BYTES = 64 * 1024
/** Operations that may run on one socket. Further operations are refused; the running ones continue. */
const MAX_SUBSCRIPTIONS = 100
/** The time for `connection_init`. Then the socket is closed with 4408. */
const INIT_TIMEOUT_MS = 3_000
const NORMAL = 1000
const GOING_AWAY = 1001
/** The codes of docs/listeners.md. Clients can close with any other, so those are counted as one. */
const COUNTED_CODES: ReadonlySet<number> = new Set([
  1000, 1001, 1005, 1006, 1009, 1013, 4400, 4401, 4403, 4406, 4408, 4409, 4429, 4500,
])
/** How long sockets may take to close when the service stops. */
const CLOSE_TIMEOUT_MS = 2_000

/** The data that graphql-ws passes from a message to its operation, in place of a root value. */
interface Message {
  readonly execute: (args: ExecutionArgs) => never
  readonly extensions: unknown
}

/**
 * GraphQL over WebSocket, in the protocol `graphql-transport-ws`. The credentials of `connectionParams` are checked
 * before the acknowledgement and again with every operation. The socket closes when they end (4403, after which clients
 * retry).
 */
export class SocketServer {
  private readonly options: SocketOptions
  private readonly handshakes = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    // A flood of messages on one socket takes turns with all other work.
    allowSynchronousEvents: false,
    autoPong: false,
    handleProtocols,
  })
  private readonly heartbeat = new Heartbeat<Connection>({
    onExpired: ({ outlet }) => outlet.close(CloseCode.Forbidden, 'token expired'),
    onStalled: ({ outlet }) => outlet.close(TRY_AGAIN_LATER, 'too slow'),
  })
  private readonly protocol: Protocol<Connection>

  constructor(options: SocketOptions) {
    const { tidy, mask, subscribe } = options
    this.options = options
    this.handshakes.on('wsClientError', ({ message }, socket, request) =>
      refuse(request, socket, invalidRequest({ path: '', message }), 'sec-websocket-version', '13, 8'),
    )
    this.protocol = makeServer<Params, Connection>({
      connectionInitWaitTimeout: INIT_TIMEOUT_MS,
      onConnect: ({ connectionParams, extra }) => admit(extra, connectionParams, options),
      async onClose({ extra }) {
        extra.letGo()
        for (const results of extra.streams) results.close()
      },
      onSubscribe: ({ connectionParams, extra, subscriptions }, _id, params) =>
        this.begin(extra, connectionParams, params, Object.keys(subscriptions).length),
      execute(args) {
        const { execute, extensions } = args.rootValue as Message
        return inSpan(args, extensions, () => execute(args))
      },
      async subscribe(args) {
        const { extensions } = args.rootValue as Message
        const results = await inSpan(args, extensions, () => subscribe({ ...args, rootValue: undefined }))
        // graphql-ws keeps the arguments for the whole subscription.
        Object.assign(args, { contextValue: undefined, rootValue: undefined, variableValues: undefined })
        return results as AsyncGenerator<never>
      },
      onOperation: ({ extra }, id, _payload, _args, results) =>
        results instanceof LiveResults ? new SocketStream(id, results, extra, mask) : undefined,
      onError: (_context, _id, _payload, errors) => tidy(errors),
      onNext: (_context, _id, _payload, _args, result) => {
        if (result.errors) tidy(result.errors)
      },
    })
  }

  /** Takes over a request that asks for a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { config, connectionLimits } = this.options
    // A client that disconnects early must not end the process.
    socket.on('error', () => undefined)
    if (!isAllowedOrigin(request, config.allowedOrigins)) {
      refuse(request, socket, new Refusal('forbidden'))
      return
    }
    const address = clientAddress(request, config.trustedProxies)
    const release = connectionLimits.hold('sockets', address)
    if (!release) {
      const message = `too many are open: ${CONNECTION_LIMITS.sockets}`
      refuse(request, socket, new Refusal('subscriptionLimitExceeded', { faults: [{ path: '', message }] }))
      return
    }
    socket.once('close', release)
    this.handshakes.handleUpgrade(request, socket, head, (opened) => this.open(opened, socket as Socket, address))
  }

  private open(socket: WebSocket, stream: Socket, address: string): void {
    const { metrics, log } = this.options
    metrics.sockets.inc()
    // A protocol error ends the client's socket; ws closes it by itself.
    socket.on('error', () => undefined)
    const outlet = new Outlet(socket, stream)
    const connection = new Connection(socket, outlet, () => address)
    this.heartbeat.add(connection)
    // A client that sends much can answer a ping only after it.
    const isHeard = () => {
      connection.isAlive = true
    }
    for (const frame of ['pong', 'ping', 'message']) socket.on(frame, isHeard)
    const closed = this.protocol.opened(
      {
        protocol: socket.protocol,
        send: (message) => outlet.send(message),
        close: (code, reason) => outlet.close(code ?? NORMAL, reason ?? ''),
        onMessage: (take) => socket.on('message', (data) => void connection.handle(String(data), take, log)),
      },
      connection,
    )
    socket.once('close', (code, reason) => {
      metrics.sockets.dec()
      metrics.socketsClosed.inc({ code: COUNTED_CODES.has(code) ? code : 'other' })
      this.heartbeat.delete(connection)
      void closed(code, String(reason))
    })
  }

  /** What graphql-ws runs for an operation, or the errors with which it is refused. `open` counts it, too. */
  private async begin(
    connection: Connection,
    callers: Params | undefined,
    params: SubscribePayload,
    open: number,
  ): Promise<ExecutionArgs | readonly GraphQLError[]> {
    connection.working += 1
    const answered = new AbortController()
    connection.begun.push(answered)
    const { message, address, socket } = connection
    const underWay = Math.max(open, connection.streams.size + 1)
    // Aborted operations make room at once, but their work continues. So at most twice the limit may work.
    if (underWay > MAX_SUBSCRIPTIONS || connection.working > 2 * MAX_SUBSCRIPTIONS) return this.refused([tooMany()])
    const { schema, execute, parse, validate, contextFactory } = this.options.yoga.getEnveloped({
      request: undefined,
      authorization: readAuthorization(callers),
      sdkKey: readText(callers?.sdkKey),
      operator: callers?.operator,
      address,
      params,
      socket,
      closed: answered.signal,
      variablesText: () => members(members(message).get('payload') ?? '{}').get('variables'),
    } as never)
    const document = checked<DocumentNode>(() => parse(this.options.findDocument(params, address) ?? params.query))
    if (Array.isArray(document)) return this.refused(document)
    const errors = checked(() => validate(schema, document) as readonly GraphQLError[])
    if (errors.length > 0) return this.refused(errors)
    // Uses the cached text, so that each subscriber does not hold a copy.
    if (document.loc) Object.assign(params, { query: document.loc.source.body })
    return {
      schema,
      document,
      operationName: params.operationName,
      variableValues: params.variables,
      contextValue: await contextFactory(),
      rootValue: { execute: execute as Message['execute'], extensions: params.extensions },
    }
  }

  private refused(errors: readonly GraphQLError[]): readonly GraphQLError[] {
    const { countRefused, tidy } = this.options
    countRefused(tidy(errors))
    return errors
  }

  /** Closes every socket with 1001. */
  async stop(): Promise<void> {
    for (const { outlet } of this.heartbeat.sockets) outlet.close(GOING_AWAY, 'going away')
    const timer = setTimeout(() => {
      for (const { socket } of this.heartbeat.sockets) socket.terminate()
    }, CLOSE_TIMEOUT_MS)
    await new Promise((resolve) => this.handshakes.close(resolve))
    clearTimeout(timer)
  }
}

function tooMany(): GraphQLError {
  return new GraphQLError(`at most ${MAX_SUBSCRIPTIONS} subscriptions on one socket`, {
    extensions: { code: 'SUBSCRIPTION_LIMIT_EXCEEDED' },
  })
}

/** Native clients send no origin. A browser's must be our own or a listed one, as WebSockets have no CORS. */
function isAllowedOrigin({ headers }: IncomingMessage, allowed: readonly string[]): boolean {
  const { origin, host } = headers
  if (origin === undefined || allowed.includes(origin)) return true
  return URL.canParse(origin) && new URL(origin).host === host
}

/** A document that does not parse or exceeds a limit is an answer to its sender, not the end of the socket. */
function checked<T>(read: () => T): T | GraphQLError[] {
  try {
    return read()
  } catch (error) {
    if (error instanceof GraphQLError) return [error]
    if (error instanceof Refusal) return [refusalError(error)]
    throw error
  }
}

/** Answers a handshake as `/graphql` answers other refused requests, and closes the connection. */
function refuse(request: IncomingMessage, socket: Duplex, refusal: Refusal, ...headers: string[]): void {
  const requestId = requestIdOf(request)
  const text = textOf(refusal, requestId)
  const length = String(Buffer.byteLength(text))
  const all = [...JSON_TYPE, 'x-request-id', requestId, 'content-length', length, 'connection', 'close', ...headers]
  // Destroyed even if the sender does not close: nothing else tracks the socket, and the service could not stop.
  socket.once('finish', () => socket.destroy())
  socket.end(`${headOf(refusal.status, all)}\r\n${text}`, () => socket.destroy())
}
