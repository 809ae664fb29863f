import { createClient as createSocket, type Client as Socket } from 'graphql-ws'
import { type Client, cacheExchange, fetchExchange, mapExchange, Client as UrqlClient } from 'urql'
import { codeOf } from '../ui/errors.ts'
import { noteServiceTime } from '../ui/now.ts'
import { endSession } from './session.ts'

const URL = '/graphql'

/**
 * A client for queries and mutations. After a mutation, queries whose answers contain a type of its answer are read
 * again. A query whose answer may lack that type needs `additionalTypenames` in its context. `endsSession: false` is
 * for a call with another key: a refusal of that key says nothing about the session. `isCached: false` is for callers
 * that keep what they need: the cache would keep every answer.
 */
export function createClient(token: string, { endsSession = true, isCached = true } = {}): Client {
  return new UrqlClient({
    url: URL,
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    fetch: async (...request) => {
      const response = await fetch(...request)
      noteServiceTime(response.headers.get('date'))
      return response
    },
    exchanges: [
      mapExchange({
        onError(error) {
          if (endsSession && codeOf(error) === 'INVALID_TOKEN')
            endSession('Your session has ended. Sign in to continue where you were.')
        },
      }),
      ...(isCached ? [cacheExchange] : []),
      fetchExchange,
    ],
  })
}

export interface LiveSocket {
  readonly client: Socket
  readonly isConnected: () => boolean
  /** Finds out at once whether the connection still works. It closes when it does not. */
  readonly check: () => void
}

/** A ping without an answer for this long shows that the connection is dead. */
const PONG_MS = 5_000
const CONNECT_MS = 10_000

/**
 * Makes the socket, which is open while there are subscriptions. It does not retry: a repeated subscription would send
 * events again, so each subscriber begins after the last event that it has received.
 */
export function createLiveSocket(token: string): LiveSocket {
  let connected: WebSocket | undefined
  let deadline: ReturnType<typeof setTimeout> | undefined
  const endAfter = (ms: number) => {
    deadline ??= setTimeout(() => client.terminate(), ms)
  }
  const forget = () => {
    clearTimeout(deadline)
    deadline = undefined
  }
  const client = createSocket({
    url: `${location.origin.replace(/^http/, 'ws')}${URL}`,
    connectionParams: { authorization: `Bearer ${token}` },
    lazyCloseTimeout: 3_000,
    keepAlive: 10_000,
    retryAttempts: 0,
    on: {
      connecting: () => endAfter(CONNECT_MS),
      connected: (socket) => {
        forget()
        connected = socket as WebSocket
      },
      closed: () => {
        forget()
        connected = undefined
      },
      ping: (isReceived) => {
        // The connection of a computer that slept may look open and be dead.
        if (!isReceived) endAfter(PONG_MS)
      },
      pong: (isReceived) => {
        if (isReceived) forget()
      },
    },
  })
  return {
    client,
    isConnected: () => connected !== undefined,
    check() {
      if (connected?.readyState !== WebSocket.OPEN) return
      connected.send('{"type":"ping"}')
      endAfter(PONG_MS)
    },
  }
}
