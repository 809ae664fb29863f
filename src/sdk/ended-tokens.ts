/** Why a token is no longer accepted, though it has not expired. */
export type EndedCode = 'login_ended' | 'player_banned' | 'player_deleted'

const HOUR_MS = 3_600_000
/** An access token expires a day after its login has ended, at most. The rest allows for clocks that differ. */
const KEPT_HOURS = 25
/** About 100 MB. Of more, those that ended first are forgotten: their tokens have the least time left. */
const MOST = 1_000_000

/** The logins and players whose access tokens have ended before they expire. */
export class EndedTokens {
  readonly #most: number
  /** Codes by id, by the hour of their end, so that an hour is forgotten at once. */
  readonly #hours = new Map<number, Map<string, EndedCode>>()
  /** When the bans of players end, in milliseconds since 1970, of those that end. */
  readonly #untils = new Map<string, number>()
  #size = 0

  constructor(most = MOST) {
    this.#most = most
  }

  /** The ids in memory. */
  get size(): number {
    return this.#size
  }

  /** Why the tokens of a login or of a player have ended. Undefined while they are good. */
  codeOf(id: string): EndedCode | undefined {
    const until = this.#untils.get(id)
    return until !== undefined && until <= Date.now() ? undefined : this.#known(id)
  }

  #known(id: string): EndedCode | undefined {
    for (const ended of this.#hours.values()) {
      const code = ended.get(id)
      if (code !== undefined) return code
    }
    return undefined
  }

  /**
   * Notes the end of a login or a player, at a time in milliseconds since 1970, and for a ban the time of its own end, if
   * it has one. False if it was known.
   */
  add(id: string, code: EndedCode, endedAt: number, until: number | null = null): boolean {
    const isKnown = this.codeOf(id) === code
    if (!isKnown) this.remove(id)
    if (until === null) this.#untils.delete(id)
    else this.#untils.set(id, until)
    if (isKnown) return false
    const hour = Math.floor((Number.isNaN(endedAt) ? Date.now() : endedAt) / HOUR_MS)
    const ended = this.#hours.get(hour) ?? new Map<string, EndedCode>()
    this.#hours.set(hour, ended.set(id, code))
    this.#size += 1
    if (this.#size > this.#most) this.#removeFirst()
    return true
  }

  /** Notes that tokens of a player are good again. */
  remove(id: string): void {
    this.#untils.delete(id)
    for (const ended of this.#hours.values()) if (ended.delete(id)) this.#size -= 1
  }

  /** Forgets those whose tokens have expired. */
  forgetExpired(now: number): void {
    for (const [hour, ended] of this.#hours) {
      if ((hour + 1 + KEPT_HOURS) * HOUR_MS > now) continue
      this.#hours.delete(hour)
      this.#size -= ended.size
      if (this.#untils.size > 0) for (const id of ended.keys()) this.#untils.delete(id)
    }
  }

  #removeFirst(): void {
    const hour = Math.min(...this.#hours.keys())
    const ended = this.#hours.get(hour)
    for (const id of ended?.keys() ?? []) {
      this.remove(id)
      break
    }
    if (ended?.size === 0) this.#hours.delete(hour)
  }
}
