import type { Pool } from 'pg'
import { Refusal } from '../errors.ts'
import type { PlayerRef } from './standing.ts'

/** A player of a project, by its id. That another project has it is not to be told from nobody having it. */
export async function findPlayer(pool: Pool, projectId: string, playerId: string): Promise<PlayerRef> {
  const { rows } = await pool.query<{ environment_id: string; id: string }>({
    name: 'player-of-project',
    text: `SELECT p.environment_id, p.id FROM environments e CROSS JOIN LATERAL (
        SELECT environment_id, id FROM players p WHERE p.environment_id = e.id AND p.id = $2 LIMIT 1
      ) p WHERE e.project_id = $1`,
    values: [projectId, playerId],
  })
  const [found] = rows
  if (!found) throw new Refusal('playerNotFound')
  return { environmentId: found.environment_id, playerId: found.id }
}

export interface PlayerSearch {
  readonly environmentId: string
  /** A player's id, the beginning of a nickname in any case of the letters a to z, or a subject. */
  readonly text: string | null
  readonly status: string | null
}

/** A page of a list of players, the newest first. */
export interface PlayerPage {
  /** The id before which the page begins. */
  readonly after: string | null
  readonly limit: number
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The ids of the players that a search finds, the newest first: ids are in the order of time. */
export async function searchPlayers(pool: Pool, search: PlayerSearch, page: PlayerPage): Promise<string[]> {
  const { environmentId, text, status } = search
  const values: unknown[] = [environmentId]
  const conditions = ['p.environment_id = $1']
  const parameter = (value: unknown): string => `$${values.push(value)}`
  if (text !== null) conditions.push(matching(text, parameter))
  if (status !== null) conditions.push(`p.status = ${parameter(status)}`)
  if (page.after !== null) conditions.push(`p.id < ${parameter(page.after)}`)
  const { rows } = await pool.query<{ id: string }>(
    `SELECT p.id FROM players p WHERE ${conditions.join(' AND ')} ORDER BY p.id DESC LIMIT ${page.limit}`,
    values,
  )
  return rows.map(({ id }) => id)
}

function matching(text: string, parameter: (value: unknown) => string): string {
  const start = `${parameter(text)}::text`
  const end = `${parameter(`${text}\u{10ffff}`)}::text`
  // Studios may call their players by such ids, too.
  const byId = UUID.test(text) ? `SELECT (${start})::uuid UNION ALL ` : ''
  // By ranges of bytes, which the index serves whatever the plan; then what either finds, by its key.
  return `p.id IN (
    ${byId}SELECT n.id FROM players n WHERE n.environment_id = $1
      AND lower(n.nickname) ~>=~ lower(${start}) AND lower(n.nickname) ~<~ lower(${end})
    UNION ALL
    SELECT i.player_id FROM identities i WHERE i.environment_id = $1 AND i.subject = ${start}
  )`
}
