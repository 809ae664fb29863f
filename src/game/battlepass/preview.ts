import type { PoolClient } from 'pg'
import type { Fault } from '../../base/errors.ts'
import { createFairQueue, type Places } from '../../base/fair-queue.ts'
import type { Reader } from '../../db/replica.ts'
import { inSnapshot, queryWithin } from '../../db/transaction.ts'
import { gameNow } from '../clock/game-clock.ts'
import { type Definition, type Track, typeOf } from '../definition/definition.ts'
import { parseDefinition } from '../definition/parse.ts'
import type { ScenarioRef } from '../runs/scenarios.ts'
import { type ComparedPass, comparePasses, type PassPreview } from './compare-passes.ts'

// The effect of publishing a definition on current players. The rules stay in TypeScript: they divide players by xp
// into buckets of equal effect, and the database counts the players of each. No player is read.

/**
 * Counts include players with a pass, which exists from their first xp, claim or purchase on, and exclude deleted
 * players.
 */
export interface ScenarioPreview {
  /** All that was committed by then is counted. */
  readonly asOf: Date
  /** The reasons why the definition cannot be published. With any, nothing is counted. */
  readonly faults: readonly Fault[]
  /** The version that is compared with; null when there is none yet, and when nothing is counted. */
  readonly currentVersion: number | null
  /** Every battle pass of the definition, then removed ones. */
  readonly passes: readonly PassPreview[]
  /** Removed nodes, with the number of active runs in which they are active. */
  readonly removedNodes: readonly { readonly nodeId: string; readonly type: string; readonly activeRuns: number }[]
}

/** Long enough for millions of passes, on a database that also serves a game. */
const STATEMENT_TIMEOUT_MS = 30_000
const MAX_WAITING = 4

export type PreviewScenario = (
  reader: Reader,
  projectId: string,
  ref: ScenarioRef,
  text: string,
) => Promise<ScenarioPreview>

/**
 * Creates the operation. It counts on one snapshot and takes no lock: it blocks nothing, and its numbers exclude what
 * happens meanwhile. Previews can be slow, and each holds a connection while it counts, so each project has a row of its
 * own. Refuses with `unavailable` when too many of a project wait, or when one takes too long.
 */
export function createPreview(places: Places): PreviewScenario {
  const inTurn = createFairQueue(places, { maxWaiting: MAX_WAITING, tasks: 'previews' })

  return async (reader, projectId, ref, text) => {
    const { asOf } = reader
    const parsed = parseDefinition(text)
    if (!parsed.ok) return { asOf, faults: parsed.faults, currentVersion: null, passes: [], removedNodes: [] }
    const counted = await inTurn(projectId, () =>
      reader.read(({ pool }) => inSnapshot(pool, (client) => preview(client, ref, parsed.definition))),
    )
    return { asOf, ...counted }
  }
}

async function preview(
  client: PoolClient,
  ref: ScenarioRef,
  after: Definition,
): Promise<Omit<ScenarioPreview, 'asOf'>> {
  // Each statement runs once, for arrays of these lengths; compiling it would take longer than it saves.
  await client.query(`SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`)
  const { current, now } = await readCurrent(client, ref)
  const before = current?.definition ?? null

  const passes = comparePasses(before, after, now)
  await countPlayers(client, ref, passes)
  await countFreshClaims(client, ref, passes)
  await countRemovedClaims(client, ref, passes)
  return {
    faults: [],
    currentVersion: current?.version ?? null,
    passes: passes.map((pass) => pass.result()),
    removedNodes: await countRuns(client, ref, before, after),
  }
}

async function readCurrent(client: PoolClient, { environmentId, scenarioId }: ScenarioRef) {
  const { rows } = await client.query<{ now: Date; version: number | null; definition: string | null }>(
    `SELECT ${gameNow('e')} AS now, v.version, v.definition FROM environments e
     LEFT JOIN scenarios s ON s.environment_id = e.id AND s.id = $2
     LEFT JOIN scenario_versions v ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
     WHERE e.id = $1`,
    [environmentId, scenarioId],
  )
  const { now = new Date(), version = null, definition = null } = rows[0] ?? {}
  if (version === null || definition === null) return { now, current: null }
  const parsed = parseDefinition(definition, { isStored: true })
  if (!parsed.ok) throw new Error(`version ${version} of scenario ${scenarioId} does not parse`)
  return { now, current: { version, definition: parsed.definition } }
}

