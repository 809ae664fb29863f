import { invalidAnswer, readAs } from './answers.ts'
import type { TokenPair } from './contract.ts'
import { TierwayError } from './error.ts'
import type { ShapeOf } from './shape.ts'
import { patient, type Storage } from './storage.ts'

/** The reason why no player is signed in any more. */
export type SignedOut =
  /** `logout` was called, here or in another tab. */
  | 'logout'
  /** The login has ended: it was revoked, or its refresh token has expired. */
  | 'expired'
  /** Another player has signed in, here or in another tab. */
  | 'replaced'

export interface LoginOptions {
  readonly storage: Storage
  readonly storageKey: string
  readonly refresh: (refreshToken: string) => Promise<TokenPair>
  readonly signedOut: (why: SignedOut) => void
}

/** The access token of a player. */
export interface Token {
  readonly accessToken: string
  readonly playerId: string
}

/** A pair of tokens, with the time of its receipt by the clocks of this device, which may be wrong. */
interface Login extends TokenPair, Token {
  /** `Date.now()` at receipt. */
  readonly receivedAt: number
  /** How long the access token lives from its receipt, in milliseconds. */
  readonly lifetimeMs: number
}

const LOGIN: ShapeOf<Login> = {
  members: {
    accessToken: 'string',
    refreshToken: 'string',
    playerId: 'string',
    receivedAt: 'integer',
    lifetimeMs: 'integer',
  },
}

/** An access token is replaced when it has this long to live, so that no call arrives after its end. */
const MARGIN_MS = 90_000
/** After a failed refresh, while the access token is still valid, the next attempt waits this long. */
const COOL_DOWN_MS = 60_000
const DAY_MS = 86_400_000

/**
 * The login of a player: its tokens, kept in the storage. Tabs that share a storage share the login, without a lock:
 * each reads the storage again before it refreshes, and the service answers the same pair to tabs that come less than
 * ten seconds later.
 */
export class PlayerLogin {
  readonly #options: LoginOptions
  #login: Login | null = null
  /**
   * `performance.now()` at receipt, for a pair that arrived in this page. Setting the device's clock does not affect
   * it.
   */
  #receivedTick: number | undefined
  #loading: Promise<void> | undefined
  /** The exchange under way, and the login that it is for. */
  #refreshing: { readonly stale: Login; readonly renewed: Promise<Login> } | undefined
  /** The last access to the storage that changes it. They take turns, so that the newest login is stored last. */
  #storing: Promise<unknown> = Promise.resolve()
  #coolUntil = 0
  /** False when the storage has not accepted the login: the storage's content is then no change by another tab. */
  #isKept = true

