import { hash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { type Json, print } from '../../base/json.ts'
import { MAX_BOOSTS } from '../../base/limits.ts'
import type { InEnvironment } from '../../callers/projects.ts'
import { newId } from '../../db/ids.ts'
import type { Db, Transaction } from '../../db/prisma.ts'
import type { Change } from '../../declare/change.ts'
import type { RequestOf } from '../../declare/shape.ts'
import { gameNow, readGameNow } from '../clock/game-clock.ts'
import { lockSeasons } from '../clock/lock-seasons.ts'
import {
  type BoostState,
  checkWindow,
  type createBoostRequest,
  type endBoostRequest,
  type updateBoostRequest,
} from './requests.ts'
import { type Audience, writeBoosts } from './stored.ts'

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
  { db, client }: Transaction,
  { environmentId, reason, idempotencyKey: key, ...sent }: CreateBoost,
): Promise<BoostChange> {
  const values: Values = { ...sent, scenarios: unique(sent.scenarios), sources: unique(sent.sources) }
  const request = key === null ? null : hash('sha256', print({ ...shown(values), reason }))
  return change(client, environmentId, async (now) => {
    const made = key === null ? null : await findByKey(db, environmentId, key)
    if (made && made.requestSha256 !== request) throw new Refusal('idempotencyKeyReused')
    if (made) return unchanged(made.id)
    const faults = [...futureFaults(values, now), ...(await scenarioFaults(client, environmentId, values.scenarios))]
    if (faults.length > 0) throw invalidRequest(...faults)
    await requireRoom(client, environmentId)

    const id = newId()
    const origin = { idempotencyKey: key, requestSha256: request }
    await db.boost.create({ data: { id, environmentId, ...columnsOf(values), ...origin } })
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
  { db, client }: Transaction,
  { environmentId, boostId, ...sent }: UpdateBoost,
): Promise<BoostChange> {
  return change(client, environmentId, async (now) => {
    const before = await requireBoost(db, environmentId, boostId)
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

    await db.boost.update({ where: { id: boostId }, data: columnsOf(after) })
    return { outcome: { boost: boostId }, target: boostId, before: old, after: next }
  })
}

/** Ends a boost now. A planned one is cancelled. One that has ended stays as it is. */
export function endBoost(
  { db, client }: Transaction,
  { environmentId, boostId }: InEnvironment<RequestOf<typeof endBoostRequest>>,
): Promise<BoostChange> {
  return change(client, environmentId, async (now) => {
    const before = await requireBoost(db, environmentId, boostId)
    if (stateOf(before, now) === 'ended') return unchanged(boostId)
    await db.boost.update({ where: { id: boostId }, data: { endedAt: now } })
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

/** Prisma takes no list that is read-only, and no other member. */
const columnsOf = ({ name, percent, startsAt, endsAt, scenarios, sources, audience }: Values) => ({
  name,
  percent,
  startsAt,
  endsAt,
  scenarios: [...scenarios],
  sources: [...sources],
  audience,
})

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

const findByKey = (db: Db, environmentId: string, idempotencyKey: string) =>
  db.boost.findUnique({ where: { environmentId_idempotencyKey: { environmentId, idempotencyKey } } })

async function requireBoost(db: Db, environmentId: string, id: string): Promise<Stored> {
  const found = await db.boost.findUnique({ where: { environmentId_id: { environmentId, id } } })
  if (!found) throw new Refusal('notFound')
  return { ...found, audience: found.audience as Audience }
}
