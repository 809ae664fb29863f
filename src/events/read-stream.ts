import type { Pool } from 'pg'
import type { StreamEvent } from './catalogue.ts'
import { EVENT_COLUMNS, eventOf } from './history.ts'

/** Positions of a page of a whole stream. */
export const PAGE = 500
/** Events of a page of one player. Small, since a player who takes only part of a page has it read again. */
export const PLAYER_PAGE = 128

/** The statements that follow streams. */
export interface StreamReader {
  /** The position of the last committed event; 0 before the first. */
  end(environmentId: string): Promise<bigint>
  /** The same for several environments. Those without events are missing. */
  ends(environmentIds: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** The events after a position up to another, which is included. */
  between(environmentId: string, after: bigint, end: bigint): Promise<StreamEvent[]>
  /** The events after a position, at most {@link PAGE}. */
  after(environmentId: string, after: bigint): Promise<StreamEvent[]>
  /** One player's events after a position up to another, which is included; at most {@link PLAYER_PAGE}. */
  ofPlayer(environmentId: string, playerId: string, after: bigint, end: bigint): Promise<StreamEvent[]>
  /** False once retention has removed the event at a position. */
  isKept(environmentId: string, position: bigint): Promise<boolean>
}

export function createStreamReader(pool: Pool): StreamReader {
  async function read(environmentId: string, name: string, where: string, values: unknown[]): Promise<StreamEvent[]> {
    const text = `SELECT ${EVENT_COLUMNS} FROM events WHERE environment_id = $1 AND ${where}`
    const { rows } = await pool.query({ name, text, values: [environmentId, ...values] })
    return rows.map((row) => eventOf(environmentId, row))
  }

  return {
    async end(environmentId) {
      const { rows } = await pool.query<{ position: string }>({
        name: 'stream-end',
        text: 'SELECT position FROM streams WHERE environment_id = $1',
        values: [environmentId],
      })
      return BigInt(rows[0]?.position ?? 0)
    },

    async ends(environmentIds) {
      const { rows } = await pool.query<{ environment_id: string; position: string }>({
        name: 'stream-ends',
        text: 'SELECT environment_id, position FROM streams WHERE environment_id = ANY($1::uuid[])',
        values: [environmentIds],
      })
      return new Map(rows.map((row) => [row.environment_id, BigInt(row.position)]))
    },

    between: (environmentId, after, end) =>
      read(environmentId, 'stream-between', 'position > $2 AND position <= $3 ORDER BY position', [after, end]),

    after: (environmentId, after) =>
      read(environmentId, 'stream-after', `position > $2 ORDER BY position LIMIT ${PAGE}`, [after]),

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
