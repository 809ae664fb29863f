import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ExecutionArgs, type ExecutionResult, GraphQLError } from 'graphql'
import { CloseCode, handleProtocols, makeServer } from 'graphql-ws'
import type { YogaServerInstance } from 'graphql-yoga'
import { type WebSocket, WebSocketServer } from 'ws'
import { accessOf } from '../auth/access.ts'
import type { Watch, Watched } from '../auth/watch.ts'
import type { Config } from '../config.ts'
import { toRefusal } from '../db/failures.ts'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Service } from '../service.ts'
import type { Context, ServerContext } from './context.ts'
import { refusalError, type TidyErrors } from './failures.ts'
import { SharedResult } from './fan-out.ts'
import type { SentOperation } from './persisted-operations.ts'
import { stream } from './stream.ts'

export interface SocketOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly service: Service
  readonly watch: Watch
  readonly metrics: Metrics
  readonly log: Logger
  readonly tidy: TidyErrors
  /** The document that a client names or sends; refuses what it may not ask for. */
  readonly findDocument: (sent: SentOperation) => string | undefined
}

const MAX_MESSAGE_BYTES = 64 * 1024
/** Operations under way on one socket. One more is refused; the others go on. */
const MAX_SUBSCRIPTIONS = 100
/** Time for `connection_init`; then the socket is closed with 4408. */
const INIT_TIMEOUT_MS = 3_000
/** A ping that is not answered by the next one ends the socket. */
const PING_SECONDS = 12
/** A reader that takes nothing for so long is closed. It may come back with its cursor. */
const STALL_SECONDS = 10
/** With so much on its way out nothing more is read: whoever asks on and on and takes no answer waits for itself. */
const MAX_BUFFERED_BYTES = 1024 * 1024
/** Of the WebSocket protocol: try again later. Clients of graphql-ws do. */
const TRY_AGAIN_LATER = 1013
const GOING_AWAY = 1001
/** Sockets get this long to close by themselves when the service stops. */
const CLOSE_TIMEOUT_MS = 2_000

interface Execution {
  readonly execute: (args: ExecutionArgs) => never
  readonly subscribe: (args: ExecutionArgs) => never
}

type Params = { authorization?: unknown; sdkKey?: unknown }

/** What belongs to one socket. */
interface Extra {
  readonly socket: WebSocket
  readonly send: (message: string) => Promise<void>
  expiry?: NodeJS.Timeout
  readonly watches: (() => void)[]
  /** Every stream that is open, also those whose id was taken again before they began: nobody else knows of these. */
  readonly streams: Set<AsyncGenerator<never>>
  /** Ends of operations whose message is being taken. */
  readonly begun: AbortController[]
  /** Operations that were begun and are still at work, also those that were given up since. */
  working: number
}

/**
 * GraphQL over WebSocket, in the protocol `graphql-transport-ws`. The credentials of `connectionParams` are checked
 * before the acknowledgement and again with every operation; the socket ends with what they rest on (4403, which
 * clients retry).
 */
