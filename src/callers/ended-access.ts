import type { Pool } from 'pg'
import { repeatInBackground } from '../base/background.ts'
import { purge } from '../db/purge.ts'
import { type EndedRow, type Place, readEnded, startAfter } from './ended-rows.ts'
import { ACCESS_TOKEN_SECONDS } from './tokens.ts'

/**
 * Access that ended recently: by a logout, a reused refresh token, support, a ban or a deletion, on any instance or by
 * hand in psql. Read from Postgres once a second, so that no signal can be lost.
 */
export interface EndedAccess {
  /**
   * The ids of the logins that had ended at the last read. Their access tokens end with them. Access tokens of a deleted
   * player do not: a call with one of them answers that the player is deleted.
   */
  readonly logins: Pick<ReadonlySet<string>, 'has' | 'size'>
  /** Calls `listener` after each read with the players whose access ended since the previous one. */
  onLook(listener: (playerIds: readonly string[]) => Promise<void>): void
  /**
   * Calls `listener` with the rows of each read, in pages, and with the place behind the last page; null for other pages.
   * A row may come several times.
   */
  onRows(listener: (rows: readonly EndedRow[], place: Place | null) => void): void
  /** Reads for the first time, and from then on every second. */
  start(): Promise<void>
  close(): void
}

export interface EndedAccessOptions {
  readonly pool: Pool
  /** Milliseconds between two reads. Default: 1,000. */
  readonly lookMs?: number
  /** Called when the database could not be read. The next read tries again. */
  readonly onError?: (error: unknown) => void
  /** Called with the database's clock at each read, and how long the read took in milliseconds. */
  readonly onClock?: (now: Date, roundTripMs: number) => void
  /** Called at the first successful read after failed ones, with the length of the outage. */
  readonly onBack?: (milliseconds: number) => void
}

/** An access token expires at most a day after its login has ended. The rest allows for clocks that differ. */
const KEPT_SECONDS = ACCESS_TOKEN_SECONDS + 3_600

export function createEndedAccess({
  pool,
  lookMs = 1_000,
  onError = () => {},
  onClock = () => {},
  onBack = () => {},
}: EndedAccessOptions): EndedAccess {
  /** Ended logins with the time when they were read, in milliseconds since 1970, oldest first. */
  const logins = new Map<string, number>()
  const listeners: ((playerIds: readonly string[]) => Promise<void>)[] = []
  const rowListeners: ((rows: readonly EndedRow[], place: Place | null) => void)[] = []
  /** Where the last read ended. Null before the first read. */
  let place: Place | null = null
  /** The time since which no read has succeeded. */
  let awaySince: number | null = null

  async function read(): Promise<readonly string[]> {
    const before = place
    const players = new Set<string>()
    // A standby that lagged may have taken over during an outage, or unnoticed between two reads.
    const next = before !== null && awaySince === null ? await take(before.xid, players) : null
    const end = next ?? (await take(await startAfter(pool, before), players))
    if (end === null) throw new Error('the database has gone back during a read')
    place = end
    const oldest = Date.now() - KEPT_SECONDS * 1_000
    for (const [loginId, readAt] of logins) {
      if (readAt > oldest) break
      logins.delete(loginId)
    }
    // Nothing was open before the first read.
    return before === null ? [] : [...players]
  }

  /** Takes all rows from this transaction on, and adds their players. Null for a database that has not come so far. */
  async function take(from: bigint, players: Set<string>): Promise<Place | null> {
    let began: number | undefined = performance.now()
    let end: Place | null = null
    for await (const { rows, place: behind, isLast } of readEnded(pool, from)) {
      if (behind.xid < from) return null
      if (began !== undefined) onClock(behind.at, performance.now() - began)
      began = undefined
      keep(rows)
      for (const { playerId } of rows) players.add(playerId)
      for (const listener of rowListeners) listener(rows, isLast ? behind : null)
      end = behind
    }
    return end
  }

  function keep(rows: readonly EndedRow[]): void {
    const now = Date.now()
    for (const { loginId, status } of rows)
      if (loginId !== null && status !== 'deleted' && !logins.has(loginId)) logins.set(loginId, now)
  }

  async function look(): Promise<void> {
    try {
      const playerIds = await read()
      if (awaySince !== null) onBack(performance.now() - awaySince)
      awaySince = null
      notify(playerIds)
    } catch (error) {
      awaySince ??= performance.now()
      onError(error)
      notify([])
    }
  }

  const looking = repeatInBackground({ work: look, onError, everyMs: lookMs })

  /** Listeners may be slow. The next read does not wait for them. */
  function notify(playerIds: readonly string[]): void {
    for (const listener of listeners) listener(playerIds).catch(onError)
  }

  return {
    logins,
    onLook: (listener) => listeners.push(listener),
    onRows: (listener) => rowListeners.push(listener),
    async start() {
      await look()
      looking.start()
    },
    close: () => void looking.stop(),
  }
}

/** Removes rows that no instance needs. */
export const purgeEndedAccess = (pool: Pool): Promise<number> =>
  purge(pool, 'ended_access', `ended_at < now() - interval '${KEPT_SECONDS} seconds'`)
