import type { ClientBase, Pool } from 'pg'
import { operatorOf } from '../../audit/audit-log.ts'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { MAX_PLANNED } from '../../base/limits.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { newId } from '../../db/ids.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { Change } from '../../declare/change.ts'
import { gameNow, LATEST_NOW, readGameNow } from '../../game/clock/game-clock.ts'
import { lockSeasons } from '../../game/clock/lock-seasons.ts'
import { validateDefinition } from '../../game/definition/parse.ts'
import { requireApproval } from './drafts.ts'
import { publishWithin } from './publish.ts'

// Publications at a later time: rows of `scheduled_publications`. Every instance looks for those that are due
// (season-job.ts); the publication and the mark that it was made are one transaction.

export const PUBLICATION_STATES = ['planned', 'published', 'failed', 'cancelled'] as const
export type PublicationState = (typeof PUBLICATION_STATES)[number]

export interface PlannedPublication {
  readonly id: string
  readonly scenarioId: string
  readonly definition: string
  readonly publishAt: Date
  readonly expectedVersion: number | null
  readonly state: PublicationState
  readonly version: number | null
  readonly failure: string | null
  readonly operator: string | null
  readonly reason: string
  readonly createdAt: Date
  readonly endedAt: Date | null
}

const COLUMNS = `id, scenario_id AS "scenarioId", definition, publish_at AS "publishAt", expected_version AS "expectedVersion",
  state, version, failure, operator, reason, created_at AS "createdAt", ended_at AS "endedAt"`

export interface SchedulePublication {
  readonly scenarioId: string
  readonly definition: string
  readonly publishAt: Date
  readonly expectedVersion: number | null
  readonly reason: string
}

/** A publication, with the name of its environment. */
export interface ShownPublication extends PlannedPublication {
  readonly environment: string
  readonly environmentId: string
}

type InNamed<T> = T & { readonly environment: string; readonly environmentId: string }

/** Plans a publication. Refuses a definition with faults, a time that is not to come, and more than the limit. */
export async function schedulePublication(
  client: ClientBase,
  caller: PlatformCaller,
  asked: InNamed<SchedulePublication>,
): Promise<Change<{ readonly publication: ShownPublication; readonly notices: readonly Fault[] }>> {
  const { environment, environmentId, scenarioId, definition, publishAt, expectedVersion, reason } = asked
  // Otherwise several at once could pass the limit.
  await lockSeasons(client)
  const now = await readGameNow(client, environmentId)
  const { notices, faults: ofDefinition } = validateDefinition(definition, now, scenarioId)
  const faults = [...ofDefinition]
  const { rows: known } = await client.query<{ planned: number }>(
    "SELECT count(*)::int AS planned FROM scheduled_publications WHERE environment_id = $1 AND state = 'planned'",
    [environmentId],
  )
  if (publishAt <= now) faults.push({ path: 'publishAt', message: 'must be a time to come' })
  if ((known[0]?.planned ?? 0) >= MAX_PLANNED)
    faults.push({ path: '', message: `The environment has ${MAX_PLANNED} planned publications.` })
  if (faults.length > 0) throw invalidRequest(...faults)
  await requireApproval(client, { environmentId, scenarioId }, definition)
  const { operator, operatorIsClaimed } = operatorOf(caller)
  const { rows } = await client.query<PlannedPublication>(
    `INSERT INTO scheduled_publications
       (environment_id, id, scenario_id, definition, publish_at, expected_version, project_id, key_id, operator, operator_is_claimed, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${COLUMNS}`,
    [
      environmentId,
      newId(),
      scenarioId,
      definition,
      publishAt,
      expectedVersion,
      caller.projectId,
      caller.keyId,
      operator,
      operatorIsClaimed,
      reason,
    ],
  )
  const publication = { ...(rows[0] as PlannedPublication), environment, environmentId }
  return { outcome: { publication, notices }, target: scenarioId, before: null, after: nameOf(publication) }
}

const nameOf = ({ id, publishAt, expectedVersion, state }: PlannedPublication) => ({
  id,
  publishAt: publishAt.toISOString(),
  state,
  ...(expectedVersion !== null && { expectedVersion }),
})

/** Cancels a planned publication. One that has ended stays as it is, and nothing is audited. Refuses an unknown one. */
export async function cancelPublication(
  client: ClientBase,
  { environment, environmentId, publicationId: id }: InNamed<{ readonly publicationId: string }>,
): Promise<Change<{ readonly publication: ShownPublication }>> {
  const { rows: found } = await client.query<PlannedPublication>(
    `SELECT ${COLUMNS} FROM scheduled_publications WHERE environment_id = $1 AND id = $2 FOR UPDATE`,
    [environmentId, id],
  )
  const [before] = found
  if (!before) throw new Refusal('notFound')
  if (before.state !== 'planned') return { outcome: { publication: { ...before, environment, environmentId } } }
  const { rows } = await client.query<PlannedPublication>(
    `UPDATE scheduled_publications SET state = 'cancelled', ended_at = clock_timestamp()
     WHERE environment_id = $1 AND id = $2 RETURNING ${COLUMNS}`,
    [environmentId, id],
  )
  const publication = { ...(rows[0] as PlannedPublication), environment, environmentId }
  return { outcome: { publication }, target: before.scenarioId, before: nameOf(before), after: nameOf(publication) }
}

