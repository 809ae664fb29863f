import type { Pool } from 'pg'
import { searchOf } from '../../accounts/lists/requests.ts'
import { searchPlayers } from '../../accounts/lists/search-players.ts'
import type { GroupCommit } from '../../transactions/group-commit.ts'
import type { Target } from './job.ts'

/** A player of a job. The amount is that of a list. */
export interface TargetPlayer {
  readonly playerId: string
  readonly amount: bigint | null
}

export interface TargetPage {
  readonly players: readonly TargetPlayer[]
  /** The place after which the next page begins; null when this was the last. */
  readonly after: string | null
}

/** Players that are read with one page. */
export const PAGE = 1_000

export const FIRST = '00000000-0000-0000-0000-000000000000'

interface Sources {
  readonly pool: Pool
  readonly run: GroupCommit['run']
}

interface Asked {
  readonly environmentId: string
  readonly target: Target
  /** Players who were created later do not belong to a filter. */
  readonly until: Date
  readonly after: string
}

/** The next players of a target, in the order of their ids. A page may be empty and not the last. */
export async function readPage(sources: Sources, asked: Asked): Promise<TargetPage> {
  const { environmentId, target, after } = asked
  const { pool } = sources
  switch (target.kind) {
    case 'filter':
      return readMatching(sources, asked, target.filter)
    case 'list':
      return pageOf(
        await pool.query<Row>({
          name: 'grant-list-page',
          text: `SELECT player_id AS "playerId", amount::text FROM player_list_rows
            WHERE list_id = $1 AND player_id > $2 ORDER BY player_id LIMIT ${PAGE}`,
          values: [target.listId, after],
        }),
      )
    case 'undo':
      // Those of whom an undo that was cancelled has taken it back are done.
      return pageOf(
        await pool.query<Row>({
          name: 'grant-undo-page',
          text: `SELECT g.player_id AS "playerId", NULL AS amount FROM grant_job_players g
            WHERE g.job_id = $1 AND g.player_id > $2 AND g.outcome = 'granted' AND NOT EXISTS (
              SELECT FROM grant_jobs j JOIN grant_job_players u ON u.job_id = j.id
              WHERE j.undo_of = $1 AND u.environment_id = $3 AND u.player_id = g.player_id AND u.outcome = 'granted'
            ) ORDER BY g.player_id LIMIT ${PAGE}`,
          values: [target.jobId, after, environmentId],
        }),
      )
  }
}

interface Row {
  readonly playerId: string
  readonly amount: string | null
}

function pageOf({ rows }: { readonly rows: readonly Row[] }): TargetPage {
  const players = rows.map(({ playerId, amount }) => ({ playerId, amount: amount === null ? null : BigInt(amount) }))
  return { players, after: rows.length < PAGE ? null : (rows.at(-1)?.playerId ?? null) }
}

async function readMatching(
  { pool, run }: Sources,
  { environmentId, until, after }: Asked,
  filter: Extract<Target, { kind: 'filter' }>['filter'],
): Promise<TargetPage> {
  const { createdTo } = filter
  const asked = { ...filter, createdTo: createdTo && createdTo < until ? createdTo : until }
  const search = await searchOf(run, asked, environmentId)
  const place = after === FIRST ? null : { id: after, at: null }
  const { positions, stoppedAt } = await searchPlayers(pool, search, {
    after: place,
    limit: PAGE,
    sortBy: 'created',
    direction: 'ascending',
  })
  const last = stoppedAt?.id ?? (positions.length === PAGE ? positions.at(-1)?.id : undefined)
  const ids = positions.map(({ id }) => id)
  const found = filter.status === 'deleted' ? ids : await withoutDeleted(pool, environmentId, ids)
  return { players: found.map((playerId) => ({ playerId, amount: null })), after: last ?? null }
}

async function withoutDeleted(pool: Pool, environmentId: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'grant-not-deleted',
    text: `SELECT p.id FROM unnest($2::uuid[]) WITH ORDINALITY AS k(id, n) CROSS JOIN LATERAL (
        SELECT id, status FROM players p WHERE p.environment_id = $1 AND p.id = k.id LIMIT 1
      ) p WHERE p.status <> 'deleted' ORDER BY k.n`,
    values: [environmentId, ids],
  })
  return rows.map(({ id }) => id)
}
