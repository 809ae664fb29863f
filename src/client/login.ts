import { readAs } from './answers.ts'
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
  /** Another player has signed in in another tab. */
  | 'replaced'

export interface LoginOptions {
  readonly storage: Storage
  readonly storageKey: string
  readonly refresh: (refreshToken: string) => Promise<TokenPair>
  readonly signedOut: (why: SignedOut) => void
}

/** A pair of tokens, with the time of its receipt by the clocks of this device, which may be wrong. */
interface Login extends TokenPair {
  readonly playerId: string
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
  #refreshing: Promise<Login> | undefined
  #coolUntil = 0
  /** False when the storage has not accepted the login: the storage's content is then no change by another tab. */
  #isKept = true

  constructor(options: LoginOptions) {
    this.#options = options
    const { storage, storageKey } = options
    storage.watch?.(storageKey, () => void this.#hear())
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

  /** Signs in with a pair that has just arrived, and stores it. */
  async take(pair: TokenPair): Promise<void> {
    this.#loading = Promise.resolve()
    this.#keep(loginOf(pair))
    await this.#save()
  }

  /** A token for the next call. Rejects with `signed_out` when there is none. */
  async token(): Promise<string> {
    await this.restore()
    const login = this.#required()
    if (this.#remainingMs(login) > MARGIN_MS) return login.accessToken
    if (this.#remainingMs(login) > 0 && now() < this.#coolUntil) return login.accessToken
    try {
      return (await this.#refresh(login)).accessToken
    } catch (error) {
      if (this.#login !== login || this.#remainingMs(login) <= 0) throw error
      // The token is still valid. Calls go on, and a later one tries again.
      this.#coolUntil = now() + COOL_DOWN_MS
      return login.accessToken
    }
  }

  /** A new token, after the service has refused this one. */
  async replace(refused: string): Promise<string> {
    const login = this.#required()
    if (login.accessToken !== refused) return login.accessToken
    return (await this.#refresh(login)).accessToken
  }

  /** Forgets the login. Returns its refresh token, for the call that ends the login at the service. */
  async clear(): Promise<string | null> {
    await this.restore()
    const { refreshToken } = this.#login ?? { refreshToken: null }
    await this.#end('logout')
    return refreshToken
  }

  /** One refresh at a time for all calls. It belongs to no call, so no call's signal aborts it. */
  #refresh(stale: Login): Promise<Login> {
    this.#refreshing ??= this.#exchange(stale).finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
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
    if (this.#login !== stale) return this.#required()
    const login = loginOf(pair)
    this.#keep(login)
    await this.#save()
    return login
  }

  /** Takes over the login that another tab has stored since. Undefined when nothing is new. */
  async #adopt(stale: Login): Promise<Login | undefined> {
    const stored = this.#isKept ? await this.#read(stale) : stale
    if (this.#login !== stale) return this.#required()
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
  async #hear(): Promise<void> {
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
    await patient(() => this.#options.storage.remove(this.#options.storageKey)).catch(() => undefined)
    if (isSignedIn) this.#options.signedOut(why)
  }

  #forget(why: SignedOut): void {
    this.#login = null
    this.#options.signedOut(why)
  }

  #required(): Login {
    if (!this.#login) throw signedOut()
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

  /** A login that cannot be stored lasts as long as the page. */
  async #save(): Promise<void> {
    const { storage, storageKey } = this.#options
    const text = JSON.stringify(this.#login)
    const keep = () => patient(() => storage.set(storageKey, text))
    // When the storage has no room for the new pair, the old one is removed: it is used up.
    const keepInstead = () => patient(() => storage.remove(storageKey)).then(keep)
    this.#isKept = await keep()
      .catch(keepInstead)
      .then(
        () => true,
        () => false,
      )
  }
}

const now = (): number => performance.now()

function signedOut(cause?: unknown): TierwayError {
  return new TierwayError({ code: 'signed_out', status: 401, cause })
}

function loginOf({ accessToken, refreshToken }: TokenPair): Login {
  const { sub, iat, exp } = claimsOf(accessToken)
  const lifetimeMs = iat !== undefined && exp !== undefined ? (exp - iat) * 1_000 : DAY_MS
  return { accessToken, refreshToken, playerId: sub ?? '', receivedAt: Date.now(), lifetimeMs }
}

/** The claims of an access token. They are not verified here: the service verifies each token that it receives. */
function claimsOf(token: string): { sub?: string; iat?: number; exp?: number } {
  try {
    return JSON.parse(atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/')))
  } catch {
    return {}
  }
}
