import type { Pool } from 'pg'
import type { StreamEvent } from './catalogue.ts'
import type { StreamPoint } from './cursor.ts'
import { END_COLUMNS, type EndRow, endOf, eventOf, isOfHistory, SELECTED_EVENT } from './history.ts'

/** Positions of a page of a whole stream. */
export const PAGE = 500
/** Events of a page of one player. Small, since a page is read again when a player takes only part of it. */
export const PLAYER_PAGE = 128

export interface StreamReader {
  /** The last committed event; position 0 before the first. */
  end(environmentId: string): Promise<StreamPoint>
  /** The same for several environments. Those without a stream are missing. */
  ends(environmentIds: readonly string[]): Promise<ReadonlyMap<string, StreamPoint>>
  /** False when the stream, which ends at `end`, has another event at the position of a point. */
  isOfHistory(environmentId: string, end: StreamPoint, point: StreamPoint): Promise<boolean>
  /** The events after one position, up to and including another. */
  between(environmentId: string, after: bigint, end: bigint): Promise<StreamEvent[]>
  /** The events from a position on, at most {@link PAGE} and one. */
  from(environmentId: string, position: bigint): Promise<StreamEvent[]>
  /** One player's events after one position, up to and including another; at most {@link PLAYER_PAGE}. */
  ofPlayer(environmentId: string, playerId: string, after: bigint, end: bigint): Promise<StreamEvent[]>
  /** False once retention has removed the event at a position. */
  isKept(environmentId: string, position: bigint): Promise<boolean>
}

export function createStreamReader(pool: Pool): StreamReader {
  async function read(environmentId: string, name: string, where: string, values: unknown[]): Promise<StreamEvent[]> {
    const text = `SELECT ${SELECTED_EVENT} FROM events WHERE environment_id = $1 AND ${where}`
    const { rows } = await pool.query({ name, text, values: [environmentId, ...values] })
    return rows.map((row) => eventOf(environmentId, row))
  }

  async function ends(environmentIds: readonly string[]): Promise<Map<string, StreamPoint>> {
    const { rows } = await pool.query<EndRow & { environment_id: string }>({
      name: 'stream-ends',
      text: `SELECT environment_id, ${END_COLUMNS} FROM streams WHERE environment_id = ANY($1::uuid[])`,
      values: [environmentIds],
    })
    return new Map(rows.map((row) => [row.environment_id, endOf(row)]))
  }

  return {
    async end(environmentId) {
      return (await ends([environmentId])).get(environmentId) ?? { position: 0n, at: null }
    },

    ends,

    isOfHistory: (environmentId, end, point) => isOfHistory(pool, environmentId, end, point),

    between: (environmentId, after, end) =>
      read(environmentId, 'stream-between', 'position > $2 AND position <= $3 ORDER BY position', [after, end]),

    from: (environmentId, position) =>
      read(environmentId, 'stream-from', `position >= $2 ORDER BY position LIMIT ${PAGE + 1}`, [position]),

    ofPlayer: (environmentId, playerId, after, end) =>
      read(
        environmentId,
        'stream-of-player',
        `player_id = $2 AND position > $3 AND position <= $4 ORDER BY position LIMIT ${PLAYER_PAGE}`,
        [playerId, after, end],
      ),

    async isKept(environmentId, position) {
      const { rowCount } = await pool.query({
        name: 'stream-is-kept',
        text: 'SELECT FROM events WHERE environment_id = $1 AND position = $2',
        values: [environmentId, position],
      })
      return rowCount === 1
    },
  }
}
