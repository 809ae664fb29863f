import type { ClientBase, Pool } from 'pg'
import { foldName } from '../../audit/people.ts'
import { type Fault, Refusal } from '../../base/errors.ts'
import { print } from '../../base/json.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { findEnvironment, lockEnvironment } from '../../callers/projects.ts'
import type { Role } from '../../callers/roles.ts'
import type { Transaction } from '../../db/prisma.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import type { Change } from '../../declare/change.ts'
import { assetKey, assetsOf, type Granted } from '../../game/definition/definition.ts'

// The limits of a role in one environment. Admins set them, and have none.

/** The roles that change something and are not admins. */
export const LIMITED_ROLES = ['designer', 'support', 'operator'] as const satisfies readonly Role[]
export type LimitedRole = (typeof LIMITED_ROLES)[number]

/** Null: no limit. */
export interface Limits {
  /** The role changes nothing in the environment. */
  readonly readsOnly: boolean
  /** The largest amount of a currency or of an item that a player is given at once. Premium counts by its price. */
  readonly maxCredit: bigint | null
  /** The most xp that a player is given at once. */
  readonly maxXp: bigint | null
  /** The gifts of one person in a UTC day. */
  readonly maxGiftsPerDay: number | null
  /** The most players of a grant job. */
  readonly maxJobPlayers: number | null
}

export const roleLimits = answer('The limits of a role in an environment. Admins have none.', {
  role: out.oneOf(LIMITED_ROLES, { description: 'The role that the limits are of.' }),
  readsOnly: out.flag('True when the role changes nothing in the environment.'),
  maxCredit: out.orNull(
    out.int64(
      'The largest amount of a currency or of an item that it gives a player at once. Premium counts by its price. The credit limit of the currency holds, too. Null without a limit.',
    ),
  ),
  maxXp: out.orNull(out.int64('The most xp that it gives a player at once. Null without a limit.')),
  maxGiftsPerDay: out.orNull(
    out.int32(
      'How often a person gives something in a UTC day: credits, xp, tiers, premium, boosts, messages with rewards, crossed handles, resets, grant jobs. Null without a limit.',
    ),
  ),
  maxJobPlayers: out.orNull(out.int32('The largest `limit` of a grant job that it makes. Null without a limit.')),
})
export type RoleLimits = AnswerOf<typeof roleLimits>

export const NO_LIMITS: Limits = {
  readsOnly: false,
  maxCredit: null,
  maxXp: null,
  maxGiftsPerDay: null,
  maxJobPlayers: null,
}

const COLUMNS = `reads_only AS "readsOnly", max_credit::text AS "maxCredit", max_xp::text AS "maxXp",
  max_gifts_per_day AS "maxGiftsPerDay", max_job_players AS "maxJobPlayers"`

type Row = Omit<Limits, 'maxCredit' | 'maxXp'> & { readonly maxCredit: string | null; readonly maxXp: string | null }

const big = (text: string | null): bigint | null => (text === null ? null : BigInt(text))
const limitsOf = ({ readsOnly, maxCredit, maxXp, maxGiftsPerDay, maxJobPlayers }: Row): Limits => ({
  readsOnly,
  maxCredit: big(maxCredit),
  maxXp: big(maxXp),
  maxGiftsPerDay,
  maxJobPlayers,
})

const isLimited = (role: Role): role is LimitedRole => (LIMITED_ROLES as readonly Role[]).includes(role)

/** The limits of a role in an environment. */
export async function readLimits(pool: Pool | ClientBase, environmentId: string, role: Role): Promise<Limits> {
  if (!isLimited(role)) return NO_LIMITS
  const { rows } = await pool.query<Row>({
    name: 'limits-of-role',
    text: `SELECT ${COLUMNS} FROM role_limits WHERE environment_id = $1 AND role = $2`,
    values: [environmentId, role],
  })
  return rows[0] ? limitsOf(rows[0]) : NO_LIMITS
}

/** The limits of every role that can have some. */
export async function listLimits(pool: Pool, environmentId: string): Promise<RoleLimits[]> {
  const { rows } = await pool.query<Row & { role: LimitedRole }>(
    `SELECT role, ${COLUMNS} FROM role_limits WHERE environment_id = $1`,
    [environmentId],
  )
  return LIMITED_ROLES.map((role) => {
    const row = rows.find((one) => one.role === role)
    return { role, ...(row ? limitsOf(row) : NO_LIMITS) }
  })
}

/** Sets the limits of a role. */
export async function setLimits(
  { db, client }: Transaction,
  environmentId: string,
  {
    environment,
    role,
    readsOnly,
    maxCredit,
    maxXp,
    maxGiftsPerDay,
    maxJobPlayers,
  }: RoleLimits & { environment: string },
): Promise<Change<{ readonly limits: RoleLimits }>> {
  // Changes run one after another, so that each audit entry has the state before it.
  await lockEnvironment(client, environmentId)
  const before = { role, ...(await readLimits(client, environmentId, role)) }
  const after = { role, readsOnly, maxCredit, maxXp, maxGiftsPerDay, maxJobPlayers }
  if (print(before) === print(after)) return { outcome: { limits: after } }
  await db.roleLimit.upsert({
    where: { environmentId_role: { environmentId, role } },
    create: { environmentId, ...after },
    update: after,
  })
  return { outcome: { limits: after }, target: environment, before, after }
}