const arrayText = (values: readonly (number | bigint)[]): string => `{${values.join(',')}}`

/** A deleted player keeps its rows. Deleted players are few, so they are looked up once, not for each player. */
function isThere(playerId: string): string {
  return `NOT EXISTS (
    SELECT FROM players d WHERE d.environment_id = $1 AND d.id = ${playerId} AND d.status = 'deleted'
  )`
}

/** The passes of players who are not deleted, each with its bucket. */
const PASSES = `SELECT n.*, p.player_id, p.premium_owned, width_bucket(p.xp, n.thresholds) AS bucket
  FROM passes p JOIN nodes n ON n.node_id = p.node_id
  WHERE p.environment_id = $1 AND p.scenario_id = $2 AND ${isThere('p.player_id')}`

async function countPlayers(
  client: PoolClient,
  { environmentId, scenarioId }: ScenarioRef,
  passes: readonly ComparedPass[],
): Promise<void> {
  if (passes.length === 0) return
  const rows = await count<{ n: number; bucket: number; premium_owned: boolean; players: number }>(
    client,
    `WITH nodes AS MATERIALIZED (
       SELECT n::int, node_id, thresholds::bigint[]
       FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS k(node_id, thresholds, n)
     )
     SELECT n, bucket, premium_owned, count(*)::int AS players FROM (${PASSES}) p GROUP BY n, bucket, premium_owned`,
    [
      environmentId,
      scenarioId,
      passes.map(({ nodeId }) => nodeId),
      passes.map(({ thresholds }) => arrayText(thresholds)),
    ],
  )
  for (const { n, bucket, premium_owned: isOwner, players } of rows) {
    const pass = passes[n - 1]
    if (!pass) continue
    pass.players[bucket] = (pass.players[bucket] ?? 0) + players
    if (isOwner) pass.owners[bucket] = players
  }
}

/**
 * Counts the claims of fresh tiers. Only claims between the fresh levels of a player's bucket are looked up, by key:
 * most edits move few players by few levels.
 */
async function countFreshClaims(
  client: PoolClient,
  { environmentId, scenarioId }: ScenarioRef,
  all: readonly ComparedPass[],
): Promise<void> {
  const passes = all.filter(({ hasFresh }) => hasFresh)
  if (passes.length === 0) return
  const ranges = passes.map(({ freshLevels }) => freshLevels)
  const tiers = passes.flatMap(({ fresh }, index) => fresh.map((tier) => ({ n: index + 1, tier })))
  const rows = await count<{ n: number; t: number | null; track: Track; players: number }>(
    client,
    `WITH nodes AS MATERIALIZED (
       SELECT n::int, node_id, thresholds::bigint[], first::int[], last::int[], due_free::int[], due_premium::int[]
       FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
         WITH ORDINALITY AS k(node_id, thresholds, first, last, due_free, due_premium, n)
     ), tiers AS MATERIALIZED (
       SELECT * FROM unnest($9::int[], $10::int[], $11::text[], $12::int[], $13::int[])
         WITH ORDINALITY AS k(n, level, track, from_bucket, to_bucket, t)
     ), claims AS (
       SELECT p.n, p.player_id, p.premium_owned, p.bucket, c.level, c.track,
         (CASE c.track WHEN 'free' THEN p.due_free ELSE p.due_premium END)[p.bucket + 1] AS due
       FROM (SELECT * FROM (${PASSES} OFFSET 0) p WHERE first[bucket + 1] <= last[bucket + 1] OFFSET 0) p
       CROSS JOIN LATERAL (
         SELECT c.level, c.track FROM tier_claims c
         WHERE c.environment_id = $1 AND c.player_id = p.player_id AND c.scenario_id = $2 AND c.node_id = p.node_id
           AND c.level BETWEEN p.first[p.bucket + 1] AND p.last[p.bucket + 1]
         OFFSET 0
       ) c
       OFFSET 0
     ), claimed AS MATERIALIZED (
       SELECT t.t::int, c.n, c.player_id, c.track, c.due
       FROM claims c JOIN tiers t ON t.n = c.n AND t.level = c.level AND t.track = c.track
       WHERE c.bucket >= t.from_bucket AND c.bucket < t.to_bucket AND (c.track = 'free' OR c.premium_owned)
     )
     SELECT n, t, track, count(*)::int AS players FROM claimed GROUP BY n, t, track
     UNION ALL
     SELECT n, NULL, track, count(*)::int FROM (
       SELECT n, track FROM claimed GROUP BY n, track, player_id, due HAVING count(*) = due
     ) c GROUP BY n, track`,
    [
      environmentId,
      scenarioId,
      passes.map(({ nodeId }) => nodeId),
      passes.map(({ thresholds }) => arrayText(thresholds)),
      ranges.map(({ first }) => arrayText(first)),
      ranges.map(({ last }) => arrayText(last)),
      passes.map(({ due }) => arrayText(due.free)),
      passes.map(({ due }) => arrayText(due.premium)),
      tiers.map(({ n }) => n),
      tiers.map(({ tier }) => tier.level),
      tiers.map(({ tier }) => tier.track),
      tiers.map(({ tier }) => tier.from),
      tiers.map(({ tier }) => tier.to),
    ],
  )
  for (const { n, t, track, players } of rows) {
    const pass = passes[n - 1]
    const tier = t === null ? null : tiers[t - 1]?.tier
    if (tier) pass?.claimed.set(tier, players)
    else if (pass) pass.covered[track] = players
  }
}

