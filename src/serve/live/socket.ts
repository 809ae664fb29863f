import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type DocumentNode, type ExecutionArgs, GraphQLError } from 'graphql'
import { CloseCode, handleProtocols, makeServer } from 'graphql-ws'
import type { YogaServerInstance } from 'graphql-yoga'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Service } from '../../app/service.ts'
import type { Config } from '../../base/config.ts'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { members } from '../../base/json.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { clientAddress } from '../../base/rate-limits/client-address.ts'
import { CONNECTION_LIMITS, type ConnectionLimits } from '../../base/rate-limits/connection-limits.ts'
import { accessOf, idOfCaller } from '../../callers/access.ts'
import { type AccessWatch, expiryOf, type Watched } from '../../callers/access-watch.ts'
import { toRefusal } from '../../db/failures.ts'
import type { Context, ServerContext } from '../../declare/graphql/context.ts'
import { requestIdOf } from '../../declare/request.ts'
import { headOf, JSON_TYPE } from '../../declare/respond.ts'
import { refusalError, type TidyErrors } from '../graphql/failures.ts'
import type { CountRefused } from '../graphql/operation-metrics.ts'
import type { SentOperation } from '../graphql/persisted-operations.ts'
import { textOf } from '../graphql/serve.ts'
import { textFrame } from './frame.ts'
import { type Beating, Heartbeat } from './heartbeat.ts'
import { Outlet } from './outlet.ts'
import { type FrameSink, LiveResults, type SharedResult, type Subscribe } from './shared-results.ts'
import { inSpan } from './socket-span.ts'

export interface SocketOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly service: Service
  readonly watch: AccessWatch
  readonly metrics: Metrics
  readonly log: Logger
  readonly tidy: TidyErrors
  readonly countRefused: CountRefused
  readonly mask: (error: unknown) => GraphQLError
  readonly subscribe: Subscribe
  /** Finds the document that a client names or sends. Refuses a document that must not run. */
  readonly findDocument: (sent: SentOperation, address: () => string) => string | undefined
  readonly connectionLimits: ConnectionLimits
}

const MAX_MESSAGE_BYTES = 64 * 1024
/** Operations that may run on one socket. Further operations are refused; the running ones continue. */
const MAX_SUBSCRIPTIONS = 100
/** The time for `connection_init`. Then the socket is closed with 4408. */
const INIT_TIMEOUT_MS = 3_000
/** The WebSocket code for "try again later". Clients of graphql-ws do so. */
const TRY_AGAIN_LATER = 1013
const NORMAL = 1000
const GOING_AWAY = 1001
/** The codes of docs/listeners.md. Clients can close with any other, so those are counted as one. */
const COUNTED_CODES: ReadonlySet<number> = new Set([
  1000, 1001, 1005, 1006, 1009, 1013, 4400, 4401, 4403, 4406, 4408, 4409, 4429, 4500,
])
/** How long sockets may take to close when the service stops. */
const CLOSE_TIMEOUT_MS = 2_000

type Params = { authorization?: unknown; sdkKey?: unknown; operator?: unknown }

/** The data that graphql-ws passes from a message to its operation, in place of a root value. */
interface Message {
  readonly execute: (args: ExecutionArgs) => never
  readonly extensions: unknown
}

class Connection implements Beating {
  readonly socket: WebSocket
  readonly outlet: Outlet
  readonly watches: (() => void)[] = []
  /** Every open stream, even when its id was reused before it began: nothing else refers to such a stream. */
  readonly streams = new Set<SocketStream>()
  /** Controllers of operations whose first message is being handled. */
  readonly begun: AbortController[] = []
  message = ''
  /** Operations that have begun and still work, including aborted ones. */
  working = 0
  expiresAt = Number.POSITIVE_INFINITY
  pingAt = 0
  isAlive = true
  readonly address: () => string

  constructor(socket: WebSocket, outlet: Outlet, address: () => string) {
    this.socket = socket
    this.address = address
    this.outlet = outlet
  }
}

/**
 * GraphQL over WebSocket, in the protocol `graphql-transport-ws`. The credentials of `connectionParams` are checked
 * before the acknowledgement and again with every operation. The socket closes when they end (4403, after which clients
 * retry).
 */
