import { createClient as createSocket, type Client as Socket } from 'graphql-ws'
import { type Client, cacheExchange, fetchExchange, mapExchange, Client as UrqlClient } from 'urql'
import { codeOf } from '../ui/errors.ts'
import { endSession } from './session.ts'

const URL = '/graphql'

/**
 * A client for queries and mutations. A mutation has the queries read again that show a type of its answer: objects
 * that no answer names need `additionalTypenames` in the context of their query.
 */
export function createClient(token: string): Client {
  return new UrqlClient({
    url: URL,
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    exchanges: [
      mapExchange({
        onError(error) {
          if (codeOf(error) === 'INVALID_TOKEN') endSession('Your session has ended. Sign in to go on where you were.')
        },
      }),
      cacheExchange,
      fetchExchange,
    ],
  })
}

/**
 * A client for subscriptions. It does not retry: a subscription that is repeated as it was would tell events again, so
 * each subscriber begins behind the last event that it has heard.
 */
export function createSocketClient(token: string): Socket {
  return createSocket({
    url: URL.replace(/^/, location.origin.replace(/^http/, 'ws')),
    connectionParams: { authorization: `Bearer ${token}` },
    lazyCloseTimeout: 3_000,
    // A socket of a computer that slept may look open and be dead.
    keepAlive: 10_000,
    retryAttempts: 0,
  })
}