/** The latest planned publications that a list has, and the latest ones that have ended. */
export const MOST_LISTED = 100

/** Planned ones by their time, then those that have ended, the latest first. */
export async function listPublications(
  pool: Pool,
  environmentId: string,
  scenarioId: string | null,
): Promise<PlannedPublication[]> {
  const list = (where: string, order: string) =>
    `(SELECT ${COLUMNS} FROM scheduled_publications WHERE environment_id = $1 AND ($2::text IS NULL OR scenario_id = $2)
       AND ${where} ORDER BY ${order} LIMIT ${MOST_LISTED})`
  const { rows } = await pool.query<PlannedPublication>(
    `${list("state = 'planned'", 'publish_at, id')} UNION ALL ${list("state <> 'planned'", 'ended_at DESC, id')}`,
    [environmentId, scenarioId],
  )
  return rows
}

/** Publications by their ids, in the order of their times. */
export async function readPublications(
  pool: Pool,
  environmentId: string,
  ids: readonly string[],
): Promise<PlannedPublication[]> {
  const { rows } = await pool.query<PlannedPublication>(
    `SELECT ${COLUMNS} FROM scheduled_publications WHERE environment_id = $1 AND id = ANY ($2) ORDER BY publish_at, id`,
    [environmentId, ids],
  )
  return rows
}

export const readPublication = async (pool: Pool, environmentId: string, id: string) =>
  (await readPublications(pool, environmentId, [id]))[0] ?? null

/** What a key has planned, in the order of its times. It continues when the key is revoked. */
export async function plannedBy(
  pool: Pool,
  keyId: string,
): Promise<(PlannedPublication & { readonly environmentId: string; readonly environment: string })[]> {
  const { rows } = await pool.query(
    `SELECT ${COLUMNS}, environment_id AS "environmentId",
       (SELECT e.name FROM environments e WHERE e.id = environment_id) AS environment
     FROM scheduled_publications WHERE state = 'planned' AND key_id = $1 ORDER BY publish_at, id`,
    [keyId],
  )
  return rows
}

interface Due extends PlannedPublication {
  readonly environmentId: string
  readonly projectId: string
  readonly keyId: string
  readonly isClaimed: boolean
}

/** Those whose time has come by the clock of their environment. */
const DUE = `state = 'planned' AND publish_at <= ${LATEST_NOW}
  AND publish_at <= (SELECT ${gameNow('e')} FROM environments e WHERE e.id = p.environment_id)`
const LOOK = {
  name: 'publications-look',
  text: `SELECT EXISTS (SELECT FROM scheduled_publications p WHERE ${DUE}) AS due`,
}
const TAKE = `SELECT ${COLUMNS}, environment_id AS "environmentId", project_id AS "projectId", key_id AS "keyId",
    operator_is_claimed AS "isClaimed"
  FROM scheduled_publications p WHERE ${DUE} ORDER BY publish_at, id LIMIT 1 FOR UPDATE SKIP LOCKED`
const END = `UPDATE scheduled_publications SET state = $3, version = $4, failure = $5, ended_at = clock_timestamp()
  WHERE environment_id = $1 AND id = $2`

/**
 * Publishes what is due, in the order of its times, also where the key that planned it was revoked. One that is refused,
 * as another version is current, has failed, and the others go on.
 */
export async function publishDue(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ due: boolean }>(LOOK)
  for (let isLeft = rows[0]?.due ?? false; isLeft; )
    isLeft = await inTransaction(pool, async (client) => {
      // Its holder alone publishes: so two instances keep the order of publications.
      await lockSeasons(client)
      const { rows: due } = await client.query<Due>(TAKE)
      const [one] = due
      if (!one) return false
      await client.query('SAVEPOINT publication')
      try {
        const { scenario } = await publishWithin(client, one, one.definition, publisherOf(one))
        await client.query(END, [one.environmentId, one.id, 'published', scenario.version, null])
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        await client.query('ROLLBACK TO SAVEPOINT publication')
        await client.query(END, [one.environmentId, one.id, 'failed', null, failureOf(error)])
      }
      return true
    })
}

const publisherOf = ({ id, projectId, keyId, operator, isClaimed, reason, expectedVersion }: Due) => ({
  caller: {
    kind: 'platform',
    keyId,
    projectId,
    role: 'admin',
    ...(operator !== null && { operator: { name: operator, isClaimed } }),
  } as const satisfies PlatformCaller,
  reason,
  planned: id,
  expected: expectedVersion === null ? null : { version: expectedVersion, path: 'expectedVersion' },
})

function failureOf({ faults, message }: Refusal): string {
  const places = faults.map((fault) => (fault.path === '' ? fault.message : `${fault.path}: ${fault.message}`))
  return [message, ...places].join('; ')
}
