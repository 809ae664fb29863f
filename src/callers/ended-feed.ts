import type { Pool } from 'pg'
import type { ConnectionLimits } from '../base/rate-limits/connection-limits.ts'
import type { AccessWatch } from './access-watch.ts'
import type { ServerCaller } from './callers.ts'
import type { EndedAccess } from './ended-access.ts'
import { type EndedRow, type Place, parsePlace, placeText, readEnded, startAfter } from './ended-rows.ts'

/** Tells game servers which logins of their environment have ended, so that they refuse their access tokens, too. */
export interface EndedFeed {
  /**
   * The messages of a follower, as server-sent events: first all that ended within the life of an access token, or since
   * its last event, and then what ends, within two seconds. They end when the key is revoked. Refuses when too many
   * streams are open.
   */
  follow(caller: ServerCaller, request: FollowRequest): AsyncIterable<string>
  readonly size: number
  close(): void
}

export interface FollowRequest {
  /** The client's address, whose streams are limited. */
  readonly address: string
  /** The id of the last event that the follower has. Empty for none. */
  readonly lastEventId: string
  readonly closed: AbortSignal
}

export interface EndedFeedOptions {
  readonly pool: Pool
  readonly ended: Pick<EndedAccess, 'onRows'>
  readonly watch: Pick<AccessWatch, 'watch'>
  readonly limits: ConnectionLimits
}

/** Rows in memory for all followers. One that has fallen behind them reads from Postgres. */
const KEPT_ROWS = 10_000
/** After this many reads without a message, a follower is notified that it is up to date. */
const QUIET_READS = 5

interface Follower {
  readonly environmentId: string
  isEnded: boolean
  wake(): void
}

export function createEndedFeed({ pool, ended, watch, limits }: EndedFeedOptions): EndedFeed {
  const followers = new Set<Follower>()
  const recent = new RecentRows()

  ended.onRows((rows, end) => {
    recent.add(rows, end, followers.size > 0)
    if (end === null) return
    for (const follower of followers) follower.wake()
  })

  function end(follower: Follower): void {
    follower.isEnded = true
    follower.wake()
  }

  return {
    follow(caller, { address, lastEventId, closed }) {
      const release = limits.holdAll([
        ['caller_sockets', caller.keyId],
        ['sockets', address],
      ])
      const follower: Follower = { environmentId: caller.environmentId, isEnded: false, wake() {} }
      followers.add(follower)
      const unwatch = watch.watch(caller, () => end(follower))
      const leave = (): void => {
        end(follower)
        followers.delete(follower)
        unwatch()
        release()
      }
      if (closed.aborted) leave()
      else closed.addEventListener('abort', leave, { once: true })
      return messages(pool, recent, follower, parsePlace(lastEventId))
    },
    get size() {
      return followers.size
    },
    close() {
      for (const follower of followers) end(follower)
    },
  }
}

/** The last rows, in pages, for all followers. The pages are numbered since the start. */
class RecentRows {
  /** The place behind all reads, and how many there were. */
  place: Place | null = null
  reads = 0
  /** The number of the first page that is kept. */
  first = 0
  private readonly pages: (readonly EndedRow[])[] = []
  private rowCount = 0

  /** The number of the next page. */
  get next(): number {
    return this.first + this.pages.length
  }

  /** Adds what a read has found, up to its end, if it has reached one. Without followers nothing is kept. */
  add(rows: readonly EndedRow[], end: Place | null, isFollowed: boolean): void {
    if (rows.length > 0) this.pages.push(rows)
    this.rowCount += rows.length
    while (this.rowCount > KEPT_ROWS || (!isFollowed && this.pages.length > 0)) {
      this.rowCount -= this.pages.shift()?.length ?? 0
      this.first += 1
    }
    if (end === null) return
    this.place = end
    this.reads += 1
  }

  /** The rows of an environment from a page on. */
  from(page: number, environmentId: string): EndedRow[] {
    return this.pages
      .slice(page - this.first)
      .flatMap((rows) => rows.filter((row) => row.environmentId === environmentId))
  }
}

async function* messages(
  pool: Pool,
  recent: RecentRows,
  follower: Follower,
  known: Place | null,
): AsyncGenerator<string, void> {
  const { environmentId } = follower
  let since = known
  let next = -1
  let toldAt = recent.reads
  while (!follower.isEnded) {
    if (next < recent.first) {
      // What is committed from now on is in later pages.
      next = recent.next
      for await (const page of readEnded(pool, await startAfter(pool, since), environmentId)) {
        since = page.place
        if (page.rows.length > 0) yield endedMessage(environmentId, page.rows, since)
        if (follower.isEnded) return
      }
      toldAt = recent.reads
      yield message('current', since, { environmentId })
      continue
    }
    const rows = recent.from(next, environmentId)
    next = recent.next
    since = recent.place ?? since
    if (rows.length > 0) yield endedMessage(environmentId, rows, since)
    else if (recent.reads - toldAt >= QUIET_READS) {
      toldAt = recent.reads
      yield message('current', since, { environmentId })
    } else
      await new Promise<void>((resolve) => {
        follower.wake = resolve
      })
  }
}

/** A server-sent event. Its id is the place from which its follower would go on. */
function message(event: 'ended' | 'current', place: Place | null, data: object): string {
  const id = place === null ? '' : `id: ${placeText(place)}\n`
  return `${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

const untilOf = ({ bannedUntil }: EndedRow): string | null =>
  bannedUntil === null ? null : new Date(bannedUntil).toISOString()

function endedMessage(environmentId: string, rows: readonly EndedRow[], place: Place | null): string {
  const at = (row: EndedRow): string => new Date(row.endedAt).toISOString()
  return message('ended', place, {
    environmentId,
    logins: rows.flatMap((row) =>
      row.loginId === null ? [] : [{ loginId: row.loginId, playerId: row.playerId, endedAt: at(row) }],
    ),
    players: rows.flatMap((row) =>
      row.loginId === null
        ? [{ playerId: row.playerId, status: row.status ?? 'deleted', changedAt: at(row), until: untilOf(row) }]
        : [],
    ),
  })
}