export function createSocketServer(options: SocketOptions) {
  const { yoga, config, service, watch, metrics, log, tidy, findDocument } = options
  const wss = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    autoPong: false,
    handleProtocols,
  })

  const server = makeServer<Params, Extra>({
    connectionInitWaitTimeout: INIT_TIMEOUT_MS,

    async onConnect({ connectionParams, extra }) {
      const authorization = readAuthorization(connectionParams)
      const sdkKey = readText(connectionParams?.sdkKey)
      const access = accessOf(service, { authorization, sdkKey }, 'forbidden')
      try {
        if (sdkKey !== null) hold(extra, { kind: 'client', keyId: (await access.client()).keyId })
        if (authorization === null) return true
        const caller = await access.caller()
        // Before the acknowledgement: whoever would be closed a second later had better wait longer each time.
        if (await watch.check(caller)) return false
        hold(extra, caller)
        return true
      } catch (error) {
        // Not the caller's fault: it had better come back than look for other credentials.
        if (toRefusal(error)?.status === 503) extra.socket.close(TRY_AGAIN_LATER, 'unavailable')
        return false
      }
    },

    async onClose({ extra }) {
      letGo(extra)
      await Promise.all([...extra.streams].map((results) => results.return(undefined)))
    },

    async onSubscribe({ connectionParams, extra, subscriptions }, _id, params) {
      extra.working += 1
      const answered = new AbortController()
      extra.begun.push(answered)
      const underWay = Math.max(Object.keys(subscriptions).length, extra.streams.size + 1)
      // Room is made at once by what is given up, and once more: what has not begun yet cannot be stopped.
      if (underWay > MAX_SUBSCRIPTIONS || extra.working > 2 * MAX_SUBSCRIPTIONS) return [tooMany()]
      const { schema, execute, subscribe, parse, validate, contextFactory } = yoga.getEnveloped({
        request: undefined,
        authorization: readAuthorization(connectionParams),
        sdkKey: readText(connectionParams?.sdkKey),
        params,
        socket: extra.socket,
        closed: answered.signal,
      } as never)
      const document = checked(() => parse(findDocument(params) ?? params.query))
      if (Array.isArray(document)) return tidy(document)
      const errors = checked(() => validate(schema, document))
      if (errors.length > 0) return tidy(errors)
      return {
        schema,
        document,
        operationName: params.operationName,
        variableValues: params.variables,
        contextValue: await contextFactory(),
        rootValue: { execute, subscribe },
      }
    },
    execute: (args) => (args.rootValue as Execution).execute(args),
    subscribe: (args) => (args.rootValue as Execution).subscribe(args),
    onOperation: ({ extra }, id, _payload, _args, result) =>
      Symbol.asyncIterator in result ? sending(id, result as AsyncGenerator<ExecutionResult>, extra, tidy) : undefined,
    onError: (_context, _id, _payload, errors) => tidy(errors),
    onNext: (_context, _id, _payload, _args, result) => {
      if (result.errors) tidy(result.errors)
    },
  })

  /** The socket lasts as long as its caller may call. */
  function hold(extra: Extra, caller: Watched): void {
    const close = (reason: string) => extra.socket.close(CloseCode.Forbidden, reason)
    extra.watches.push(watch.watch(caller, close))
    if (caller.kind === 'player') {
      extra.expiry = setTimeout(close, caller.expiresAt - Date.now(), 'token expired').unref()
    }
    // It may have closed meanwhile, and then nobody else lets go.
    if (extra.socket.readyState !== extra.socket.OPEN) letGo(extra)
  }

  function letGo(extra: Extra): void {
    clearTimeout(extra.expiry)
    for (const stop of extra.watches.splice(0)) stop()
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A client that has gone without waiting for the answer takes nobody with it.
    socket.on('error', () => undefined)
    const path = request.url?.split('?', 1)[0]
    if (path !== '/graphql') refuse(socket, '404 Not Found')
    else if (!isAllowedOrigin(request, config.allowedOrigins)) refuse(socket, '403 Forbidden')
    else wss.handleUpgrade(request, socket, head, open)
  }

  function open(socket: WebSocket): void {
    metrics.sockets.inc()
    // What a client sends wrongly ends its socket; ws closes it by itself.
    socket.on('error', () => undefined)
    const outlet = createOutlet(socket)
    const beat = startHeartbeat(socket, outlet)
    const extra: Extra = { socket, send: outlet.send, watches: [], streams: new Set(), begun: [], working: 0 }

    async function handle(message: string, take: (message: string) => Promise<void>): Promise<void> {
      const before = extra.working
      const taken = take(message)
      // Only an operation has counted itself by now.
      const operations = extra.working - before
      const begun = extra.begun.splice(0)
      try {
        await taken
      } catch (error) {
        if (isMisuse(error)) return socket.close(CloseCode.BadRequest, 'Invalid message received')
        log.error({ err: error }, 'a message over a WebSocket could not be handled')
        socket.close(CloseCode.InternalServerError, 'internal error')
      } finally {
        extra.working -= operations
        for (const answered of begun) answered.abort()
      }
    }

    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: outlet.send,
        close: (code, reason) => socket.close(code, reason),
        onMessage: (take) => socket.on('message', (data) => void handle(String(data), take)),
      },
      extra,
    )
    socket.once('close', (code, reason) => {
      metrics.sockets.dec()
      clearInterval(beat)
      void closed(code, String(reason))
    })
  }

  async function stop(): Promise<void> {
    for (const client of wss.clients) client.close(GOING_AWAY, 'going away')
    const timer = setTimeout(() => {
      for (const client of wss.clients) client.terminate()
    }, CLOSE_TIMEOUT_MS)
    await new Promise((resolve) => wss.close(resolve))
    clearTimeout(timer)
  }

  return { upgrade, stop }
}

