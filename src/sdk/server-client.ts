import { readerOf } from '../client/answers.ts'
import { CROSS_RESPONSE, type CrossResponse, PLAYER, type Player } from '../client/contract.ts'
import { refuseOptions } from '../client/error.ts'
import { printExact } from '../client/json.ts'
import type { Fetch } from '../client/platform.ts'
import type { ShapeOf } from '../client/shape.ts'
import { type CallOptions, createTransport, isTime, isUrl, keyOr, VISIBLE } from '../client/transport.ts'
import {
  type FindPlayerRequest,
  GRANT_XP_RESPONSE,
  type GrantXpRequest,
  type GrantXpResponse,
  PLAYERS_PROGRESS_RESPONSE,
  type PlayersProgressRequest,
  type PlayersProgressResponse,
  type ServerCrossRequest,
  WALLET_RESPONSE,
  type WalletGrantRequest,
  type WalletResponse,
  type WalletSpendRequest,
} from './server-contract.ts'

export interface ServerClientOptions {
  /** Where the service is, such as `https://play.example.com`. */
  readonly url: string
  /** `twsrv_…`: a server key of one environment. It is secret. */
  readonly key: string
  /** The function that makes requests. Default: the platform's `fetch`. */
  readonly fetch?: Fetch
  /** The longest time of one attempt, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number
  /** How often a call is retried after a failure that may pass. Default: 5. */
  readonly retries?: number
  /** The longest time of a call with all its attempts, in milliseconds. Default: 30,000. */
  readonly deadlineMs?: number
}

/** Options of a single call. */
export interface ServerCallOptions extends CallOptions {
  /** The longest time of the call with all its attempts, in milliseconds. */
  readonly deadlineMs?: number
}

/**
 * A request that changes something. Without a key the client makes a random one, which all attempts carry. Give one of
 * your own, such as the id of the match, to repeat the call later, or after a restart: it takes effect once.
 */
export type Change<Request> = Omit<Request, 'idempotencyKey'> & { readonly idempotencyKey?: string }

/**
 * The calls of a game server, `/server/v1`. They reject with a {@link TierwayError}. After a failure that may pass they
 * are made again, with pauses that grow, or as long as `Retry-After` says.
 */
export interface ServerClient {
  /** Finds a player by an identity, and reads it with its wallet, inventory and identities. */
  findPlayer(request: FindPlayerRequest, options?: ServerCallOptions): Promise<Player>
  /** Reads the progress of up to 200 players on a pass. A player that is refused has an `error` in its result. */
  readProgress(request: PlayersProgressRequest, options?: ServerCallOptions): Promise<PlayersProgressResponse>
  /** Gives xp, up to 200 grants. A grant that is refused has an `error` in its result, and the others are made. */
  grantXp(request: Change<GrantXpRequest>, options?: ServerCallOptions): Promise<GrantXpResponse>
  /** Adds to a balance. */
  grantMoney(request: Change<WalletGrantRequest>, options?: ServerCallOptions): Promise<WalletResponse>
  /** Takes from a balance, never more than there is. */
  spendMoney(request: Change<WalletSpendRequest>, options?: ServerCallOptions): Promise<WalletResponse>
  /** Crosses a handle for a player. */
  crossHandle(request: Change<ServerCrossRequest>, options?: ServerCallOptions): Promise<CrossResponse>
}

/** Makes a client for a game server. Throws `invalid_request` for a faulty option. */
export function createServerClient(options: ServerClientOptions): ServerClient {
  checkOptions(options)
  const { url, key, fetch, timeoutMs = 10_000, retries = 5, deadlineMs = 30_000 } = options
  const transport = createTransport({
    baseUrl: url,
    fetch: fetch ?? ((target, init) => globalThis.fetch(target, init)),
    timeoutMs,
    retries,
  })
  const authorization = `Bearer ${key}`

  async function call<Answer>(
    path: string,
    request: object,
    shape: ShapeOf<Answer>,
    options: ServerCallOptions | undefined,
    isChange = false,
  ): Promise<Answer> {
    const sent = { deadlineMs, ...options, body: printExact(request), headers: { authorization }, isChange }
    return transport.post(`/server/v1/${path}`, sent, readerOf(shape))
  }

  async function change<Answer>(
    path: string,
    request: Change<object>,
    shape: ShapeOf<Answer>,
    options: ServerCallOptions | undefined,
  ): Promise<Answer> {
    return call(path, { ...request, idempotencyKey: keyOr(request.idempotencyKey) }, shape, options, true)
  }

  return {
    findPlayer: (request, options) => call('players/find', request, PLAYER, options),
    readProgress: (request, options) => call('players/progress', request, PLAYERS_PROGRESS_RESPONSE, options),
    grantXp: (request, options) => change('battlepass/xp', request, GRANT_XP_RESPONSE, options),
    grantMoney: (request, options) => change('wallet/grant', request, WALLET_RESPONSE, options),
    spendMoney: (request, options) => change('wallet/spend', request, WALLET_RESPONSE, options),
    crossHandle: (request, options) => change('scenarios/cross', request, CROSS_RESPONSE, options),
  }
}

function checkOptions(given: { readonly [Name in keyof ServerClientOptions]?: unknown } = {}): void {
  const { url, key, retries = 0, timeoutMs = 1, deadlineMs = 1 } = given
  refuseOptions([
    [isUrl(url), 'url', 'must be an http or https URL such as https://play.example.com'],
    [typeof key === 'string' && VISIBLE.test(key), 'key', 'must be a server key such as twsrv_…'],
    [isTime(timeoutMs), 'timeoutMs', 'must be 1 to 2147483647'],
    [isTime(deadlineMs), 'deadlineMs', 'must be 1 to 2147483647'],
    [typeof retries === 'number' && retries >= 0, 'retries', 'must be 0 or more'],
  ])
}
