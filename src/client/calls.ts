import { TierwayError } from './error.ts'
import { type Int64Fields, parseExact, printExact, toBigInts } from './json.ts'
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
type PlayerRequest = Omit<PostRequest, 'headers'> & Partial<Pick<PostRequest, 'headers'>>

/** Calls of the signed-in player, for the other parts of the library. */
export interface PlayerCalls {
  /** Makes a call and reads its answer, with a `bigint` at each place of `int64s`. */
  call(path: string, body: object, options?: CallOptions, int64s?: Int64Fields): Promise<unknown>
  /** The same for a call that changes something. All its attempts carry one idempotency key. */
  change(path: string, body: object, options?: ChangeOptions, int64s?: Int64Fields): Promise<unknown>
  /** Makes a call whose body is already text, and reads its answer with the function. */
  send<Answer>(path: string, request: PlayerRequest, read: (text: string) => Answer): Promise<Answer>
  /** Makes a call with the player's token. When the token is refused, the call is made once more with a new one. */
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

  const send: PlayerCalls['send'] = (path, request, read) =>
    withToken(
      (headers) => transport.post(path, { ...request, headers: { ...headers, ...request.headers } }, read),
      request.signal,
    )

  const readWith = (int64s: Int64Fields | undefined) => (text: string) => {
    const answer = readAnswer(text)
    return int64s === undefined ? answer : toBigInts(answer, int64s)
  }

  return {
    transport,
    send,
    withToken,
    renew: async () => login.replace(await login.token()),
    call: (path, body, options, int64s) => send(path, { ...options, body: printExact(body) }, readWith(int64s)),
    change(path, body, options, int64s) {
      const headers = { 'idempotency-key': options?.idempotencyKey ?? newKey() }
      return send(path, { ...options, body: printExact(body), headers, isChange: true }, readWith(int64s))
    },
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** One token request serves all calls, so a call that is aborted stops waiting without ending the request. */
function unlessAborted<Value>(pending: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return pending
  return new Promise((resolve, reject) => {
    const end = () => reject(reasonOf(signal))
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    pending.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

/** The parsed answer; undefined for one without a body. */
export function readAnswer(text: string): unknown {
  if (text === '') return undefined
  try {
    return parseExact(text)
  } catch (error) {
    throw new TierwayError({ code: 'invalid_answer', status: 200, outcomeUnknown: true, cause: error })
  }
}
