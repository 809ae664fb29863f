import type { Pool } from 'pg'
import { Refusal } from '../errors.ts'
import { isUuid } from '../limits.ts'
import type { PlayerRef, Status } from './standing.ts'

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
  /** A player's id, the beginning of a nickname in any letter case, or a subject. */
  readonly text: string | null
  /** The text is a subject of this provider, such as `custom`, and nothing else. */
  readonly provider?: string | null
  readonly status: Status | null
}

/** A page of a list of players, the newest first. */
export interface PlayerPage {
  /** The id before which the page begins. */
  readonly after: string | null
  readonly limit: number
}

/** As they stand in the database, whatever a caller says that it is. */
const STATUSES = { active: 'active', banned: 'banned', deleted: 'deleted' } as const satisfies Record<Status, Status>

/** Up to so many names are put in order. Of more of them, the newest are soon met by looking through the newest players. */
const NAMES = 10_000
/** How many of the newest are looked through. */
const PLAYERS = 20_000
const ALL_NAMES = 2 ** 40
/** What an index has of nicknames that it has no room for, and how much of that surely is the beginning of the whole. */
const LONG = 'fold_name(left(n.nickname, 128))'
const LONG_START = 24

/** The ids of the players that a search finds, the newest first: ids are in the order of time. */
export async function searchPlayers(pool: Pool, search: PlayerSearch, page: PlayerPage): Promise<string[]> {
  const { environmentId, text, provider = null, status } = search
  const values: unknown[] = [environmentId]
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const after = page.after === null ? null : parameter(page.after)
  const among = (player: string): string =>
    [
      `${player}.environment_id = $1`,
      // Written out, since an index that has the few who may not play is of use only to whoever asks for them.
      ...(status === null ? [] : [`${player}.status = '${STATUSES[status]}'`]),
      ...(after === null ? [] : [`${player}.id < ${after}::uuid`]),
    ].join(' AND ')
  const newest = `ORDER BY p.id DESC LIMIT ${page.limit}`
  if (text === null) return readIds(pool, `SELECT p.id FROM players p WHERE ${among('p')} ${newest}`, values)

  const start = `${parameter(text)}::text`
  const bySubject = `SELECT i.player_id FROM identities i WHERE i.environment_id = $1 AND i.subject = ${start}`
  if (provider !== null) {
    const owner = `p.id IN (${bySubject} AND i.provider = ${parameter(provider)})`
    return readIds(pool, `SELECT p.id FROM players p WHERE ${among('p')} AND ${owner} ${newest}`, values)
  }
  // Folded once, not for each player.
  const asked = `asked AS MATERIALIZED (
    SELECT fold_name(${start}) AS low, fold_name(${parameter(`${text}\u{10ffff}`)}::text) AS high
  )`
  // By ranges of bytes, which the index serves whatever the plan.
  const named = (player: string): string => `fold_name(${player}.nickname) ~>=~ (SELECT low FROM asked)
    AND fold_name(${player}.nickname) ~<~ (SELECT high FROM asked)`
  // Studios may call their players by such ids, too.
  const byId = isUuid(text) ? `SELECT (${start})::uuid UNION ALL ` : ''
  const exact = `p.id IN (${byId}${bySubject})`
  const byName = async (most: number): Promise<string[] | null> => {
    const { rows } = await pool.query<{ ids: string[] | null }>(
      `WITH ${asked}, named AS MATERIALIZED (
         (SELECT n.id FROM players n WHERE ${among('n')} AND octet_length(n.nickname) <= 512 AND ${named('n')}
          ORDER BY fold_name(n.nickname) USING ~<~ LIMIT ${most + 1})
         UNION ALL
         (SELECT n.id FROM players n WHERE ${among('n')} AND octet_length(n.nickname) > 512 AND ${named('n')}
            AND ${LONG} ~>=~ (SELECT left(low, ${LONG_START}) FROM asked)
            AND ${LONG} ~<~ (SELECT left(low, ${LONG_START}) || chr(1114111) FROM asked)
          ORDER BY ${LONG} USING ~<~ LIMIT ${most + 1})
       )
       SELECT CASE WHEN (SELECT count(*) FROM named) <= ${most} THEN ARRAY (
         SELECT p.id FROM (
           SELECT id FROM named UNION SELECT p.id FROM players p WHERE ${among('p')} AND ${exact}
         ) p ${newest}
       ) END AS ids`,
      values,
    )
    return rows[0]?.ids ?? null
  }
  const few = await byName(NAMES)
  if (few) return few
  const found = await readIds(
    pool,
    `WITH ${asked} SELECT p.id FROM (
       SELECT id, nickname FROM players p WHERE ${among('p')} ORDER BY p.id DESC LIMIT ${PLAYERS}
     ) p WHERE (${named('p')}) OR ${exact} ${newest}`,
    values,
  )
  // Unless all of them are old: then their names are put in order, however many they are.
  return found.length === page.limit ? found : ((await byName(ALL_NAMES)) ?? [])
}

async function readIds(pool: Pool, text: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(text, [...values])
  return rows.map(({ id }) => id)
}
