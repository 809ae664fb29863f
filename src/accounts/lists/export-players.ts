import type { Pool } from 'pg'
import { ACTIONS } from '../../audit/actions.ts'
import { writeAudit } from '../../audit/audit-log.ts'
import { type Json, print } from '../../base/json.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { requireKey } from '../../callers/keys.ts'
import type { Reader } from '../../db/replica.ts'
import { answer, out } from '../../declare/answer.ts'
import { levelOf } from '../../game/battlepass/passes.ts'
import { STATUS, STATUSES } from '../../players/player-status.ts'
import { identity, type ProfileRow, profile } from '../../players/read-player.ts'
import { type FoundPlayers, type PlayerSearch, searchPlayers } from './search-players.ts'
import type { ListedPass, ListPosition } from './statements.ts'

export const exportedPlayer = answer(
  'One line of an export of players. The last three members are present when the export names a pass; they are null for a player without that pass.',
  {
    playerId: out.text("The player's id."),
    status: out.oneOf(STATUSES),
    ...profile,
    lastLoginAt: out.orNull(out.time('Time of the last login, in UTC. Null before the first one.')),
    identities: out.list(identity, 'The identities that the player can log in with.'),
    level: out.optional(out.orNull(out.int32('Level on the pass.'))),
    xp: out.optional(out.orNull(out.int64('Xp on the pass.'))),
    premiumOwned: out.optional(out.orNull(out.flag('Whether the player owns premium on the pass.'))),
  },
  { name: 'ExportedPlayer' },
)

/** Players that are read at once. No connection of the database is held while they are sent. */
const PAGE = 500

export interface Export {
  readonly caller: PlatformCaller
  readonly environmentId: string
  /** Read for each page, since an edit may move levels meanwhile. */
  readonly search: () => Promise<PlayerSearch>
  /** The filters of the request, as the audit log keeps them. */
  readonly filters: Json
  readonly environment: string
  readonly reason: string | null
}

interface Row extends ProfileRow {
  readonly id: string
  readonly logged_in_at: Date | null
  /** Null for a player who has not begun the pass. */
  readonly pass: {
    readonly xp: string
    readonly level: number
    readonly currentLevel: number | null
    readonly premiumOwned: boolean
  } | null
}

/**
 * The players of a list, the newest first, as pages of lines; each line is a JSON object. `pool` is the primary's. The
 * promise resolves after the first page is read and the audit entry is written, so that a refusal comes before any line.
 * The iteration throws when a later page cannot be read or the caller's key or token has ended.
 */
export async function exportPlayers(
  pool: Pool,
  reader: Reader,
  asked: Export,
): Promise<{ readonly auditId: string; readonly pages: AsyncIterable<string> }> {
  const { caller, environmentId, filters, environment, reason } = asked
  const first = await readPage(reader, asked, null)
  const entry = { action: ACTIONS.exportPlayers, target: environment, before: null, after: filters }
  const auditId = await writeAudit(pool, caller, { ...entry, environmentId, reason })
  return { auditId, pages: pagesOf(pool, reader, asked, first) }
}

interface Page extends FoundPlayers {
  readonly search: PlayerSearch
}

async function readPage(reader: Reader, asked: Export, after: ListPosition | null): Promise<Page> {
  const search = await asked.search()
  const found = await reader.read(({ pool }) => searchPlayers(pool, search, { after, limit: PAGE }))
  return { ...found, search }
}

async function* pagesOf(pool: Pool, reader: Reader, asked: Export, first: Page): AsyncGenerator<string> {
  for (let page = first; ; ) {
    const { positions, stoppedAt, search } = page
    if (positions.length > 0) yield await reader.read(({ pool }) => linesOf(pool, search, positions))
    const after = stoppedAt ?? (positions.length === PAGE ? positions.at(-1) : undefined)
    if (!after) return
    await requireKey(pool, asked.caller)
    page = await readPage(reader, asked, after)
  }
}

async function linesOf(pool: Pool, { environmentId, pass }: PlayerSearch, positions: ListPosition[]): Promise<string> {
  const { rows } = await pool.query<Row>({
    name: 'export-players',
    text: `SELECT p.id, ${STATUS} AS status, p.nickname, p.avatar_url, p.region, p.language, p.created_at,
        (SELECT l.logged_in_at FROM last_logins l WHERE l.environment_id = p.environment_id AND l.player_id = p.id),
        (SELECT coalesce(json_agg(json_build_array(i.provider, i.subject)
           ORDER BY i.provider COLLATE "C", i.subject COLLATE "C"), '[]')
         FROM identities i WHERE i.environment_id = p.environment_id AND i.player_id = p.id) AS identities,
        s.pass
      FROM unnest($2::uuid[]) WITH ORDINALITY AS k(id, position)
      CROSS JOIN LATERAL (SELECT * FROM players p WHERE p.environment_id = $1 AND p.id = k.id LIMIT 1) p
      LEFT JOIN LATERAL (
        SELECT json_build_object('xp', s.xp::text, 'level', s.level, 'currentLevel', s.current_level,
          'premiumOwned', s.premium_owned) AS pass
        FROM passes s WHERE s.environment_id = $1 AND s.player_id = k.id AND s.scenario_id = $3 AND s.node_id = $4 LIMIT 1
      ) s ON true
      ORDER BY k.position`,
    values: [environmentId, positions.map(({ id }) => id), pass?.scenarioId ?? null, pass?.nodeId ?? null],
  })
  return rows.map((row) => `${print(lineOf(row, pass ?? null))}\n`).join('')
}

const lineOf = (row: Row, asked: ListedPass | null): Json => ({
  playerId: row.id,
  status: row.status,
  nickname: row.nickname,
  avatarUrl: row.avatar_url,
  region: row.region,
  language: row.language,
  createdAt: row.created_at.toISOString(),
  lastLoginAt: row.logged_in_at?.toISOString() ?? null,
  identities: row.identities.map(([provider, subject]) => ({ provider, subject })),
  ...(asked && aboutPass(row, asked)),
})

function aboutPass({ pass }: Row, { levels }: ListedPass): Json & object {
  if (!pass) return { level: null, xp: null, premiumOwned: null }
  const xp = BigInt(pass.xp)
  return { level: levelOf(levels && { levels }, { ...pass, xp }), xp, premiumOwned: pass.premiumOwned }
}