export function createSocketServer(options: SocketOptions) {
  const { yoga, config, service, watch, metrics, log, tidy, countRefused, mask, subscribe, findDocument } = options
  const { connectionLimits } = options
  const wss = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    // A flood of messages on one socket takes turns with all other work.
    allowSynchronousEvents: false,
    autoPong: false,
    handleProtocols,
  })
  wss.on('wsClientError', ({ message }, socket, request) =>
    refuse(request, socket, invalidRequest({ path: '', message }), 'sec-websocket-version', '13, 8'),
  )

  const heartbeat = new Heartbeat<Connection>({
    onExpired: ({ outlet }) => outlet.close(CloseCode.Forbidden, 'token expired'),
    onStalled: ({ outlet }) => outlet.close(TRY_AGAIN_LATER, 'too slow'),
  })

  const server = makeServer<Params, Connection>({
    connectionInitWaitTimeout: INIT_TIMEOUT_MS,

    async onConnect({ connectionParams, extra }) {
      const fault = faultOf(connectionParams)
      if (fault !== undefined) {
        extra.outlet.close(CloseCode.BadRequest, fault)
        return false
      }
      const authorization = readAuthorization(connectionParams)
      const sdkKey = readText(connectionParams?.sdkKey)
      const operator = connectionParams?.operator
      const access = accessOf(service, { authorization, sdkKey, operator, address: extra.address }, 'forbidden')
      try {
        if (sdkKey !== null) hold(extra, { kind: 'client', keyId: (await access.client()).keyId })
        if (authorization === null) return true
        const caller = await access.caller()
        // Before the acknowledgement, so that a client that would be closed a second later backs off between its
        // attempts.
        if (await watch.check(caller)) return false
        const release = connectionLimits.hold('caller_sockets', idOfCaller(caller))
        if (!release) {
          extra.outlet.close(TRY_AGAIN_LATER, 'too many sockets of this caller')
          return false
        }
        extra.watches.push(release)
        hold(extra, caller)
        return true
      } catch (error) {
        // Not the caller's fault: it should return later with the same credentials.
        const refusal = toRefusal(error)
        if (refusal?.status === 503) extra.outlet.close(TRY_AGAIN_LATER, 'unavailable')
        // A faulty `operator` would stay faulty with other credentials.
        if (refusal?.status === 400) extra.outlet.close(CloseCode.BadRequest, `operator ${refusal.faults[0]?.message}`)
        return false
      }
    },

    async onClose({ extra }) {
      letGo(extra)
      for (const results of extra.streams) results.close()
    },

    async onSubscribe({ connectionParams, extra, subscriptions }, _id, params) {
      extra.working += 1
      const answered = new AbortController()
      extra.begun.push(answered)
      const { message } = extra
      const underWay = Math.max(Object.keys(subscriptions).length, extra.streams.size + 1)
      // Aborted operations make room at once, but their work goes on. So at most twice the limit may work.
      if (underWay > MAX_SUBSCRIPTIONS || extra.working > 2 * MAX_SUBSCRIPTIONS) return refused([tooMany()])
      const { schema, execute, parse, validate, contextFactory } = yoga.getEnveloped({
        request: undefined,
        authorization: readAuthorization(connectionParams),
        sdkKey: readText(connectionParams?.sdkKey),
        operator: connectionParams?.operator,
        address: extra.address,
        params,
        socket: extra.socket,
        closed: answered.signal,
        variablesText: () => members(members(message).get('payload') ?? '{}').get('variables'),
      } as never)
      const document = checked<DocumentNode>(() => parse(findDocument(params, extra.address) ?? params.query))
      if (Array.isArray(document)) return refused(document)
      const errors = checked(() => validate(schema, document) as readonly GraphQLError[])
      if (errors.length > 0) return refused(errors)
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
    },
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

  function refused(errors: readonly GraphQLError[]): readonly GraphQLError[] {
    countRefused(tidy(errors))
    return errors
  }

  /** Closes the socket when its caller loses access. */
  function hold(extra: Connection, caller: Watched): void {
    extra.watches.push(watch.watch(caller, (reason) => extra.outlet.close(CloseCode.Forbidden, reason)))
    extra.expiresAt = Math.min(extra.expiresAt, expiryOf(caller))
    // The socket may have closed meanwhile. Then nothing else releases it.
    if (extra.socket.readyState !== extra.socket.OPEN) letGo(extra)
  }

  function letGo(extra: Connection): void {
    for (const stop of extra.watches.splice(0)) stop()
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A client that disconnects early must not end the process.
    socket.on('error', () => undefined)
    if (!isAllowedOrigin(request, config.allowedOrigins)) refuse(request, socket, new Refusal('forbidden'))
    else {
      const address = clientAddress(request, config.trustedProxies)
      const release = connectionLimits.hold('sockets', address)
      if (!release) {
        const message = `too many are open: ${CONNECTION_LIMITS.sockets}`
        refuse(request, socket, new Refusal('subscriptionLimitExceeded', { faults: [{ path: '', message }] }))
        return
      }
      socket.once('close', release)
      wss.handleUpgrade(request, socket, head, (opened) => open(opened, socket as Socket, address))
    }
  }

  function open(socket: WebSocket, connection: Socket, address: string): void {
    metrics.sockets.inc()
    // A protocol error ends the client's socket; ws closes it by itself.
    socket.on('error', () => undefined)
    const outlet = new Outlet(socket, connection)
    const extra = new Connection(socket, outlet, () => address)
    heartbeat.add(extra)
    // A client that sends much can answer a ping only after it.
    const isHeard = () => {
      extra.isAlive = true
    }
    for (const frame of ['pong', 'ping', 'message']) socket.on(frame, isHeard)

    async function handle(message: string, take: (message: string) => Promise<void>): Promise<void> {
      const before = extra.working
      extra.message = message
      const taken = take(message)
      // Only operations have been counted by now.
      const operations = extra.working - before
      const begun = extra.begun.splice(0)
      try {
        await taken
      } catch (error) {
        if (isMisuse(error)) return outlet.close(CloseCode.BadRequest, 'Invalid message received')
        log.error({ err: error }, 'a message over a WebSocket could not be handled')
        outlet.close(CloseCode.InternalServerError, 'internal error')
      } finally {
        extra.working -= operations
        for (const answered of begun) answered.abort()
      }
    }

    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: (message) => outlet.send(message),
        close: (code, reason) => outlet.close(code ?? NORMAL, reason ?? ''),
        onMessage: (take) => socket.on('message', (data) => void handle(String(data), take)),
      },
      extra,
    )
    socket.once('close', (code, reason) => {
      metrics.sockets.dec()
      metrics.socketsClosed.inc({ code: COUNTED_CODES.has(code) ? code : 'other' })
      heartbeat.delete(extra)
      void closed(code, String(reason))
    })
  }

  async function stop(): Promise<void> {
    for (const { outlet } of heartbeat.sockets) outlet.close(GOING_AWAY, 'going away')
    const timer = setTimeout(() => {
      for (const { socket } of heartbeat.sockets) socket.terminate()
    }, CLOSE_TIMEOUT_MS)
    await new Promise((resolve) => wss.close(resolve))
    clearTimeout(timer)
  }

  return { upgrade, stop }
}

