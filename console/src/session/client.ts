import { createClient as createSocket, type Client as Socket } from 'graphql-ws'
import { type Client, cacheExchange, fetchExchange, Client as UrqlClient } from 'urql'
import { noteServiceTime } from '../ui/now.ts'
import { currentSession, suspendSession, validAgain } from './session.ts'

const URL = '/graphql'
type Address = RequestInfo | globalThis.URL
const REFUSED = 'Your session has ended. Sign in to continue where you were.'

/**
 * A client of the session for queries and mutations. After a mutation, queries whose answers contain a type of its
 * answer are read again. A query whose answer may lack that type needs `additionalTypenames` in its context.
 * `isCached: false` is for callers that keep what they need: the cache would keep every answer.
 */
export const createClient = ({ isCached = true } = {}): Client =>
  new UrqlClient({
    url: URL,
    preferGetMethod: false,
    fetch: sessionFetch,
    exchanges: [...(isCached ? [cacheExchange] : []), fetchExchange],
  })

/** A client with a platform key. A refusal of the key says nothing about the session. */
export const createKeyClient = (key: string): Client =>
  new UrqlClient({
    url: URL,
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${key}` } },
    fetch: timedFetch,
    exchanges: [fetchExchange],
  })

/** Longer than any document of the console takes. Lists and exports, which are large, have none. */
const DEADLINE_MS = 30_000

async function timedFetch(address: Address, request: RequestInit = {}): Promise<Response> {
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  const signals = [request.signal, address === URL && deadline].filter((signal) => signal instanceof AbortSignal)
  const response = await fetch(address, { ...request, signal: AbortSignal.any(signals) })
  noteServiceTime(response.headers.get('date'))
  return response
}

/**
 * A request with the token of the session. When the service no longer accepts the token, the request did nothing: it
 * waits until the person has signed in again over the page, and is then sent again. Another person gets the refusal.
 */
export async function sessionFetch(address: Address, request: RequestInit = {}): Promise<Response> {
  for (;;) {
    const asked = currentSession()
    const headers = new Headers(request.headers)
    headers.set('authorization', `Bearer ${asked?.token}`)
    const response = await timedFetch(address, { ...request, headers })
    if (asked === null || !(await isRefused(address, response))) return response
    suspendSession(asked, REFUSED)
    const renewed = await validAgain()
    if (renewed?.actor !== asked.actor || renewed.projectId !== asked.projectId) return response
  }
}

/** GraphQL answers with the status 200. */
const isRefused = async (address: Address, response: Response): Promise<boolean> =>
  address === URL ? (await response.clone().text()).includes('"code":"INVALID_TOKEN"') : response.status === 401

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
export function createLiveSocket(): LiveSocket {
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
    connectionParams: () => ({ authorization: `Bearer ${currentSession()?.token}` }),
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