/** The way out of a socket. A message counts as sent when the network has taken it. */
interface Outlet {
  readonly send: (message: string) => Promise<void>
  /** How many messages wait for the network, and how many it has taken. */
  readonly waiting: number
  readonly taken: number
}

function createOutlet(socket: WebSocket): Outlet {
  let waiting = 0
  let taken = 0

  function track(send: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      if (socket.readyState !== socket.OPEN) return resolve()
      waiting += 1
      send(() => {
        waiting -= 1
        taken += 1
        if (socket.isPaused && socket.bufferedAmount <= MAX_BUFFERED_BYTES) socket.resume()
        // An error closes the socket, which ends whoever waits for more.
        resolve()
      })
      if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.pause()
    })
  }

  // Not left to ws, which would answer without an end whoever takes no answer.
  socket.on('ping', (data) => void track((done) => socket.pong(data, false, done)))
  return {
    get waiting() {
      return waiting
    },
    get taken() {
      return taken
    },
    send: (message) => track((done) => socket.send(message, done)),
  }
}

/**
 * Notices whoever is gone without a word, and whoever does not read. The seconds are counted, not taken from a clock:
 * those in which the service itself stood still are nobody's fault.
 */
function startHeartbeat(socket: WebSocket, outlet: Outlet): NodeJS.Timeout {
  let sincePing = 0
  let stalled = 0
  let taken = 0
  let isAlive = true
  socket.on('pong', () => {
    isAlive = true
  })
  return setInterval(() => {
    stalled = outlet.waiting > 0 && outlet.taken === taken ? stalled + 1 : 0
    taken = outlet.taken
    if (stalled >= STALL_SECONDS) socket.close(TRY_AGAIN_LATER, 'too slow')
    sincePing += 1
    if (sincePing < PING_SECONDS) return
    // One that stalls cannot hear the ping before all the rest: it has its own limit.
    if (!isAlive && stalled === 0) return socket.terminate()
    isAlive = false
    sincePing = 0
    if (socket.readyState === socket.OPEN) socket.ping()
  }, 1_000).unref()
}

/**
 * Sends results as they come, each when the one before has left: whoever does not read keeps nothing waiting but its own
 * next result. To the protocol's server it is a stream that has nothing to say, and ends when the results do.
 */
function sending(
  id: string,
  results: AsyncGenerator<ExecutionResult>,
  { socket, send, streams }: Extra,
  tidy: TidyErrors,
): AsyncGenerator<never> {
  const head = `{"id":${JSON.stringify(id)},"type":"next","payload":`
  let ended = false
  const sent = stream<never>(
    async () => {
      for (;;) {
        const { done, value } = await results.next()
        if (done || ended) return undefined
        if (value.errors) tidy(value.errors)
        await send(`${head}${value instanceof SharedResult ? value.text : JSON.stringify(value)}}`)
        // While it closes nothing is sent any more: a replay would be read for nobody.
        if (socket.readyState !== socket.OPEN) return undefined
      }
    },
    () => {
      ended = true
      streams.delete(sent)
      return results.return(undefined)
    },
  )
  streams.add(sent)
  return sent
}

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

/** Native clients send no origin; a browser's must be our own or a listed one, as there is no CORS for WebSockets. */
function isAllowedOrigin({ headers }: IncomingMessage, allowed: readonly string[]): boolean {
  const { origin, host } = headers
  if (origin === undefined || allowed.includes(origin)) return true
  return URL.canParse(origin) && new URL(origin).host === host
}

/** A document that does not parse, or breaks a limit, is thrown: an answer to its sender, not an end of the socket. */
function checked<T>(read: () => T): T | GraphQLError[] {
  try {
    return read()
  } catch (error) {
    if (error instanceof GraphQLError) return [error]
    if (error instanceof Refusal) return [refusalError(error)]
    throw error
  }
}

/** Lets the connection go with the answer: one whose sender does not close would keep the service from stopping. */
function refuse(socket: Duplex, status: string): void {
  // Whether or not its sender closes, too: nobody else keeps an eye on it, and the service could not stop.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, () => socket.destroy())
}

function readAuthorization(params: Readonly<Record<string, unknown>> | undefined): string | null {
  return readText(params?.authorization ?? params?.Authorization)
}

const readText = (value: unknown): string | null => (typeof value === 'string' ? value : null)
