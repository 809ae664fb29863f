import { TierwayError } from './error.ts'
import { type Places, parseExact, printExact, toBigInts } from './json.ts'
import type { PlayerLogin } from './login.ts'
import {
  type CallOptions,
  type ChangeOptions,
  newKey,
  type PostRequest,
  reasonOf,
  type Transport,
} from './transport.ts'

type Headers = Readonly<Record<string, string>>

/** Calls of the signed-in player. Other parts of the library make their calls by it. */
export interface PlayerCalls {
  /** Makes a call and reads its answer, with a `bigint` in each of the places. */
  call(path: string, body: object, options?: CallOptions, places?: Places): Promise<unknown>
  /** The same for a call that changes something: it has a key, which all its attempts carry. */
  change(path: string, body: object, options?: ChangeOptions, places?: Places): Promise<unknown>
  /** Makes a call with the player's token. When it is refused, the call is made once more with another one. */
  withToken<Answer>(make: (headers: Headers) => Promise<Answer>, signal?: AbortSignal): Promise<Answer>
  /** Exchanges the player's token. Rejects with `signed_out` when the login has ended. */
  renew(): Promise<unknown>
  readonly transport: Transport
}

export function playerCalls(transport: Transport, login: PlayerLogin): PlayerCalls {
  async function withToken<Answer>(make: (headers: Headers) => Promise<Answer>, signal?: AbortSignal) {
    const token = await unlessAborted(login.token(), signal)
    try {
      return await make(bearer(token))
    } catch (error) {
      if (!TierwayError.is(error) || error.code !== 'invalid_token') throw error
      return await make(bearer(await unlessAborted(login.replace(token), signal)))
    }
  }

  async function post(path: string, request: Omit<PostRequest, 'headers'>, more: object, places?: Places) {
    const make = (headers: Headers) => transport.post(path, { ...request, headers: { ...headers, ...more } })
    const text = await withToken(make, request.signal)
    if (text === '') return undefined
    const answer = read(text)
    return places === undefined ? answer : toBigInts(answer, places)
  }

  return {
    transport,
    withToken,
    renew: async () => login.replace(await login.token()),
    call: (path, body, options, places) => post(path, { ...options, body: printExact(body) }, {}, places),
    change(path, body, options, places) {
      const key = { 'idempotency-key': options?.idempotencyKey ?? newKey() }
      return post(path, { ...options, body: printExact(body), isChange: true }, key, places)
    },
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A token is fetched for all calls, so that one which is ended leaves it alone. */
function unlessAborted<Value>(pending: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return pending
  return new Promise((resolve, reject) => {
    const end = () => reject(reasonOf(signal))
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    pending.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

export function read(text: string): unknown {
  try {
    return parseExact(text)
  } catch (error) {
    throw new TierwayError({ code: 'invalid_answer', status: 200, outcomeUnknown: true, cause: error })
  }
}
