import pg, { type Pool } from 'pg'
import { thaw } from '../../../src/base/frozen-json.ts'
import { RawJson } from '../../../src/base/json.ts'
import { settled } from '../settled.ts'
import { enteredText, type Reward, rewardText, type ScenarioId } from './definitions.ts'
import type { StoredVersion } from './history.ts'
import type { Books, Crossed, PassState, Plan, RunState } from './model.ts'

// Reads the books from the database while no call runs, and puts them back as a restore would.

export interface PlayerKey {
  readonly environmentId: string
  readonly playerId: string
}

interface BookRows {
  readonly status: 'active' | 'banned'
  readonly nickname: string | null
  readonly storage: Record<string, string> | null
  readonly wallet: Record<string, number> | null
  readonly items: Record<string, number> | null
  readonly passes: {
    scenario_id: string
    node_id: string
    xp: number
    level: number
    premium_owned: boolean
    max_level_crossed: boolean
    completed: boolean
    completed_nodes: string
  }[]
  readonly claims: { scenario_id: string; node_id: string; level: number; track: string; granted: string }[]
  readonly runs: { id: string; scenario_id: string; status: RunState['status']; active: string; plan: string | null }[]
  readonly keys: string[]
}

/**
 * All books of a player at one moment, without the runs in `forget`, and with the keys that begin with `keysOf`.
 */
export async function readBooks(
  pool: Pool,
  player: PlayerKey,
  { keysOf, forget }: { keysOf: string; forget: ReadonlySet<string> },
): Promise<Books> {
  const own = (table: string) => `FROM ${table} t WHERE t.environment_id = p.environment_id AND t.player_id = p.id`
  const list = (table: string) => `coalesce((SELECT json_agg(t) ${own(table)}), '[]')`
  const { rows } = await pool.query<BookRows>(
    `SELECT p.status, p.nickname,
       (SELECT json_object_agg(key, value) ${own('player_storage')}) AS storage,
       (SELECT json_object_agg(currency, balance) ${own('wallets')}) AS wallet,
       (SELECT json_object_agg(item_id, amount) ${own('inventory')}) AS items,
       ${list('passes')} AS passes, ${list('tier_claims')} AS claims, ${list('runs')} AS runs,
       coalesce((SELECT json_agg(key) ${own('idempotency_keys')} AND starts_with(t.key, $3)), '[]') AS keys
     FROM players p WHERE p.environment_id = $1 AND p.id = $2`,
    [player.environmentId, player.playerId, keysOf],
  )
  const [row] = rows
  if (!row) throw new Error('the player is not in the books')
  const passes: Record<string, PassState> = {}
  for (const pass of row.passes) {
    const ofPass = row.claims.filter(
      (claim) => claim.scenario_id === pass.scenario_id && claim.node_id === pass.node_id,
    )
    passes[`${pass.scenario_id}/${pass.node_id}`] = {
      xp: pass.xp,
      level: pass.level,
      premium: pass.premium_owned,
      topped: pass.max_level_crossed,
      completed: pass.completed,
      nodes: JSON.parse(pass.completed_nodes),
      claims: Object.fromEntries(
        ofPass.map(({ level, track, granted }) => [
          `${track}:${level}`,
          (plain(thaw(granted)) as Reward[]).map(rewardText),
        ]),
      ),
    }
  }
  const runs = row.runs.filter(({ id }) => !forget.has(id))
  return {
    status: row.status,
    nickname: row.nickname,
    storage: row.storage ?? {},
    wallet: row.wallet ?? {},
    items: row.items ?? {},
    passes,
    runs: Object.fromEntries(
      runs.map(({ id, scenario_id, status, active, plan }): [string, RunState] => [
        id,
        {
          scenario: scenario_id as ScenarioId,
          status,
          active: (JSON.parse(active) as string[]).sort(),
          plan: plan === null ? null : planOf(plain(thaw(plan))),
        },
      ]),
    ),
    answers: row.keys.sort(),
  }
}

/** Plain JSON of a frozen value. Numbers of these tests are small. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof RawJson) return JSON.parse(value.text)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}

/** A plan in the model's form. */
// biome-ignore lint/suspicious/noExplicitAny: plans come from answers and from books.
export function planOf(plan: any): Plan | null {
  if (plan === null) return null
  return {
    runId: plan.runId,
    status: String(plan.status).toLowerCase(),
    crossed: plan.crossed.map(({ nodeId, handle }: { nodeId: string; handle: string }) => `${nodeId}.${handle}`),
    entered: plan.entered.map(({ nodeId, type, data }: { nodeId: string; type: string; data: unknown }) =>
      enteredText(nodeId, type, data),
    ),
    granted: plan.granted.map(rewardText),
  }
}

