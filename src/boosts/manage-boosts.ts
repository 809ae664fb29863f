import { hash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { type Fault, invalidRequest, Refusal } from '../base/errors.ts'
import { type Json, print } from '../base/json.ts'
import { MAX_BOOSTS } from '../base/limits.ts'
import { newId } from '../db/ids.ts'
import type { Change } from '../declare/change.ts'
import type { RequestOf } from '../declare/shape.ts'
import type { InEnvironment } from '../projects/projects.ts'
import { type Audience, writeBoosts } from '../scenario/boosts.ts'
import { gameNow, readGameNow } from '../scenario/game-clock.ts'
import { lockSeasons } from '../scenario/season-schedule.ts'
import {
  type BoostState,
  checkWindow,
  type createBoostRequest,
  type endBoostRequest,
  type updateBoostRequest,
} from './requests.ts'

// Changes of an environment's boosts. Each writes the boosts beside the scenarios that they are for, in its transaction:
// once it is answered, no call is decided by the state before.

interface Values {
  readonly name: string
  readonly percent: number
  readonly startsAt: Date
  readonly endsAt: Date
  readonly scenarios: readonly string[]
  readonly sources: readonly string[]
  readonly audience: Audience
}

interface Stored extends Values {
  readonly endedAt: Date | null
}

type BoostChange = Change<{ readonly boost: string }>

const unchanged = (boost: string): BoostChange => ({ outcome: { boost } })

export function stateOf({ startsAt, endsAt, endedAt }: Pick<Stored, 'startsAt' | 'endsAt' | 'endedAt'>, now: Date) {
  const state: BoostState = endedAt !== null || endsAt <= now ? 'ended' : startsAt <= now ? 'running' : 'planned'
  return state
}

type CreateBoost = InEnvironment<RequestOf<typeof createBoostRequest>>

/**
 * Makes a boost. Refuses unknown scenarios, a time that has passed, and one boost too many. With the idempotency key of
 * an earlier call it changes nothing; another request with the same key is refused.
 */
export function createBoost(
  client: ClientBase,
  { environmentId, reason, idempotencyKey: key, ...sent }: CreateBoost,
): Promise<BoostChange> {
  const values: Values = { ...sent, scenarios: unique(sent.scenarios), sources: unique(sent.sources) }
  const request = key === null ? null : hash('sha256', print({ ...shown(values), reason }))
  return change(client, environmentId, async (now) => {
    const made = key === null ? null : await findByKey(client, environmentId, key)
    if (made && made.request !== request) throw new Refusal('idempotencyKeyReused')
    if (made) return unchanged(made.id)
    const faults = [...futureFaults(values, now), ...(await scenarioFaults(client, environmentId, values.scenarios))]
    if (faults.length > 0) throw invalidRequest(...faults)
    await requireRoom(client, environmentId)

    const id = newId()
    await client.query(
      `INSERT INTO boosts (id, environment_id, name, percent, starts_at, ends_at, scenarios, sources, audience,
         idempotency_key, request_sha256)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [id, environmentId, ...valuesOf(values), key, request],
    )
    return { outcome: { boost: id }, target: id, before: null, after: shown(values) }
  })
}

type UpdateBoost = InEnvironment<RequestOf<typeof updateBoostRequest>>

/** The members that may change once a boost has started. */
const CHANGED_LATER: readonly (keyof Values)[] = ['name', 'endsAt']

/**
 * Changes the members that are sent. Refuses the change of an ended boost, and of a running one unless it is of its name
 * or its end. A member that is sent with its stored value does not change.
 */
export function updateBoost(
  client: ClientBase,
  { environmentId, boostId, ...sent }: UpdateBoost,
): Promise<BoostChange> {
  return change(client, environmentId, async (now) => {
    const before = await requireBoost(client, environmentId, boostId)
    const after: Values = {
      name: sent.name ?? before.name,
      percent: sent.percent ?? before.percent,
      startsAt: sent.startsAt ?? before.startsAt,
      endsAt: sent.endsAt ?? before.endsAt,
      scenarios: sent.scenarios ? unique(sent.scenarios) : before.scenarios,
      sources: sent.sources ? unique(sent.sources) : before.sources,
      audience: sent.audience ?? before.audience,
    }
    const [old, next] = [shown(before), shown(after)]
    const changed = (Object.keys(after) as (keyof Values)[]).filter((name) => print(old[name]) !== print(next[name]))
    if (changed.length === 0) return unchanged(boostId)

    const state = stateOf(before, now)
    if (state === 'ended') throw invalidRequest({ path: 'boostId', message: 'is of a boost that has ended' })
    const faults: Fault[] = changed
      .filter((name) => state === 'running' && !CHANGED_LATER.includes(name))
      .map((path) => ({ path, message: 'cannot change once the boost has started' }))
    if (changed.includes('startsAt') || changed.includes('endsAt'))
      faults.push(...checkWindow(after), ...futureFaults(after, now))
    if (changed.includes('scenarios')) faults.push(...(await scenarioFaults(client, environmentId, after.scenarios)))
    if (faults.length > 0) throw invalidRequest(...faults)

    await client.query(
      `UPDATE boosts SET name = $2, percent = $3, starts_at = $4, ends_at = $5, scenarios = $6, sources = $7,
         audience = $8 WHERE id = $1`,
      [boostId, ...valuesOf(after)],
    )
    return { outcome: { boost: boostId }, target: boostId, before: old, after: next }
  })
}

/** Ends a boost now. A planned one is cancelled. One that has ended stays as it is. */
export function endBoost(
  client: ClientBase,
  { environmentId, boostId }: InEnvironment<RequestOf<typeof endBoostRequest>>,
): Promise<BoostChange> {
  return change(client, environmentId, async (now) => {
    const before = await requireBoost(client, environmentId, boostId)
    if (stateOf(before, now) === 'ended') return unchanged(boostId)
    await client.query('UPDATE boosts SET ended_at = $2 WHERE id = $1', [boostId, now])
    const old = shown(before)
    return { outcome: { boost: boostId }, target: boostId, before: old, after: { ...old, endedAt: now.toISOString() } }
  })
}

/** One change after another. The time is that of the game, once it is this change's turn. */
async function change(
  client: ClientBase,
  environmentId: string,
  apply: (now: Date) => Promise<BoostChange>,
): Promise<BoostChange> {
  await lockSeasons(client)
  const changed = await apply(await readGameNow(client, environmentId))
  await writeBoosts(client, environmentId)
  return changed
}

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)]

/** A boost as the audit log has it. */
const shown = ({ name, percent, startsAt, endsAt, scenarios, sources, audience }: Values) =>
  ({
    name,
    percent,
    startsAt: startsAt.toISOString(),
    endsAt: endsAt.toISOString(),
    scenarios: [...scenarios],
    sources: [...sources],
    audience,
  }) satisfies Record<keyof Values, Json>

const valuesOf = ({ name, percent, startsAt, endsAt, scenarios, sources, audience }: Values): unknown[] => [
  name,
  percent,
  startsAt,
  endsAt,
  scenarios,
  sources,
  audience,
]

const futureFaults = ({ endsAt }: Pick<Values, 'endsAt'>, now: Date): Fault[] =>
  endsAt <= now ? [{ path: 'endsAt', message: 'must be to come' }] : []

/** The faults of names that are no scenario of the environment. */
export async function scenarioFaults(
  client: ClientBase | Pool,
  environmentId: string,
  scenarios: readonly string[],
): Promise<Fault[]> {
  if (scenarios.length === 0) return []
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM scenarios WHERE environment_id = $1 AND id = ANY ($2)',
    [environmentId, scenarios],
  )
  const known = new Set(rows.map(({ id }) => id))
  return scenarios.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: `scenarios[${index}]`, message: 'is no scenario of this environment' }],
  )
}

async function requireRoom(client: ClientBase, environmentId: string): Promise<void> {
  const { rows } = await client.query<{ boosts: number }>(
    `SELECT count(*)::int AS boosts FROM boosts b JOIN environments e ON e.id = b.environment_id
     WHERE b.environment_id = $1 AND b.ended_at IS NULL AND b.ends_at > ${gameNow('e')}`,
    [environmentId],
  )
  if ((rows[0]?.boosts ?? 0) < MAX_BOOSTS) return
  const message = `has ${MAX_BOOSTS} boosts that have not ended, the most that it can have`
  throw invalidRequest({ path: 'environment', message })
}

async function findByKey(client: ClientBase, environmentId: string, key: string) {
  const { rows } = await client.query<{ id: string; request: string }>(
    'SELECT id, request_sha256 AS request FROM boosts WHERE environment_id = $1 AND idempotency_key = $2',
    [environmentId, key],
  )
  return rows[0] ?? null
}

async function requireBoost(client: ClientBase, environmentId: string, boostId: string): Promise<Stored> {
  const { rows } = await client.query<Stored>(
    `SELECT name, percent, starts_at AS "startsAt", ends_at AS "endsAt", scenarios, sources, audience,
       ended_at AS "endedAt"
     FROM boosts WHERE environment_id = $1 AND id = $2`,
    [environmentId, boostId],
  )
  if (!rows[0]) throw new Refusal('notFound')
  return rows[0]
}
