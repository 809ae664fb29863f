import type { Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { writeAudit } from '../audit/audit-log.ts'
import type { PlatformCaller } from '../auth/callers.ts'
import { requireKey } from '../auth/keys.ts'
import { type Json, print } from '../json.ts'
import type { ProfileRow } from '../players/read-player.ts'
import { type FoundPlayers, type PlayerSearch, searchPlayers } from './search-players.ts'
import type { ListPosition } from './statements.ts'

/** Players that are read at once. No connection of the database is held while they are sent. */
const PAGE = 500

export interface Export {
  readonly caller: PlatformCaller
  readonly search: PlayerSearch
  /** The filters of the request, as the audit log keeps them. */
  readonly filters: Json
  /** The name of the environment. */
  readonly environment: string
  readonly reason: string | null
}

interface Row extends ProfileRow {
  readonly id: string
  readonly logged_in_at: Date | null
  readonly level: number | null
  readonly xp: string | null
  readonly premium_owned: boolean | null
}

/**
 * The players of a list, the newest first, as pages of lines; each line is a JSON object. The promise resolves after
 * the first page is read and the audit entry is written, so that a refusal comes before any line. The iteration throws
 * when a later page cannot be read or the caller's key or token has ended.
 */
export async function exportPlayers(pool: Pool, asked: Export): Promise<AsyncIterable<string>> {
  const { caller, search, filters, environment, reason } = asked
  const first = await searchPlayers(pool, search, { after: null, limit: PAGE })
  const { environmentId } = search
  const entry = { action: ACTIONS.exportPlayers, target: environment, before: null, after: filters }
  await writeAudit(pool, caller, { ...entry, environmentId, reason })
  return pagesOf(pool, asked, first)
}

async function* pagesOf(pool: Pool, { caller, search }: Export, first: FoundPlayers): AsyncGenerator<string> {
  for (let found = first; ; ) {
    const { positions, stoppedAt } = found
    if (positions.length > 0) yield await linesOf(pool, search, positions)
    const after = stoppedAt ?? (positions.length === PAGE ? positions.at(-1) : undefined)
    if (!after) return
    await requireKey(pool, caller)
    found = await searchPlayers(pool, search, { after, limit: PAGE })
  }
}

async function linesOf(pool: Pool, { environmentId, pass }: PlayerSearch, positions: ListPosition[]): Promise<string> {
  const { rows } = await pool.query<Row>({
    name: 'export-players',
    text: `SELECT p.id, p.status, p.nickname, p.avatar_url, p.region, p.language, p.created_at,
        (SELECT l.logged_in_at FROM last_logins l WHERE l.environment_id = p.environment_id AND l.player_id = p.id),
        (SELECT coalesce(json_agg(json_build_array(i.provider, i.subject)
           ORDER BY i.provider COLLATE "C", i.subject COLLATE "C"), '[]')
         FROM identities i WHERE i.environment_id = p.environment_id AND i.player_id = p.id) AS identities,
        s.level, s.xp, s.premium_owned
      FROM unnest($2::uuid[]) WITH ORDINALITY AS k(id, position)
      CROSS JOIN LATERAL (SELECT * FROM players p WHERE p.environment_id = $1 AND p.id = k.id LIMIT 1) p
      LEFT JOIN LATERAL (
        SELECT * FROM passes s WHERE s.environment_id = $1 AND s.player_id = k.id AND s.scenario_id = $3 AND s.node_id = $4 LIMIT 1
      ) s ON true
      ORDER BY k.position`,
    values: [environmentId, positions.map(({ id }) => id), pass?.scenarioId ?? null, pass?.nodeId ?? null],
  })
  return rows.map((row) => `${print(lineOf(row, Boolean(pass)))}\n`).join('')
}

const lineOf = (row: Row, hasPass: boolean): Json => ({
  playerId: row.id,
  status: row.status,
  nickname: row.nickname,
  avatarUrl: row.avatar_url,
  region: row.region,
  language: row.language,
  createdAt: row.created_at.toISOString(),
  lastLoginAt: row.logged_in_at?.toISOString() ?? null,
  identities: row.identities.map(([provider, subject]) => ({ provider, subject })),
  ...(hasPass && { level: row.level, xp: row.xp === null ? null : BigInt(row.xp), premiumOwned: row.premium_owned }),
})