  constructor(options: LoginOptions) {
    this.#options = options
    const { storage, storageKey } = options
    storage.watch?.(storageKey, () => void this.#take())
  }

  /** The player's id; null when no player is signed in. Known after a call or after `restore`. */
  get playerId(): string | null {
    return this.#login?.playerId ?? null
  }

  /** Loads the stored login, once. */
  restore(): Promise<void> {
    this.#loading ??= this.#read().then((login) => {
      this.#login ??= login
    })
    return this.#loading
  }

  /**
   * Signs in with a pair that has just arrived, and stores it. Another player is signed out before. Returns that
   * player's refresh token, for the call that ends the login at the service.
   */
  async take(pair: TokenPair): Promise<string | null> {
    await this.restore()
    const login = loginOf(pair)
    const former = this.#login
    const isReplaced = former !== null && former.playerId !== login.playerId
    if (isReplaced) this.#forget('replaced')
    this.#keep(login)
    await this.#store()
    return isReplaced ? former.refreshToken : null
  }

  /** A token for the next call. Rejects with `signed_out` when there is none. */
  async token(): Promise<Token> {
    await this.restore()
    const login = this.#required()
    if (this.#remainingMs(login) > MARGIN_MS) return login
    if (this.#remainingMs(login) > 0 && now() < this.#coolUntil) return login
    try {
      return await this.#refresh(login)
    } catch (error) {
      if (this.#login !== login || this.#remainingMs(login) <= 0) throw error
      // The token is still valid. Calls go on, and a later one tries again.
      this.#coolUntil = now() + COOL_DOWN_MS
      return login
    }
  }

  /** A new token of the same player, after the service has refused this one. */
  async replace(refused: Token): Promise<Token> {
    const login = this.#required(refused)
    return login.accessToken === refused.accessToken ? this.#refresh(login) : login
  }

  /** Forgets the login. Returns its refresh token, for the call that ends the login at the service. */
  async clear(): Promise<string | null> {
    await this.restore()
    const { refreshToken } = this.#login ?? { refreshToken: null }
    await this.#end('logout')
    return refreshToken
  }

  /** One refresh at a time for all calls of a login. It belongs to no call, so no call's signal aborts it. */
  #refresh(stale: Login): Promise<Login> {
    if (this.#refreshing?.stale === stale) return this.#refreshing.renewed
    const renewed = this.#exchange(stale).finally(() => {
      if (this.#refreshing?.stale === stale) this.#refreshing = undefined
    })
    this.#refreshing = { stale, renewed }
    return renewed
  }

  async #exchange(stale: Login): Promise<Login> {
    const found = await this.#adopt(stale)
    if (found) return found
    let pair: TokenPair
    try {
      pair = await this.#options.refresh(stale.refreshToken)
    } catch (error) {
      if (!TierwayError.is(error) || error.code !== 'invalid_token') throw error
      // Another tab may have been faster.
      const winner = await this.#adopt(stale)
      if (winner) return winner
      if (this.#login === stale) await this.#end('expired')
      throw signedOut(error)
    }
    // The player may have signed out or in while the refresh was under way.
    if (this.#login !== stale) return this.#required(stale)
    const login = loginOf(pair)
    this.#keep(login)
    await this.#store()
    return login
  }

  /** Takes over the login that another tab has stored since. Undefined when nothing is new. */
  async #adopt(stale: Login): Promise<Login | undefined> {
    const stored = this.#isKept ? await this.#read(stale) : stale
    if (this.#login !== stale) return this.#required(stale)
    if (stored && stored.refreshToken === stale.refreshToken) return undefined
    if (stored?.playerId === stale.playerId) {
      this.#login = stored
      this.#receivedTick = undefined
      return stored
    }
    this.#forget(stored ? 'replaced' : 'logout')
    throw signedOut()
  }

  /**
   * Another tab has changed the stored login. A logout there signs out here, too, even while the access token is valid.
   */
  async #take(): Promise<void> {
    if (this.#login) await this.#adopt(this.#login).catch(() => undefined)
  }

  #keep(login: Login): void {
    this.#login = login
    this.#receivedTick = performance.now()
    this.#coolUntil = 0
  }

  async #end(why: SignedOut): Promise<void> {
    const isSignedIn = this.#login !== null
    this.#login = null
    await this.#store()
    if (isSignedIn) this.#options.signedOut(why)
  }

  #forget(why: SignedOut): void {
    this.#login = null
    this.#options.signedOut(why)
  }

  /** The present login. With a token: of the same player, so that no call is made for another one. */
  #required(of?: Token): Login {
    if (!this.#login || (of && of.playerId !== this.#login.playerId)) throw signedOut()
    return this.#login
  }

  /** Uses the clock that shows more elapsed time: a clock may have been stopped or set back. */
  #remainingMs({ receivedAt, lifetimeMs }: Login): number {
    const byDate = Date.now() - receivedAt
    const passed = this.#receivedTick === undefined ? byDate : Math.max(byDate, performance.now() - this.#receivedTick)
    // A date before the receipt is wrong: the token counts as expired.
    return passed < 0 ? 0 : lifetimeMs - passed
  }

  /** The stored login; `otherwise` when the storage cannot be read, or has something else. */
  async #read(otherwise: Login | null = null): Promise<Login | null> {
    try {
      const text = await patient(() => this.#options.storage.get(this.#options.storageKey))
      return text ? readAs(LOGIN, JSON.parse(text)) : null
    } catch {
      return otherwise
    }
  }

  /** Stores the login that is present when it is its turn. */
  #store(): Promise<void> {
    const stored = this.#storing.then(() => this.#storeNow())
    this.#storing = stored
    return stored
  }

  /** A login that cannot be stored lasts as long as the page. */
  async #storeNow(): Promise<void> {
    const { storage, storageKey } = this.#options
    const remove = () => patient(() => storage.remove(storageKey))
    if (!this.#login) return void (await remove().catch(() => undefined))
    const text = JSON.stringify(this.#login)
    const keep = () => patient(() => storage.set(storageKey, text))
    // When the storage has no room for the new pair, the old one is removed: it is used up.
    const keepInstead = () => remove().then(keep)
    this.#isKept = await keep()
      .catch(keepInstead)
      .then(
        () => true,
        () => false,
      )
  }
}

const now = (): number => performance.now()

export function signedOut(cause?: unknown): TierwayError {
  return new TierwayError({ code: 'signed_out', status: 401, cause })
}

function loginOf({ accessToken, refreshToken }: TokenPair): Login {
  const { sub, iat, exp } = claimsOf(accessToken)
  if (!sub) throw invalidAnswer('the answer did not come from the service: its token names no player')
  const lifetimeMs = iat !== undefined && exp !== undefined ? (exp - iat) * 1_000 : DAY_MS
  return { accessToken, refreshToken, playerId: sub, receivedAt: Date.now(), lifetimeMs }
}

/** The claims of an access token. They are not verified here: the service verifies each token that it receives. */
function claimsOf(token: string): { sub?: string; iat?: number; exp?: number } {
  try {
    return JSON.parse(atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/')))
  } catch {
    return {}
  }
}
