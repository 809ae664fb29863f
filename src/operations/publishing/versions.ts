import type { Pool } from 'pg'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { diffScenarios, type ScenarioDiff } from '../../game/definition/diff.ts'
import type { ScenarioRef } from '../../game/runs/scenarios.ts'

export interface VersionSummary {
  readonly version: number
  readonly publishedAt: Date
  readonly isCurrent: boolean
  /** The length of the definition's text in UTF-8. */
  readonly bytes: number
  /** SHA-256 of the definition's text, in hex. */
  readonly sha256: string
}

export interface VersionPage {
  /** The page begins before this version. */
  readonly after: number | null
  readonly limit: number
}

/** The versions of a scenario, the newest first. Refuses a missing scenario. */
export async function listVersions(pool: Pool, ref: ScenarioRef, page: VersionPage): Promise<VersionSummary[]> {
  const { rows } = await pool.query<{
    current: number
    version: number | null
    published_at: Date
    bytes: number
    sha256: string
  }>(
    `SELECT s.version AS current, v.* FROM scenarios s LEFT JOIN LATERAL (
       SELECT version, published_at, octet_length(definition) AS bytes,
         encode(sha256(convert_to(definition, 'UTF8')), 'hex') AS sha256
       FROM scenario_versions v WHERE v.environment_id = s.environment_id AND v.scenario_id = s.id
         AND ($3::int IS NULL OR v.version < $3)
       ORDER BY version DESC LIMIT $4
     ) v ON true WHERE s.environment_id = $1 AND s.id = $2`,
    [ref.environmentId, ref.scenarioId, page.after, page.limit],
  )
  if (rows.length === 0) throw new Refusal('scenarioNotFound')
  return rows.flatMap(({ current, version, published_at: publishedAt, bytes, sha256 }) =>
    version === null ? [] : [{ version, publishedAt, isCurrent: version === current, bytes, sha256 }],
  )
}

export async function countVersions(pool: Pool, { environmentId, scenarioId }: ScenarioRef): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    'SELECT count(*) FROM scenario_versions WHERE environment_id = $1 AND scenario_id = $2',
    [environmentId, scenarioId],
  )
  return Number(rows[0]?.count)
}

/** The difference between two versions of a scenario. Refuses a missing scenario, and names each unknown version. */
export async function diffVersions(
  pool: Pool,
  ref: ScenarioRef,
  versions: { from: number; to: number },
): Promise<ScenarioDiff> {
  const { from, to } = await readVersions(pool, ref, versions)
  return diffScenarios(from, to)
}

async function readVersions(
  pool: Pool,
  ref: ScenarioRef,
  { from, to }: { from: number; to: number },
): Promise<{ from: string; to: string }> {
  const { rows } = await pool.query<{ current: number; from: string | null; to: string | null }>(
    `SELECT s.version AS current, f.definition AS "from", t.definition AS "to" FROM scenarios s
     LEFT JOIN scenario_versions f ON f.environment_id = s.environment_id AND f.scenario_id = s.id AND f.version = $3
     LEFT JOIN scenario_versions t ON t.environment_id = s.environment_id AND t.scenario_id = s.id AND t.version = $4
     WHERE s.environment_id = $1 AND s.id = $2`,
    [ref.environmentId, ref.scenarioId, from, to],
  )
  const [found] = rows
  if (!found) throw new Refusal('scenarioNotFound')
  if (found.from !== null && found.to !== null) return { from: found.from, to: found.to }
  const message = `names no version of this scenario; the current one is ${found.current}`
  throw invalidRequest(
    ...(['from', 'to'] as const).flatMap((path): Fault[] => (found[path] === null ? [{ path, message }] : [])),
  )
}