/** The environment that a call changes, by its name. Refuses a caller whose role only reads there. */
export async function findChangeable(pool: Pool, caller: PlatformCaller, environment: string): Promise<string> {
  const environmentId = await findEnvironment(pool, caller.projectId, environment)
  await requireChangeable(pool, caller, environmentId)
  return environmentId
}

/** The limits of the caller in an environment that it changes. Refuses a caller whose role only reads there. */
export async function requireChangeable(pool: Pool, caller: PlatformCaller, environmentId: string): Promise<Limits> {
  const limits = await readLimits(pool, environmentId, caller.role)
  if (!limits.readsOnly) return limits
  const message = `The role ${caller.role} only reads in this environment.`
  throw new Refusal('forbidden', { faults: [{ path: '', message }] })
}

const refuse = (fault: Fault): Refusal => new Refusal('roleLimitExceeded', { faults: [fault] })

/** Refuses more xp for a player than the role gives at once. */
export function requireXp({ maxXp }: Limits, { role }: PlatformCaller, xp: bigint, path: string): void {
  if (maxXp === null || xp <= maxXp) return
  throw refuse({
    path,
    message: `The xp is above ${maxXp}, the most that the role ${role} gives at once in this environment.`,
  })
}

/** Refuses what gives a player more of a currency or of an item, in all, than the role gives at once. */
export function requireGift(maxCredit: bigint | null, given: readonly Granted[], path: string): void {
  if (maxCredit === null) return
  const assets = assetsOf(given)
  const sums = new Map<string, bigint>()
  for (const one of assets) sums.set(assetKey(one), (sums.get(assetKey(one)) ?? 0n) + one.amount)
  for (const one of assets) {
    const sum = sums.get(assetKey(one)) ?? 0n
    if (sum <= maxCredit) continue
    const message = `It gives ${sum} of ${JSON.stringify(one.currency ?? one.itemId)}: more than ${maxCredit}, the most that your role gives at once.`
    throw new Refusal('creditLimitExceeded', { faults: [{ path, message }] })
  }
}

/** Refuses levels, whose xp differs by player, where the role has a limit of xp at once. */
export function requireNoXpLimit({ maxXp }: Limits, { role }: PlatformCaller, path: string): void {
  if (maxXp === null) return
  const message = `The role ${role} gives at most ${maxXp} xp at once in this environment, and levels can be more.`
  throw refuse({ path, message })
}

/** Refuses a grant job that may reach more players than the role's jobs do. */
export function requireJobSize({ maxJobPlayers }: Limits, { role }: PlatformCaller, most: number): void {
  if (maxJobPlayers === null || most <= maxJobPlayers) return
  throw refuse({
    path: 'limit',
    message: `The limit is above ${maxJobPlayers}, the most players of a job of the role ${role} in this environment.`,
  })
}

const IS_EARLIER = `t.day <> (now() AT TIME ZONE 'UTC')::date`

/** A gift, by the key with which its call is repeated. */
interface Gift {
  readonly environmentId: string
  readonly idempotencyKey: string
}

/** Instead of the key of a person. */
const ANY_KEY = '00000000-0000-0000-0000-000000000000'

/** The key and the operator of a count. A person of a sign-in is the same with the next key of single sign-on. */
function giverOf(keyId: string, operator: PlatformCaller['operator']): readonly [keyId: string, operator: string] {
  if (operator?.person !== undefined) return [ANY_KEY, operator.person]
  // A name that the call itself claims could be another one with each call.
  return [keyId, operator?.isClaimed === false ? foldName(operator.name) : '']
}

/**
 * Counts a gift of a person, before it is given. A repeat is the same gift. Refuses a gift above the limit of the day.
 * The returned function takes it back, for a gift that was refused.
 */
export async function countGift(
  pool: Pool | ClientBase,
  { maxGiftsPerDay: most }: Limits,
  { keyId, operator, role }: PlatformCaller,
  { environmentId, idempotencyKey }: Gift,
): Promise<() => Promise<void>> {
  if (most === null) return async () => {}
  const values = [environmentId, ...giverOf(keyId, operator), idempotencyKey]
  const { rowCount } = await pool.query(
    `INSERT INTO gift_counts AS t (environment_id, key_id, operator, day, gifts)
     SELECT $1, $2, $3, (now() AT TIME ZONE 'UTC')::date, ARRAY[$4::text] WHERE $5::int > 0
     ON CONFLICT (environment_id, key_id, operator) DO UPDATE SET day = excluded.day, gifts = CASE
       WHEN ${IS_EARLIER} THEN excluded.gifts WHEN $4 = ANY (t.gifts) THEN t.gifts ELSE t.gifts || excluded.gifts END
     WHERE ${IS_EARLIER} OR $4 = ANY (t.gifts) OR cardinality(t.gifts) < $5::int`,
    [...values, most],
  )
  if (rowCount === 0)
    throw refuse({
      path: '',
      message: `The role ${role} gives ${most} times a day in this environment, and you have done so today.`,
    })
  return async () => {
    await pool.query(
      `UPDATE gift_counts SET gifts = array_remove(gifts, $4)
       WHERE environment_id = $1 AND key_id = $2 AND operator = $3`,
      values,
    )
  }
}
