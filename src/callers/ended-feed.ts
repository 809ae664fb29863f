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
/** After this many reads without a message, a follower is told that it is up to date. */
const QUIET_READS = 5

interface Follower {
  readonly environmentId: string
  isEnded: boolean
  wake(): void
}

export function createEndedFeed({ pool, ended, watch, limits }: EndedFeedOptions): EndedFeed {
  const followers = new Set<Follower>()
  /** The last rows, in pages, and the number of the first of these pages since the start. */
  const pages: (readonly EndedRow[])[] = []
  let first = 0
  let rowCount = 0
  /** The place behind all reads, and how many there were. */
  let place: Place | null = null
  let reads = 0

  function forgetOld(): void {
    while (rowCount > KEPT_ROWS || (followers.size === 0 && pages.length > 0)) {
      rowCount -= pages.shift()?.length ?? 0
      first += 1
    }
  }

  ended.onRows((rows, end) => {
    if (rows.length > 0) pages.push(rows)
    rowCount += rows.length
    forgetOld()
    if (end === null) return
    place = end
    reads += 1
    for (const follower of followers) follower.wake()
  })

  async function* messages(follower: Follower, known: Place | null): AsyncGenerator<string, void> {
    const { environmentId } = follower
    let since = known
    let next = -1
    let toldAt = reads
    while (!follower.isEnded) {
      if (next < first) {
        // What is committed from now on is in later pages.
        next = first + pages.length
        for await (const page of readEnded(pool, await startAfter(pool, since), environmentId)) {
          since = page.place
          if (page.rows.length > 0) yield endedMessage(environmentId, page.rows, since)
          if (follower.isEnded) return
        }
        toldAt = reads
        yield message('current', since, { environmentId })
        continue
      }
      const rows = pages
        .slice(next - first)
        .flatMap((page) => page.filter((row) => row.environmentId === environmentId))
      next = first + pages.length
      since = place ?? since
      if (rows.length > 0) yield endedMessage(environmentId, rows, since)
      else if (reads - toldAt >= QUIET_READS) {
        toldAt = reads
        yield message('current', since, { environmentId })
      } else
        await new Promise<void>((resolve) => {
          follower.wake = resolve
        })
    }
  }

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
      return messages(follower, parsePlace(lastEventId))
    },
    get size() {
      return followers.size
    },
    close() {
      for (const follower of followers) end(follower)
    },
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
