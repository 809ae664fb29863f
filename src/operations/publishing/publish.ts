import { hash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { ACTIONS } from '../../audit/actions.ts'
import { recordAudit, writeAudit } from '../../audit/audit-log.ts'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { RawJson } from '../../base/json.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { inTransaction } from '../../db/transaction.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { readGameNow } from '../../game/clock/game-clock.ts'
import { lockSeasons } from '../../game/clock/lock-seasons.ts'
import { definitionBody } from '../../game/definition/body.ts'
import { parseDefinition, pastSeasons } from '../../game/definition/parse.ts'
import type { ScenarioRef } from '../../game/runs/scenarios.ts'
import { scheduleSeasons } from '../../game/seasons/season-schedule.ts'
import { endDrafts, requireApproval } from './drafts.ts'

export const EXAMPLE_VERSION = {
  environment: 'production',
  scenarioId: 'season-1',
  version: 1,
  definition: definitionBody.example,
  publishedAt: '2026-11-20T09:30:00.000Z',
}
export const publishedMembers = {
  environment: out.text("An environment's name, such as `production`."),
  scenarioId: out.text("A scenario's id in its environment."),
  version: out.int32('The number of the version, from 1.', { minimum: 1 }),
  definition: out.object('The definition, byte for byte as it was published.'),
  publishedAt: out.time('The time of the publication, in UTC.'),
}
export const publishedScenario = answer('A published version of a scenario.', publishedMembers, {
  name: 'PublishedScenario',
  example: EXAMPLE_VERSION,
})
/** A version of a scenario whose environment the caller has named. */
export type PublishedScenario = Omit<AnswerOf<typeof publishedScenario>, 'environment'>

export interface Publisher {
  readonly caller: PlatformCaller
  /** Null over REST, where it is optional. */
  readonly reason: string | null
  /** The version that must be current; null for any. */
  readonly expected?: ExpectedVersion | null
  /** The planned publication that this is, if any. */
  readonly planned?: string
  /** The version that was copied, if any. */
  readonly source?: { readonly environment: string; readonly scenarioId: string; readonly version: number }
}

/** The version that a designer has seen: its number, 0 for none, or any version. */
export interface ExpectedVersion {
  readonly version: number | 'any'
  /** The place in the request, for a refusal. */
  readonly path: string
}

/** The current version after a publication. */
export interface Publication {
  readonly scenario: PublishedScenario
  /** The audit entry; null when nothing changed. */
  readonly auditId: string | null
  /** Notes for the designer about the definition. */
  readonly notices: readonly Fault[]
}

/**
 * Publishes a definition as the next version, after validating it as a whole. With faults, nothing is written and all
 * are named. Refuses with `version conflict` when another version than the expected one is current. Publishing the
 * current text again answers the current version, so a lost answer can be retried; nothing changes then, and nothing is
 * audited. Without a publisher, the service itself publishes.
 */
export async function publishScenario(
  pool: Pool,
  ref: ScenarioRef,
  text: string,
  publisher: Publisher | null = null,
): Promise<Publication> {
  return inTransaction(pool, (client) => publishWithin(client, ref, text, publisher))
}

/** As `publishScenario`, within a transaction. */
export async function publishWithin(
  client: PoolClient,
  ref: ScenarioRef,
  text: string,
  publisher: Publisher | null,
): Promise<Publication> {
  const parsed = parseDefinition(text, { scenarioId: ref.scenarioId })
  if (!parsed.ok) throw invalidRequest(...parsed.faults)
  const now = await readGameNow(client, ref.environmentId)
  const notices = [...parsed.notices, ...pastSeasons(parsed.definition, now)]
  const key = [ref.environmentId, ref.scenarioId]
  await lockSeasons(client)
  await client.query(
    'INSERT INTO scenarios (environment_id, id, version) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING',
    key,
  )
  // The row lock makes publications of one scenario run one after another.
  const locked = await client.query(
    'SELECT version FROM scenarios WHERE environment_id = $1 AND id = $2 FOR UPDATE',
    key,
  )
  const current = await client.query(
    `SELECT version, definition, published_at FROM scenario_versions
       WHERE environment_id = $1 AND scenario_id = $2 AND version = $3`,
    [...key, locked.rows[0].version],
  )
  if (current.rows[0]?.definition === text) return { scenario: published(ref, current.rows[0]), auditId: null, notices }

  // A planned publication was approved when it was planned.
  const approvedBy = publisher && publisher.planned === undefined ? await requireApproval(client, ref, text) : null
  const before: number = current.rows[0]?.version ?? 0
  checkVersion(before, publisher?.expected ?? null)
  const version = before + 1
  await client.query('UPDATE scenarios SET version = $3, published_at = now() WHERE environment_id = $1 AND id = $2', [
    ...key,
    version,
  ])
  const written = await client.query(
    `INSERT INTO scenario_versions (environment_id, scenario_id, version, definition) VALUES ($1, $2, $3, $4)
       RETURNING version, definition, published_at`,
    [...key, version, text],
  )
  await scheduleSeasons(client, ref, parsed.definition)
  let auditId: string | null = null
  await endDrafts(client, ref, text)
  if (publisher) {
    const { caller, reason, source, planned } = publisher
    const write = planned === undefined ? writeAudit : recordAudit
    auditId = await write(client, caller, {
      environmentId: ref.environmentId,
      action: source ? ACTIONS.cloneScenario : ACTIONS.publishScenario,
      target: ref.scenarioId,
      before: current.rows[0] ? nameVersion(current.rows[0]) : null,
      after: { ...nameVersion(written.rows[0]), source, planned, ...(approvedBy !== null && { approvedBy }) },
      reason,
    })
  }
  return { scenario: published(ref, written.rows[0]), auditId, notices }
}

function checkVersion(current: number, expected: ExpectedVersion | null): void {
  if (expected === null) return
  const { version, path } = expected
  if (version === 'any' ? current > 0 : version === current) return
  const is = current === 0 ? 'the scenario has no version' : `the current version is ${current}`
  const message = version === 'any' ? is : `${is}, not ${version === 0 ? 'none' : version}`
  throw new Refusal('versionConflict', { faults: [{ path, message }] })
}

/** A version and the hash of its text. Texts stay readable, so the log need not repeat them. */
function nameVersion({ version, definition }: VersionRow): { version: number; sha256: string } {
  return { version, sha256: hash('sha256', definition) }
}

export async function readScenario(pool: Pool, ref: ScenarioRef, version: number | null): Promise<PublishedScenario> {
  const { rows } = await pool.query(
    `SELECT v.version, v.definition, v.published_at, s.version AS current FROM scenarios s
     LEFT JOIN scenario_versions v ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = coalesce($3, s.version)
     WHERE s.environment_id = $1 AND s.id = $2`,
    [ref.environmentId, ref.scenarioId, version],
  )
  if (rows.length === 0) throw new Refusal('scenarioNotFound')
  if (rows[0].version === null) throw new Refusal('notFound')
  return published(ref, rows[0])
}

interface VersionRow {
  version: number
  definition: string
  published_at: Date
}

function published({ scenarioId }: ScenarioRef, { version, definition, published_at }: VersionRow): PublishedScenario {
  return { scenarioId, version, definition: new RawJson(definition), publishedAt: published_at.toISOString() }
}

export interface CloneScenario {
  readonly from: ScenarioRef
  /** The name of the source environment, for the audit log. */
  readonly fromEnvironment: string
  /** Null for the current version. */
  readonly version: number | null
  readonly to: ScenarioRef
  /** The version that must be current at the target; null for any. */
  readonly expected: ExpectedVersion | null
  readonly reason: string
}

/**
 * Publishes the text of a version, byte for byte, as the next version of another scenario: in another environment,
 * under another id, or, for an older version, of the same scenario. Refuses as reading and publishing do.
 */
export async function cloneScenario(
  pool: Pool,
  caller: PlatformCaller,
  { from, fromEnvironment: environment, version: wanted, to, expected, reason }: CloneScenario,
): Promise<Publication> {
  // Versions never change, so this text is the published one, even if another version is published meanwhile.
  const { definition, version, scenarioId } = await readScenario(pool, from, wanted)
  const source = { environment, scenarioId, version }
  return publishScenario(pool, to, definition.text, { caller, reason, expected, source })
}
