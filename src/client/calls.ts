import { readerOf } from './answers.ts'
import { TierwayError } from './error.ts'
import { printExact } from './json.ts'
import { type PlayerLogin, signedOut, type Token } from './login.ts'
import type { Signal } from './platform.ts'
import type { ShapeOf } from './shape.ts'
import type { Sockets } from './socket.ts'
import {
  type CallOptions,
  type ChangeOptions,
  keyOr,
  type PostRequest,
  type Reader,
  reasonOf,
  type Transport,
} from './transport.ts'

/** The header that says who calls. */
export type Bearer = { readonly authorization: string }
type PlayerRequest = Omit<PostRequest, 'headers'> & Partial<Pick<PostRequest, 'headers'>> & ForPlayer

export interface ForPlayer {
  /** The player that the call is for. It is not made for another one: it rejects with `signed_out`. */
  readonly playerId?: string
  readonly signal?: Signal
}

/** Calls of the signed-in player, for the other parts of the library. */
export interface PlayerCalls {
  /** Makes a call whose answer has this shape. */
  call<Answer>(path: string, body: object, shape: ShapeOf<Answer>, options?: CallOptions): Promise<Answer>
  /** The same for a call that changes something. All its attempts carry one idempotency key. */
  change<Answer>(
    path: string,
    body: object,
    shape: ShapeOf<Answer>,
    options?: ChangeOptions & ForPlayer,
  ): Promise<Answer>
  /** Makes a call whose body is already text, and reads its answer with the function. */
  send<Answer>(path: string, request: PlayerRequest, read: Reader<Answer>): Promise<Answer>
  /** Makes a call with the player's token. When the token is refused, the call is made once more with a new one. */
  withToken<Answer>(make: (headers: Bearer) => Promise<Answer>, options?: ForPlayer): Promise<Answer>
  /** Exchanges the player's token. Rejects with `signed_out` when the login has ended. */
  renew(): Promise<unknown>
  /** The id of the signed-in player. */
  player(signal?: Signal): Promise<string>
  /** The same calls for one player only: the one who is signed in, or else signs in before the first of them. */
  ofPlayer(): PlayerCalls
  /** Whether the calls are made for this player. */
  isFor(playerId: string): boolean
  readonly transport: Transport
  readonly sockets: Sockets
}

/** Calls for the player who is signed in, or for one owner only. */
export function playerCalls(
  transport: Transport,
  sockets: Sockets,
  login: PlayerLogin,
  owner?: { playerId: string | null },
): PlayerCalls {
  const isFor = (playerId: string) => (owner?.playerId ?? playerId) === playerId

  async function withToken<Answer>(make: (headers: Bearer) => Promise<Answer>, { signal, playerId }: ForPlayer = {}) {
    const token = await unlessAborted(login.token(), signal)
    if (!isFor(token.playerId) || (playerId ?? token.playerId) !== token.playerId) throw signedOut()
    if (owner) owner.playerId = token.playerId
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
      request,
    )

  return {
    transport,
    sockets,
    ofPlayer: () => playerCalls(transport, sockets, login, { playerId: login.playerId }),
    isFor,
    send,
    withToken,
    renew: async () => login.replace(await login.token()),
    player: async (signal) => (await unlessAborted(login.token(), signal)).playerId,
    call: async (path, body, shape, options) => send(path, { ...options, body: printExact(body) }, readerOf(shape)),
    async change(path, body, shape, options) {
      const idempotencyKey = keyOr(options?.idempotencyKey)
      const headers = { 'idempotency-key': idempotencyKey }
      const request = { ...options, body: printExact(body), headers, isChange: true, idempotencyKey }
      return send(path, request, readerOf(shape))
    },
  }
}

const bearer = ({ accessToken }: Token): Bearer => ({ authorization: `Bearer ${accessToken}` })

/** One token request serves all calls, so a call that is aborted stops waiting without ending the request. */
export function unlessAborted<Value>(pending: Promise<Value>, signal: Signal | undefined): Promise<Value> {
  if (!signal) return pending
  return new Promise((resolve, reject) => {
    const end = () => reject(reasonOf(signal))
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    pending.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
