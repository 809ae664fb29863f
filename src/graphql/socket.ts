import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ExecutionArgs, GraphQLError } from 'graphql'
import { CloseCode } from 'graphql-ws'
import { useServer } from 'graphql-ws/use/ws'
import type { YogaServerInstance } from 'graphql-yoga'
import type { Pool } from 'pg'
import { type WebSocket, WebSocketServer } from 'ws'
import { findClient } from '../auth/keys.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Config } from '../config.ts'
import { findCaller } from '../http/caller.ts'
import type { Metrics } from '../metrics.ts'
import type { Context, ServerContext } from './context.ts'
import type { TidyErrors } from './failures.ts'

export interface SocketOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly tokens: Tokens
  readonly pool: Pool
  readonly metrics: Metrics
  readonly tidy: TidyErrors
}

const MAX_MESSAGE_BYTES = 64 * 1024
/** Time for `connection_init`; then the socket is closed with 4408. */
const INIT_TIMEOUT_MS = 3_000
const PING_MS = 12_000
const GOING_AWAY = 1001
/** Sockets get this long to close by themselves when the service stops. */
const CLOSE_TIMEOUT_MS = 2_000

interface Execution {
  readonly execute: (args: ExecutionArgs) => never
  readonly subscribe: (args: ExecutionArgs) => never
}

/**
 * GraphQL over WebSocket, in the protocol `graphql-transport-ws`. The credentials of `connectionParams` are checked
 * before the acknowledgement and again with every operation; the socket ends with its token (4403, which clients retry).
 */
export function createSocketServer({ yoga, config, tokens, pool, metrics, tidy }: SocketOptions) {
  const wss = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false })

  const server = useServer<{ authorization?: unknown; sdkKey?: unknown }, { expiry?: NodeJS.Timeout }>(
    {
      connectionInitWaitTimeout: INIT_TIMEOUT_MS,

      async onConnect({ connectionParams, extra }) {
        const authorization = readAuthorization(connectionParams)
        const sdkKey = readText(connectionParams?.sdkKey)
        try {
          if (sdkKey !== null) await findClient(pool, sdkKey)
          if (authorization === null) return true
          const caller = await findCaller({ tokens, pool }, authorization)
          if (caller.kind === 'player') {
            const end = () => extra.socket.close(CloseCode.Forbidden, 'token expired')
            extra.expiry = setTimeout(end, caller.expiresAt - Date.now()).unref()
            // It may have closed meanwhile, and then nothing else clears the timer.
            if (extra.socket.readyState !== extra.socket.OPEN) clearTimeout(extra.expiry)
          }
          return true
        } catch {
          return false
        }
      },

      onClose({ extra }) {
        clearTimeout(extra.expiry)
      },

      async onSubscribe({ connectionParams, extra }, _id, params) {
        const { schema, execute, subscribe, parse, validate, contextFactory } = yoga.getEnveloped({
          request: undefined,
          authorization: readAuthorization(connectionParams),
          sdkKey: readText(connectionParams?.sdkKey),
          params,
          socket: extra.socket,
        } as never)
        const document = checked(() => parse(params.query))
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
      onError: (_context, _id, _payload, errors) => tidy(errors),
      onNext: (_context, _id, _payload, _args, result) => {
        if (result.errors) tidy(result.errors)
      },
    },
    wss,
    PING_MS,
  )

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const path = request.url?.split('?', 1)[0]
    if (path !== '/graphql') refuse(socket, '404 Not Found')
    else if (!isAllowedOrigin(request, config.allowedOrigins)) refuse(socket, '403 Forbidden')
    else wss.handleUpgrade(request, socket, head, (client: WebSocket) => open(client, request))
  }

  function open(client: WebSocket, request: IncomingMessage): void {
    metrics.sockets.inc()
    client.once('close', () => metrics.sockets.dec())
    wss.emit('connection', client, request)
    // graphql-ws prints a stack trace for whatever a client sends wrongly; ws closes the socket by itself.
    client.removeAllListeners('error').on('error', () => undefined)
  }

  async function stop(): Promise<void> {
    for (const client of wss.clients) client.close(GOING_AWAY, 'going away')
    const timer = setTimeout(() => {
      for (const client of wss.clients) client.terminate()
    }, CLOSE_TIMEOUT_MS)
    await server.dispose()
    clearTimeout(timer)
  }

  return { upgrade, stop }
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
    throw error
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}

function readAuthorization(params: Readonly<Record<string, unknown>> | undefined): string | null {
  return readText(params?.authorization ?? params?.Authorization)
}

const readText = (value: unknown): string | null => (typeof value === 'string' ? value : null)
