import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ExecutionArgs } from 'graphql'
import { CloseCode } from 'graphql-ws'
import { useServer } from 'graphql-ws/use/ws'
import type { YogaServerInstance } from 'graphql-yoga'
import type { Pool } from 'pg'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Tokens } from '../auth/tokens.ts'
import type { Config } from '../config.ts'
import { findCaller } from '../http/caller.ts'
import type { Metrics } from '../metrics.ts'
import type { Context, ServerContext } from './context.ts'
import { withCodes } from './failures.ts'

export interface SocketOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly tokens: Tokens
  readonly pool: Pool
  readonly metrics: Metrics
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
export function createSocketServer({ yoga, config, tokens, pool, metrics }: SocketOptions) {
  const wss = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false })

  const server = useServer<{ authorization?: unknown }, { expiry?: NodeJS.Timeout }>(
    {
      connectionInitWaitTimeout: INIT_TIMEOUT_MS,

      async onConnect({ connectionParams, extra }) {
        metrics.sockets.inc()
        const authorization = readAuthorization(connectionParams)
        if (authorization === null) return true
        try {
          const caller = await findCaller({ tokens, pool }, authorization)
          if (caller.kind === 'player') {
            const end = () => extra.socket.close(CloseCode.Forbidden, 'token expired')
            extra.expiry = setTimeout(end, caller.expiresAt - Date.now()).unref()
          }
          return true
        } catch {
          return false
        }
      },

      onDisconnect({ extra }) {
        metrics.sockets.dec()
        clearTimeout(extra.expiry)
      },

      async onSubscribe({ connectionParams, extra }, _id, params) {
        const { schema, execute, subscribe, parse, validate, contextFactory } = yoga.getEnveloped({
          request: undefined,
          authorization: readAuthorization(connectionParams),
          params,
          socket: extra.socket,
        } as never)
        const document = parse(params.query)
        const errors = validate(schema, document)
        if (errors.length > 0) return withCodes(errors)
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
      onError: (_context, _id, _payload, errors) => withCodes(errors),
      onNext: (_context, _id, _payload, _args, result) => {
        if (result.errors) withCodes(result.errors)
      },
      onOperation: () => {
        metrics.subscriptions.inc()
      },
      onComplete: () => {
        metrics.subscriptions.dec()
      },
    },
    wss,
    PING_MS,
  )

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const path = request.url?.split('?', 1)[0]
    if (path !== '/graphql') refuse(socket, '404 Not Found')
    else if (!isAllowedOrigin(request, config.allowedOrigins)) refuse(socket, '403 Forbidden')
    else wss.handleUpgrade(request, socket, head, (client: WebSocket) => wss.emit('connection', client, request))
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

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}

function readAuthorization(params: Readonly<Record<string, unknown>> | undefined): string | null {
  const value = params?.authorization ?? params?.Authorization
  return typeof value === 'string' ? value : null
}
