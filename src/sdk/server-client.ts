import { readerOf } from '../client/answers.ts'
import { PLAYER, type Player } from '../client/contract.ts'
import { type Fault, invalidRequest } from '../client/error.ts'
import { printExact } from '../client/json.ts'
import type { Fetch } from '../client/platform.ts'
import type { ShapeOf } from '../client/shape.ts'
import { type CallOptions, createTransport, isTime, isUrl, VISIBLE } from '../client/transport.ts'
import {
  type FindPlayerRequest,
  PLAYERS_PROGRESS_RESPONSE,
  type PlayersProgressRequest,
  type PlayersProgressResponse,
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
 * The calls of a game server, `/server/v1`. They reject with a {@link TierwayError}. After a failure that may pass they
 * are made again, with pauses that grow, or as long as `Retry-After` says.
 */
export interface ServerClient {
  /** Finds a player by an identity, and reads it with its wallet, inventory and identities. */
  findPlayer(request: FindPlayerRequest, options?: ServerCallOptions): Promise<Player>
  /** Reads the progress of up to 200 players on a pass. A player that is refused has an `error` in its result. */
  readProgress(request: PlayersProgressRequest, options?: ServerCallOptions): Promise<PlayersProgressResponse>
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

  async function read<Answer>(
    path: string,
    request: object,
    shape: ShapeOf<Answer>,
    options?: ServerCallOptions,
  ): Promise<Answer> {
    const call = { deadlineMs, ...options, body: printExact(request), headers: { authorization } }
    return transport.post(`/server/v1/${path}`, call, readerOf(shape))
  }

  return {
    findPlayer: (request, options) => read('players/find', request, PLAYER, options),
    readProgress: (request, options) => read('players/progress', request, PLAYERS_PROGRESS_RESPONSE, options),
  }
}

/** Names every faulty option: a program may have no types, and a setting may be missing. */
function checkOptions(given: { readonly [Name in keyof ServerClientOptions]?: unknown } = {}): void {
  const { url, key, retries = 0, timeoutMs = 1, deadlineMs = 1 } = given
  const details: Fault[] = []
  const check = (isFine: boolean, path: string, message: string) => {
    if (!isFine) details.push({ path, message })
  }
  check(isUrl(url), 'url', 'must be an http or https URL such as https://play.example.com')
  check(typeof key === 'string' && VISIBLE.test(key), 'key', 'must be a server key such as twsrv_…')
  check(isTime(timeoutMs), 'timeoutMs', 'must be 1 to 2147483647')
  check(isTime(deadlineMs), 'deadlineMs', 'must be 1 to 2147483647')
  check(typeof retries === 'number' && retries >= 0, 'retries', 'must be 0 or more')
  if (details.length > 0) throw invalidRequest(details, 'invalid options')
}
