import { invalidAnswer, parsed, readAs } from '../client/answers.ts'
import { invalidRequest, refuseOptions, TierwayError } from '../client/error.ts'
import { framesOf } from '../client/frames.ts'
import { Listeners } from '../client/listeners.ts'
import type { Signal } from '../client/platform.ts'
import type { ShapeOf } from '../client/shape.ts'
import { backoff, isTime, pause, reasonOf, refusalOf, VISIBLE } from '../client/transport.ts'
import type { EndedCode, EndedTokens } from './ended-tokens.ts'
import { ENDED_LOGINS } from './server-contract.ts'

/** A login that has ended, or a player that is banned or deleted. */
export interface EndedAccess {
  readonly playerId: string
  /** The login that has ended. Null where it is all logins of the player. */
  readonly loginId: string | null
  /** The `code` with which `verify` refuses its tokens. */
  readonly code: EndedCode
}

/** How a verifier follows the logins that end. */
export interface FollowOptions {
  /** `twsrv_…`: a server key of the environment. It is secret. */
  readonly key: string
  /** Called once for each login that ends and each player that is banned or deleted, so that you close its connections. */
  readonly onEnded?: (ended: EndedAccess) => unknown
  /** Called with each failure. The verifier keeps trying by itself, unless the key is refused. */
  readonly onError?: (error: TierwayError) => unknown
  /** Ends the following. */
  readonly signal?: Signal
  /** The longest silence before it connects again, in milliseconds. Default: 20,000. The service is silent for about 5,000. */
  readonly silenceMs?: number
}

type Heard = Listeners<{ ended: EndedAccess; error: TierwayError }>

const LONGEST_WAIT_MS = 10_000
/** A connection that lasted this long has not failed at once. */
const SOUND_MS = 5_000
/** Only the service itself says so, and another attempt cannot help. */
const FINAL = ['invalid_token', 'forbidden', 'invalid_request']

/** Follows the feed of ended logins, and keeps those whose tokens have not expired. */
export class EndedFollower {
  readonly #url: string
  readonly #environmentId: string
  readonly #ended: EndedTokens
  #lastEventId = ''
  /** The present following. */
  #options: FollowOptions | undefined
  #isCurrent = false
  #currentAt: number | null = null

  constructor(url: string, environmentId: string, ended: EndedTokens) {
    this.#url = `${url.replace(/\/+$/, '')}/server/v1/ended-logins`
    this.#environmentId = environmentId
    this.#ended = ended
  }

  get isFollowing(): boolean {
    return this.#isCurrent
  }

  get msAgo(): number | null {
    return this.#currentAt === null ? null : performance.now() - this.#currentAt
  }

  /** Resolves once all that has ended is known, and continues until the signal aborts or the key is refused. */
  async follow(options: FollowOptions): Promise<void> {
    checkOptions(options)
    if (this.#options && !this.#options.signal?.aborted)
      throw invalidRequest([{ path: '', message: 'the verifier follows already: end that by its signal first' }])
    const { signal, onEnded, onError } = options
    const listeners: Heard = new Listeners()
    if (onEnded) listeners.on('ended', onEnded)
    if (onError) listeners.on('error', onError)
    return new Promise((resolve, reject) => {
      let isKnown = false
      const known = (): void => {
        isKnown = true
        resolve()
      }
      this.#options = options
      this.#run(options, listeners, known).catch((error) => {
        if (this.#options === options) this.#options = undefined
        if (!isKnown) reject(error)
        else if (!signal?.aborted) listeners.emit('error', error)
      })
    })
  }

  /** Connects again and again. Rejects at the end. */
  async #run(options: FollowOptions, listeners: Heard, known: () => void): Promise<never> {
    const { signal } = options
    for (let failed = 0; ; failed += 1) {
      const began = performance.now()
      try {
        await this.#connect(options, (message) => this.#take(message, listeners, known))
      } catch (error) {
        if (signal?.aborted) throw reasonOf(signal)
        if (!TierwayError.is(error) || FINAL.includes(error.code)) throw error
        listeners.emit('error', error)
      } finally {
        this.#isCurrent = false
      }
      if (performance.now() - began > SOUND_MS) failed = 0
      await pause(backoff(failed, LONGEST_WAIT_MS), signal)
    }
  }

  /** One connection, until it ends. */
  async #connect({ key, signal, silenceMs = 20_000 }: FollowOptions, take: (message: string) => void): Promise<void> {
    const ending = new AbortController()
    const end = () => ending.abort()
    let isSilent = false
    const giveUp = () => {
      isSilent = true
      end()
    }
    let timer = setTimeout(giveUp, silenceMs)
    const isAlive = () => {
      clearTimeout(timer)
      timer = setTimeout(giveUp, silenceMs)
    }
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
    try {
      const headers = { authorization: `Bearer ${key}`, accept: STREAM_TYPE, 'last-event-id': this.#lastEventId }
      const response = await fetch(this.#url, { headers, signal: ending.signal })
      if (!response.ok) throw refusalOf(response, await response.text())
      if (!response.body || !response.headers.get('content-type')?.startsWith(STREAM_TYPE))
        throw invalidAnswer('the answer did not come from the service: it is no stream', response.status)
      for await (const message of framesOf(response.body, isAlive)) take(message)
    } catch (error) {
      if (TierwayError.is(error)) throw error
      throw new TierwayError({ code: isSilent ? 'timeout' : 'network_error', retryable: true, cause: error })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      end()
    }
  }

  #take(message: string, listeners: Heard, known: () => void): void {
    const event = fieldOf(message, 'event')
    // A later service may send more.
    if (event !== 'ended' && event !== 'current') return
    const data = parsed(fieldOf(message, 'data') ?? '')
    if (readAs(CURRENT, data).environmentId !== this.#environmentId)
      throw invalidRequest([{ path: 'key', message: 'must be a server key of the environment of the verifier' }])
    if (event === 'ended') {
      const { logins, players } = readAs(ENDED_LOGINS, data)
      const add = (id: string, endedAt: string, ended: EndedAccess, until: string | null = null): void => {
        const untilMs = until === null ? null : Date.parse(until)
        if (this.#ended.add(id, ended.code, Date.parse(endedAt), untilMs)) listeners.emit('ended', ended)
      }
      for (const { playerId, loginId, endedAt } of logins)
        add(loginId, endedAt, { playerId, loginId, code: 'login_ended' })
      for (const { playerId, status, changedAt, until } of players) {
        const code = status === 'deleted' ? 'player_deleted' : 'player_banned'
        if (status === 'active') this.#ended.remove(playerId)
        else add(playerId, changedAt, { playerId, loginId: null, code }, until)
      }
    } else {
      this.#ended.forgetExpired(Date.now())
      this.#isCurrent = true
      this.#currentAt = performance.now()
      known()
    }
    this.#lastEventId = fieldOf(message, 'id') ?? this.#lastEventId
  }
}

const STREAM_TYPE = 'text/event-stream'
const CURRENT: ShapeOf<{ readonly environmentId: string }> = { members: { environmentId: 'string' } }

const fieldOf = (message: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1]

function checkOptions(given: { readonly [Name in keyof FollowOptions]?: unknown } = {}): void {
  const { key, onEnded = () => {}, onError = () => {}, silenceMs = 1 } = given
  refuseOptions([
    [typeof key === 'string' && VISIBLE.test(key), 'key', 'must be a server key such as twsrv_…'],
    [typeof onEnded === 'function', 'onEnded', 'must be a function'],
    [typeof onError === 'function', 'onError', 'must be a function'],
    [isTime(silenceMs), 'silenceMs', 'must be 1 to 2147483647'],
  ])
}