/** Counts the claims of removed tiers. Reads all claims of the scenario once. */
async function countRemovedClaims(
  client: PoolClient,
  { environmentId, scenarioId }: ScenarioRef,
  all: readonly ComparedPass[],
): Promise<void> {
  const passes = all.filter(({ removed }) => removed.length > 0)
  if (passes.length === 0) return
  const rows = await count<{ node_id: string; level: number; track: Track; players: number }>(
    client,
    `SELECT c.node_id, c.level, c.track, count(*)::int AS players FROM tier_claims c
     WHERE c.environment_id = $1 AND c.scenario_id = $2 AND c.node_id = ANY ($3::text[]) AND c.level = ANY ($4::int[])
       AND ${isThere('c.player_id')}
     GROUP BY c.node_id, c.level, c.track`,
    [
      environmentId,
      scenarioId,
      passes.map(({ nodeId }) => nodeId),
      [...new Set(passes.flatMap(({ removed }) => removed.map(({ level }) => level)))],
    ],
  )
  for (const { node_id: nodeId, level, track, players } of rows) {
    const pass = passes.find((one) => one.nodeId === nodeId)
    const tier = pass?.removed.find((one) => one.level === level && one.track === track)
    if (tier) pass?.claimed.set(tier, players)
  }
}

/** Removed nodes, each with its number of active runs. */
async function countRuns(
  client: PoolClient,
  { environmentId, scenarioId }: ScenarioRef,
  before: Definition | null,
  after: Definition,
): Promise<ScenarioPreview['removedNodes']> {
  const removed = [...(before?.nodes.values() ?? [])].filter(({ id }) => !after.nodes.has(id))
  if (removed.length === 0) return []
  const rows = await count<{ node_id: string; runs: number }>(
    client,
    `SELECT a.node_id, count(*)::int AS runs
     FROM runs r CROSS JOIN LATERAL json_array_elements_text(r.active::json) AS a(node_id)
     WHERE r.environment_id = $1 AND r.scenario_id = $2 AND r.status = 'active' AND a.node_id = ANY ($3::text[])
       AND ${isThere('r.player_id')}
     GROUP BY a.node_id`,
    [environmentId, scenarioId, removed.map(({ id }) => id)],
  )
  const runs = new Map(rows.map((row) => [row.node_id, row.runs]))
  return removed.map((node) => ({ nodeId: node.id, type: typeOf(node), activeRuns: runs.get(node.id) ?? 0 }))
}

const count = <Row extends object>(client: PoolClient, text: string, values: unknown[]): Promise<Row[]> =>
  queryWithin<Row>(client, STATEMENT_TIMEOUT_MS, text, values)
