import type { ClientBase } from 'pg'
import { writeBoosts } from '../boosts/stored.ts'
import { gameNow, writeClock } from '../clock/game-clock.ts'
import { type Definition, nextNodes, type PassNode } from '../definition/definition.ts'
import { beginningsOf } from '../definition/season.ts'
import type { ScenarioRef } from '../runs/scenarios.ts'

// The phases that a season is to publish, in `season_phases`. `season-job.ts` publishes them when their time comes.

/** Whether a season has something to do for its players once claims have closed. */
export const isSettled = (definition: Definition, { id, endsAt, atEnd, next }: PassNode): boolean =>
  endsAt !== null &&
  (atEnd !== 'lose' || (next?.convert.length ?? 0) > 0 || nextNodes(definition, id, 'onSeasonEnd').length > 0)

/**
 * Writes the phases of a version that becomes the current one. A phase that was not published yet moves with its
 * date, or goes with it; one that was published stays so. Of phases that have already begun only the last one is
 * published, and each that began while the season had this date: the job is late for these.
 */
const SCHEDULE = `WITH game AS MATERIALIZED (SELECT ${gameNow('e')} AS now FROM environments e WHERE e.id = $1::uuid),
  wanted AS (
    SELECT * FROM unnest($3::text[], $4::text[], $5::timestamptz[]) AS w (node_id, phase, starts_at)
  ), withdrawn AS (
    DELETE FROM season_phases p WHERE p.environment_id = $1::uuid AND p.scenario_id = $2 AND p.told_at IS NULL
      AND NOT EXISTS (SELECT FROM wanted w WHERE w.node_id = p.node_id AND w.phase = p.phase)
  )
  INSERT INTO season_phases AS p (environment_id, scenario_id, node_id, phase, starts_at, told_at)
  SELECT $1::uuid, $2, w.node_id, w.phase, w.starts_at, CASE WHEN w.starts_at <= game.now AND EXISTS (
      SELECT FROM wanted later
      WHERE later.node_id = w.node_id AND later.starts_at > w.starts_at AND later.starts_at <= game.now
    ) THEN now() END
  FROM wanted w, game
  ON CONFLICT (environment_id, scenario_id, node_id, phase) DO UPDATE
  SET starts_at = excluded.starts_at, told_at = CASE WHEN p.starts_at > (SELECT now FROM game) THEN excluded.told_at END
  WHERE p.told_at IS NULL`

/**
 * Writes which passes of the version are settled at their end, and when. A settlement that runs begins again, since the
 * edit may have moved levels; one that is done stays so, unless claims open again.
 */
const SCHEDULE_SETTLEMENTS = `WITH wanted AS (
    SELECT * FROM unnest($3::text[], $4::timestamptz[]) AS w (node_id, due_at)
  ), withdrawn AS (
    DELETE FROM season_settlements s WHERE s.environment_id = $1::uuid AND s.scenario_id = $2 AND s.finished_at IS NULL
      AND NOT EXISTS (SELECT FROM wanted w WHERE w.node_id = s.node_id)
  )
  INSERT INTO season_settlements AS s (environment_id, scenario_id, node_id, due_at)
  SELECT $1::uuid, $2, w.node_id, w.due_at FROM wanted w
  ON CONFLICT (environment_id, scenario_id, node_id) DO UPDATE
  SET due_at = excluded.due_at, after_level = NULL, after_player = NULL, holder = NULL,
    finished_at = CASE WHEN excluded.due_at <= (SELECT ${gameNow('e')} FROM environments e WHERE e.id = $1::uuid)
      THEN s.finished_at END`

/** Writes to which scenarios the passes of the version lead. */
const LEAD = `UPDATE scenarios SET leads_to = $3 WHERE environment_id = $1 AND id = $2`
/**
 * Writes to scenarios which passes lead to them. The revision changes with it, so that calls that have read the scenario
 * before are decided again.
 */
const FOLLOW = `UPDATE scenarios t SET version = t.version, follows = f.follows
  FROM (
    SELECT n.id, (
      SELECT json_agg(json_build_array(s.id, e.value ->> 0) ORDER BY s.id COLLATE "C", (e.value ->> 0) COLLATE "C")::text
      FROM scenarios s, json_array_elements(s.leads_to::json) e
      WHERE s.environment_id = $1 AND s.leads_to IS NOT NULL AND e.value ->> 1 = n.id AND s.id <> n.id
    ) AS follows
    FROM scenarios n WHERE n.environment_id = $1
  ) f
  WHERE t.environment_id = $1 AND t.id = f.id AND t.follows IS DISTINCT FROM f.follows`

/** Schedules the seasons of a version, within the transaction that makes it the current one. It holds the lock. */
export async function scheduleSeasons(
  client: Pick<ClientBase, 'query'>,
  { environmentId, scenarioId }: ScenarioRef,
  definition: Definition,
): Promise<void> {
  const passes = [...definition.nodes].flatMap(([nodeId, node]) =>
    node.type === 'battle-pass' ? [[nodeId, node] as const] : [],
  )
  const phases = passes.flatMap(([nodeId, pass]: readonly [string, PassNode]) =>
    beginningsOf(pass).map(({ phase, at }) => ({ nodeId, phase, at })),
  )
  await client.query(SCHEDULE, [
    environmentId,
    scenarioId,
    phases.map(({ nodeId }) => nodeId),
    phases.map(({ phase }) => phase),
    phases.map(({ at }) => at),
  ])
  const settled = passes.flatMap(([nodeId, pass]) =>
    isSettled(definition, pass) && pass.claimUntil ? [{ nodeId, claimUntil: pass.claimUntil }] : [],
  )
  await client.query(SCHEDULE_SETTLEMENTS, [
    environmentId,
    scenarioId,
    settled.map(({ nodeId }) => nodeId),
    settled.map(({ claimUntil }) => claimUntil),
  ])
  const leadsTo = passes.flatMap(([nodeId, { next }]) => (next?.scenarioId ? [[nodeId, next.scenarioId]] : []))
  await client.query(LEAD, [environmentId, scenarioId, leadsTo.length > 0 ? JSON.stringify(leadsTo) : null])
  await client.query(FOLLOW, [environmentId])
  await writeBoosts(client, environmentId, scenarioId)
  await writeClock(client, environmentId, scenarioId)
}