/**
 * The place where event frames bypass graphql-ws. For graphql-ws it is a stream without results, which ends with the
 * subscription; an error that ends the subscription is thrown.
 */
class SocketStream implements AsyncGenerator<never, undefined>, FrameSink {
  /** The beginning of each message. Frames of servers are not masked, so sockets with one operation id share them. */
  readonly key: string
  private readonly results: LiveResults
  private readonly connection: Connection
  private readonly mask: (error: unknown) => GraphQLError
  private resolve: ((end: IteratorResult<never, undefined>) => void) | undefined
  private reject: ((error: GraphQLError) => void) | undefined

  constructor(id: string, results: LiveResults, connection: Connection, mask: (error: unknown) => GraphQLError) {
    this.key = `{"id":${JSON.stringify(id)},"type":"next","payload":`
    this.results = results
    this.connection = connection
    this.mask = mask
    connection.streams.add(this)
  }

  frame(result: SharedResult): Buffer {
    return textFrame([Buffer.from(this.key), result.json, END_OF_MESSAGE])
  }

  take(frames: Buffer): boolean {
    return this.connection.outlet.take(frames, this.results)
  }

  end(error?: unknown): void {
    this.connection.streams.delete(this)
    if (error === undefined) this.resolve?.(DONE)
    else this.reject?.(this.mask(error))
  }

  close(): void {
    this.connection.streams.delete(this)
    this.results.close()
  }

  next(): Promise<IteratorResult<never, undefined>> {
    const ended = new Promise<IteratorResult<never, undefined>>((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.results.flow(this)
    return ended
  }

  async return(): Promise<IteratorResult<never, undefined>> {
    this.close()
    return DONE
  }

  async throw(error: unknown): Promise<IteratorResult<never, undefined>> {
    this.close()
    throw error
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

const END_OF_MESSAGE = Buffer.from('}')

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

function tooMany(): GraphQLError {
  return new GraphQLError(`at most ${MAX_SUBSCRIPTIONS} subscriptions on one socket`, {
    extensions: { code: 'SUBSCRIPTION_LIMIT_EXCEEDED' },
  })
}

/** A message that only servers send, or one nested so deep that it cannot be answered: the sender's fault, not ours. */
function isMisuse(error: unknown): boolean {
  return (
    error instanceof RangeError || (error instanceof Error && error.message.startsWith('Unexpected message of type'))
  )
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

/** Refuses an upgrade, and closes the connection. */
/** Answers a handshake as `/graphql` answers other refused requests. */
function refuse(request: IncomingMessage, socket: Duplex, refusal: Refusal, ...headers: string[]): void {
  const requestId = requestIdOf(request)
  const text = textOf(refusal, requestId)
  const length = String(Buffer.byteLength(text))
  const all = [...JSON_TYPE, 'x-request-id', requestId, 'content-length', length, 'connection', 'close', ...headers]
  // Destroyed even if the sender does not close: nothing else tracks the socket, and the service could not stop.
  socket.once('finish', () => socket.destroy())
  socket.end(`${headOf(refusal.status, all)}\r\n${text}`, () => socket.destroy())
}

/** A credential of another type is no absent one: its sender would be nobody without a word. */
function faultOf(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const name = ['authorization', 'Authorization', 'sdkKey'].find((credential) => {
    const value = params?.[credential]
    return value !== undefined && value !== null && typeof value !== 'string'
  })
  return name === undefined ? undefined : `${name} must be a string`
}

function readAuthorization(params: Readonly<Record<string, unknown>> | undefined): string | null {
  return readText(params?.authorization ?? params?.Authorization)
}

const readText = (value: unknown): string | null => (typeof value === 'string' ? value : null)