export async function endOfStream(pool: Pool, environmentId: string): Promise<number> {
  await settled(pool)
  const { rows } = await pool.query<{ position: string }>('SELECT position FROM streams WHERE environment_id = $1', [
    environmentId,
  ])
  return Number(rows[0]?.position ?? 0)
}

/** What a player crossed after a position, in the order of the stream. */
export async function readStream(
  pool: Pool,
  { environmentId, playerId }: PlayerKey,
  after: number,
): Promise<Crossed[]> {
  await settled(pool)
  const { rows } = await pool.query<{ node_id: string; handle: string; data: string }>(
    `SELECT node_id, handle, data FROM events
     WHERE environment_id = $1 AND player_id = $2 AND position > $3 AND handle IS NOT NULL ORDER BY position`,
    [environmentId, playerId, after],
  )
  return rows.map(({ node_id: node, handle, data }) => ({ node, handle, data: JSON.parse(data) }))
}

/** The database's clock. */
export async function readClock(pool: Pool): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  return (rows[0] as { now: Date }).now
}

/**
 * The entries of a player in the xp ledger and the audit log since a time: `<source> <amount>` of xp, and the reasons
 * of support. Each has its commit time, if the server keeps that and the entry was written once. The writes of one
 * player wait for each other, so their times are in the order of the writes.
 */
export async function readEffects(
  pool: Pool,
  { environmentId, playerId }: PlayerKey,
  since: Date,
): Promise<ReadonlyMap<string, number | undefined>> {
  const { rows } = await pool.query<{ label: string; count: number; committed: string | null }>(
    `SELECT label, count(*)::int AS count,
       max(CASE WHEN current_setting('track_commit_timestamp') = 'on'
         THEN extract(epoch FROM pg_xact_commit_timestamp(writer)) * 1000000 END)::bigint AS committed
     FROM (
       SELECT source || ' ' || amount AS label, xmin AS writer FROM xp_ledger
       WHERE environment_id = $1 AND player_id = $2 AND created_at >= $3
       UNION ALL SELECT reason, xmin FROM audit_log
       WHERE environment_id = $1 AND target = $2::text AND created_at >= $3
     ) l GROUP BY label`,
    [environmentId, playerId, since],
  )
  return new Map(
    rows.map(({ label, count, committed }) => [label, committed === null || count > 1 ? undefined : Number(committed)]),
  )
}

export async function readVersions(pool: Pool, environmentId: string): Promise<StoredVersion[]> {
  const { rows } = await pool.query<{ scenario_id: ScenarioId; version: number; definition: string }>(
    'SELECT scenario_id, version, definition FROM scenario_versions WHERE environment_id = $1 ORDER BY version',
    [environmentId],
  )
  return rows.map(({ scenario_id: scenario, version, definition }) => ({
    scenario,
    version,
    definition: JSON.parse(definition),
  }))
}

/** A copy of every table, to put back later. */
export interface Backup {
  restore(): Promise<void>
  drop(): Promise<void>
}

/** Copies every table as of one moment. */
export async function backUp(databaseUrl: string): Promise<Backup> {
  const client = new pg.Client({ connectionString: databaseUrl })
  // A test that fails can drop the database first.
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(relname) AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname <> '_prisma_migrations'
     ORDER BY relname <> 'players', relname`,
  )
  const tables = rows.map(({ name }) => name)

  async function inOne(statements: readonly string[]): Promise<void> {
    try {
      await client.query(['BEGIN', ...statements, 'COMMIT'].join(';'))
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    }
  }

  await inOne([
    'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ',
    'CREATE SCHEMA saved',
    ...tables.map((table) => `CREATE TABLE saved.${table} AS TABLE public.${table}`),
  ])
  return {
    async restore() {
      const statements = [
        'SET LOCAL session_replication_role = replica',
        // No session reads or writes meanwhile, as during a real restore; connections stay open.
        `LOCK TABLE ${tables.map((table) => `public.${table}`).join(', ')} IN ACCESS EXCLUSIVE MODE`,
        ...tables.flatMap((table) => [
          `DELETE FROM public.${table}`,
          `INSERT INTO public.${table} SELECT * FROM saved.${table}`,
        ]),
      ]
      for (;;) {
        try {
          return await inOne(statements)
        } catch (error) {
          if ((error as { code?: string }).code !== DEADLOCK) throw error
        }
      }
    },
    async drop() {
      await client.query('DROP SCHEMA saved CASCADE')
      await client.end()
    },
  }
}

const DEADLOCK = '40P01'
