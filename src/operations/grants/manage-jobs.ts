import type { ClientBase, Pool } from 'pg'
import { filterJson, readSegment } from '../../accounts/lists/segments.ts'
import { ACTIONS } from '../../audit/actions.ts'
import { writeAudit } from '../../audit/audit-log.ts'
import { isAnother, makerOf } from '../../audit/people.ts'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { type Json, print } from '../../base/json.ts'
import { MAX_GRANT_JOBS } from '../../base/limits.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { type InEnvironment, lockEnvironment } from '../../callers/projects.ts'
import { hasRight } from '../../callers/roles.ts'
import { newId } from '../../db/ids.ts'
import type { Transaction } from '../../db/prisma.ts'
import { inTransaction } from '../../db/transaction.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import type { Change } from '../../declare/change.ts'
import { type RequestOf, refuseFaults } from '../../declare/shape.ts'
import type { JobState } from '../../events/catalogue.ts'
import { findPass } from '../../game/battlepass/passes.ts'
import type { PassNode } from '../../game/definition/definition.ts'
import { currentDefinition } from '../../game/runs/scenarios.ts'
import { readCreditRules, requireCredit } from '../../game/wallet/currencies.ts'
import { findTargets, type PlayerTarget } from '../../players/player-target.ts'
import type { GroupCommit } from '../../transactions/group-commit.ts'
import {
  countGift,
  readLimits,
  requireGift,
  requireJobSize,
  requireNoXpLimit,
  requireXp,
} from '../calls/role-limits.ts'
import {
  type GiftMessage,
  giftJson,
  hashOf,
  printTarget,
  publishing,
  readGift,
  readPolicy,
  type Target,
  totalOf,
} from './job.ts'
import { findList, type ListedPlayer, storeList } from './player-lists.ts'
import {
  type CreateGrantJob,
  ENDED,
  type jobRequest,
  type Preview,
  type setPolicyRequest,
  type TargetInput,
  type undoRequest,
} from './requests.ts'

// What operators do with grant jobs. Each change has its audit entry and its event in the same transaction.

export interface Sources {
  readonly pool: Pool
  readonly operatorPool: Pool
  readonly run: GroupCommit['run']
}

/** A job that was made. The audit entry is null for one that was made before. */
export interface MadeJob {
  readonly jobId: string
  readonly auditId: string | null
}

/** What a request asks for, once its names are looked up: players that it names have no list yet. */
export interface Resolved {
  readonly target: Target | { readonly kind: 'players'; readonly players: readonly ListedPlayer[] }
  readonly message: GiftMessage | null
  /** The pass of xp, levels or premium. */
  readonly pass: PassNode | null
}

/**
 * Looks up what a request names. Refuses, with all faults at once, unknown players, lists, segments, scenarios and
 * nodes, amounts that are missing or there twice, currencies by the rules of credits, and more than the role gives.
 */
export async function resolve(
  { operatorPool, run }: Sources,
  caller: PlatformCaller,
  { environmentId, to, give, message, image, expiresInDays, allowNew, limit }: InEnvironment<Preview>,
): Promise<Resolved> {
  const faults: Fault[] = []
  const limits = await readLimits(operatorPool, environmentId, caller.role)
  const target = await resolveTarget(operatorPool, environmentId, to, faults)
  const list = target.kind === 'list' ? await findList(operatorPool, environmentId, target.listId) : null
  if (target.kind === 'list' && !list)
    faults.push({ path: 'to.listId', message: 'is no list of players of this environment' })
  faults.push(...amountFaults(give, list?.hasAmounts ?? false))
  const at = give?.xp ?? give?.levels ?? give?.premium
  let node: PassNode | null = null
  if (at) {
    const path = `give.${give?.xp ? 'xp' : give?.levels ? 'levels' : 'premium'}`
    const definition = await run(currentDefinition({ environmentId, scenarioId: at.scenarioId }))
    const pass = findPass(definition, at.nodeId)
    if (!definition) faults.push({ path: `${path}.scenarioId`, message: 'is no scenario of this environment' })
    else if (!pass) faults.push({ path: `${path}.nodeId`, message: 'is no battle pass of the scenario' })
    else if (give?.premium && !pass.node.premium)
      faults.push({ path: `${path}.nodeId`, message: 'is a battle pass that sells no premium' })
    node = pass?.node ?? null
  }
  refuseFaults(faults)
  const { rewards } = totalOf(give, 1, list?.largest ?? 0n)
  requireGift(
    limits.maxCredit,
    rewards.filter(({ itemId }) => itemId !== null),
    'give.rewards',
  )
  if (give?.premium && node?.premium) requireGift(limits.maxCredit, [{ itemId: null, ...node.premium }], 'give.premium')
  // What one player gets of a currency in all, by the rules of credits.
  for (const { currency, amount } of rewards) {
    if (currency === null) continue
    const index = give?.rewards?.findIndex((reward) => reward.currency === currency)
    const isAdmin = hasRight(caller.role, 'manage')
    const rules = await readCreditRules(operatorPool, environmentId, currency, { isAdmin, most: limits.maxCredit })
    requireCredit(rules, { currency, amount, allowNew }, `give.rewards[${index}].`)
  }
  if (give?.xp) requireXp(limits, caller, give.xp.amount ?? list?.largest ?? 0n, 'give.xp.amount')
  if (give?.levels) requireNoXpLimit(limits, caller, 'give.levels')
  requireJobSize(limits, caller, limit)
  return { target, message: message && { texts: message, image, days: expiresInDays }, pass: node }
}

function amountFaults(give: Preview['give'], hasAmounts: boolean): Fault[] {
  const amounts = [
    ...(give?.rewards ?? []).flatMap(({ amount, boost }, index) =>
      boost ? [] : [{ amount, path: `give.rewards[${index}].amount` }],
    ),
    ...(give?.xp ? [{ amount: give.xp.amount, path: 'give.xp.amount' }] : []),
  ]
  if (!hasAmounts)
    return amounts.flatMap(({ amount, path }) => (amount === null ? [{ path, message: 'is required' }] : []))
  if (amounts.length !== 1)
    return [{ path: 'to.listId', message: 'is a list with amounts, which are of one reward or of xp' }]
  return amounts.flatMap(({ amount, path }) =>
    amount === null ? [] : [{ path, message: 'must be left out: the list has the amounts' }],
  )
}

async function resolveTarget(
  pool: Pool,
  environmentId: string,
  { playerIds, identities, listId, filter, segment }: TargetInput,
  faults: Fault[],
): Promise<Resolved['target']> {
  if (listId !== null) return { kind: 'list', listId: listId.toLowerCase() }
  if (filter !== null) return { kind: 'filter', filter, segment: null }
  if (segment !== null)
    return { kind: 'filter', filter: await readSegment(pool, environmentId, segment, 'to.segment'), segment }
  const asked: readonly PlayerTarget[] =
    playerIds?.map((playerId) => ({ playerId, provider: null, subject: null })) ??
    (identities ?? []).map((identity) => ({ playerId: null, ...identity }))
  const path = playerIds ? 'to.playerIds' : 'to.identities'
  const found = await findTargets(pool, environmentId, asked)
  const seen = new Set<string>()
  const players: ListedPlayer[] = []
  for (const [index, player] of found.entries()) {
    const at = `${path}[${index}]`
    if (!player) faults.push({ path: at, message: 'is no player of this environment' })
    else if (seen.has(player.playerId)) faults.push({ path: at, message: 'is there twice' })
    else players.push({ playerId: player.playerId, amount: null })
    if (player) seen.add(player.playerId)
  }
  return { kind: 'players', players }
}

/** Makes a job. With the idempotency key of an earlier call it changes nothing; another request with it is refused. */
export async function createGrantJob(
  sources: Sources,
  caller: PlatformCaller,
  { environmentId, reason, idempotencyKey: key, startsAt, ...asked }: InEnvironment<CreateGrantJob>,
): Promise<MadeJob> {
  const { operatorPool } = sources
  const { to, give, limit } = asked
  const filter = to.filter && filterJson(to.filter)
  const request = hashOf({
    ...(asked as object),
    to: { ...to, filter },
    reason,
    ...startOf(startsAt),
  } as unknown as Json)
  const known = await findByKey(operatorPool, environmentId, key, request)
  if (known !== undefined) return { jobId: known, auditId: null }
  const { target: resolved, message } = await resolve(sources, caller, { environmentId, ...asked })
  return inTransaction(operatorPool, async (client) => {
    const made = await begin(client, environmentId, key, request)
    if (made !== undefined) return { jobId: made, auditId: null }
    const target: Target =
      resolved.kind === 'players'
        ? { kind: 'list', listId: (await storeList(client, environmentId, resolved.players)).listId }
        : resolved
    const job = {
      environmentId,
      target,
      undoOf: null,
      gift: giftJson(give),
      message,
      most: limit,
      startsAt,
      reason,
      key,
      request,
    }
    const limits = await readLimits(client, environmentId, caller.role)
    await countGift(client, limits, caller, { environmentId, idempotencyKey: key })
    const jobId = await insert(client, caller, job)
    const after = {
      to: JSON.parse(printTarget(target)) as Json,
      give: giftJson(give),
      limit,
      ...startOf(startsAt),
      ...(message && { message: message.texts as unknown as Json, image: message.image }),
    }
    const entry = { environmentId, action: ACTIONS.createGrantJob, target: jobId, before: null, after, reason }
    return { jobId, auditId: await writeAudit(client, caller, entry) }
  })
}

/** The start that a request asks for, in its hash and in its audit entry. */
const startOf = (startsAt: Date | null): { readonly startsAt?: string } =>
  startsAt === null ? {} : { startsAt: startsAt.toISOString() }

/** Makes a job that takes back what another one gave. A job that has an undo already keeps it. */
export async function undoGrantJob(
  client: ClientBase,
  caller: PlatformCaller,
  { environmentId, jobId, reason, idempotencyKey: key }: InEnvironment<RequestOf<typeof undoRequest>>,
): Promise<Change<{ readonly job: string }>> {
  const request = hashOf({ undo: jobId, reason })
  const made = await begin(client, environmentId, key, request)
  if (made !== undefined) return { outcome: { job: made } }
  const origin = await lockJob(client, environmentId, jobId)
  refuseFaults(undoFaults(origin))
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM grant_jobs WHERE undo_of = $1 AND state NOT IN ('cancelled', 'failed')`,
    [jobId],
  )
  if (rows[0]) return { outcome: { job: rows[0].id } }
  const job = await insert(client, caller, {
    environmentId,
    undoOf: jobId,
    gift: origin.gift,
    message: null,
    most: origin.players,
    startsAt: null,
    target: { kind: 'undo', jobId },
    reason,
    key,
    request,
  })
  return { outcome: { job }, target: job, before: null, after: { undoOf: jobId } }
}

/** Why a job cannot be undone. */
export function undoFaults({ state, undoOf, gift: stored }: Pick<Stored, 'state' | 'undoOf' | 'gift'>): Fault[] {
  const gift = readGift(print(stored))
  const fault = (message: string) => [{ path: 'jobId', message }]
  if (undoOf !== null) return fault('is of a job that undoes another one')
  if (!ENDED.includes(state)) return fault('is of a job that has not ended: cancel it first')
  if (gift?.xp || gift?.levels) return fault('is of a job that gave xp, which is not taken back')
  return []
}

interface NewJob {
  readonly environmentId: string
  readonly target: Target
  readonly undoOf: string | null
  readonly gift: Json
  readonly message: GiftMessage | null
  readonly most: number
  /** One that has passed starts the job at once, as null does. */
  readonly startsAt: Date | null
  readonly reason: string
  readonly key: string
  readonly request: string
}

/** Makes a job, and gives its id. */
async function insert(
  client: ClientBase,
  caller: PlatformCaller,
  { environmentId, target, undoOf, gift, message, most, startsAt, reason, key, request }: NewJob,
): Promise<string> {
  const id = newId()
  const { operator, operatorIsClaimed, operatorPerson } = makerOf(caller)
  await client.query(
    `INSERT INTO grant_jobs (id, environment_id, target, list_id, undo_of, gift, message, most, reason, project_id,
       key_id, operator, operator_is_claimed, idempotency_key, request_sha256, operator_person, starts_at, state)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $17,
       CASE WHEN $16::timestamptz > now() THEN $16::timestamptz END,
       CASE WHEN $16::timestamptz > now() THEN 'planned' ELSE 'collecting' END)`,
    [
      id,
      environmentId,
      printTarget(target),
      target.kind === 'list' ? target.listId : null,
      undoOf,
      print(gift),
      message && JSON.stringify(message),
      most,
      reason,
      caller.projectId,
      caller.keyId,
      operator,
      operatorIsClaimed,
      key,
      request,
      startsAt,
      operatorPerson,
    ],
  )
  await client.query(publishing('UPDATE grant_jobs t SET told_at = now() WHERE t.id = $1'), [id])
  return id
}

/** One new job after another. The job that was made with the key before, if any. Refuses one job too many. */
async function begin(
  client: ClientBase,
  environmentId: string,
  key: string,
  request: string,
): Promise<string | undefined> {
  await lockEnvironment(client, environmentId)
  const made = await findByKey(client, environmentId, key, request)
  if (made !== undefined) return made
  const { rows } = await client.query<{ jobs: number }>(
    'SELECT count(*)::int AS jobs FROM grant_jobs WHERE environment_id = $1 AND NOT state = ANY ($2)',
    [environmentId, ENDED],
  )
  if ((rows[0]?.jobs ?? 0) < MAX_GRANT_JOBS) return undefined
  const message = `has ${MAX_GRANT_JOBS} grant jobs that have not ended, the most that it can have`
  throw invalidRequest({ path: 'environment', message })
}

async function findByKey(
  client: ClientBase | Pool,
  environmentId: string,
  key: string,
  request: string,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string; request: string }>(
    'SELECT id, request_sha256 AS request FROM grant_jobs WHERE environment_id = $1 AND idempotency_key = $2',
    [environmentId, key],
  )
  const [made] = rows
  if (made && made.request !== request) throw new Refusal('idempotencyKeyReused')
  return made?.id
}

interface Stored {
  readonly state: JobState
  readonly players: number
  readonly undoOf: string | null
  readonly gift: Json
  readonly keyId: string
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
  readonly operatorPerson: string | null
}

async function lockJob(client: ClientBase, environmentId: string, jobId: string): Promise<Stored> {
  const { rows } = await client.query<Stored & { gift: string }>(
    `SELECT state, players, undo_of AS "undoOf", gift, key_id AS "keyId", operator,
       operator_is_claimed AS "operatorIsClaimed", operator_person AS "operatorPerson"
     FROM grant_jobs WHERE environment_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    [environmentId, jobId],
  )
  if (!rows[0]) throw new Refusal('notFound')
  return { ...rows[0], gift: giftJson(readGift(rows[0].gift)) }
}

interface Move {
  readonly from: readonly JobState[]
  readonly to: JobState
  /** The words of the state that a job must have. */
  readonly needs: string
}

const MOVES = {
  approve: { from: ['awaiting approval'], to: 'running', needs: 'awaits approval' },
  pause: { from: ['running'], to: 'paused', needs: 'is running' },
  resume: { from: ['paused'], to: 'running', needs: 'is paused' },
  cancel: {
    from: ['planned', 'collecting', 'awaiting approval', 'running', 'paused'],
    to: 'cancelled',
    needs: 'has not ended',
  },
} as const satisfies Readonly<Record<string, Move>>

/**
 * Moves a job to another state. One that has it already stays as it is. Once a pause or a cancellation is answered,
 * nobody gets anything. The operator who resumes a job is responsible for it from then on.
 */
export async function moveJob(
  client: ClientBase,
  caller: PlatformCaller,
  name: keyof typeof MOVES,
  { environmentId, jobId }: InEnvironment<RequestOf<typeof jobRequest>>,
): Promise<Change<{ readonly job: string }>> {
  const { from, to, needs }: Move = MOVES[name]
  const outcome = { job: jobId }
  const job = await lockJob(client, environmentId, jobId)
  if (job.state === to) return { outcome }
  if (!from.includes(job.state))
    throw invalidRequest({ path: 'jobId', message: `is of a job that is ${job.state}: it must be one that ${needs}` })
  if (name === 'approve' && !isAnother(caller, job))
    throw new Refusal('forbidden', {
      faults: [{ path: 'jobId', message: 'is of a job that a second person must approve' }],
    })
  const sets = ['state = $2', 'told_at = now()', ...(to === 'cancelled' ? ['finished_at = clock_timestamp()'] : [])]
  const { operator, operatorIsClaimed, operatorPerson } = makerOf(caller)
  const values: unknown[] = [jobId, to]
  if (name === 'approve') {
    sets.push('approved_at = clock_timestamp()', 'approved_by_key = $3', 'approved_by = $4')
    values.push(caller.keyId, operator)
  } else if (name === 'resume') {
    sets.push('note = NULL', 'key_id = $3', 'operator = $4', 'operator_is_claimed = $5')
    sets.push('operator_person = $6')
    values.push(caller.keyId, operator, operatorIsClaimed, operatorPerson)
  }
  await client.query(publishing(`UPDATE grant_jobs t SET ${sets.join(', ')} WHERE t.id = $1`), values)
  return { outcome, target: jobId, before: { state: job.state }, after: { state: to } }
}

export const grantPolicy = answer('Above which size a grant job waits for the approval of a second person.', {
  approvalAbovePlayers: out.orNull(out.int32('The most players without approval. Null without a limit.')),
  approvalAboveAmount: out.orNull(
    out.int64('The largest total of one currency, one item or xp without approval. Null without a limit.'),
  ),
})
type GrantPolicy = AnswerOf<typeof grantPolicy>

export async function readGrantPolicy(pool: Pool, environmentId: string): Promise<GrantPolicy> {
  const { abovePlayers, aboveAmount } = await readPolicy(pool, environmentId)
  return { approvalAbovePlayers: abovePlayers, approvalAboveAmount: aboveAmount }
}

/** Sets the size above which jobs of an environment need approval, for jobs that collect their players later. */
export async function setGrantPolicy(
  { db, client }: Transaction,
  environmentId: string,
  { approvalAbovePlayers, approvalAboveAmount, environment }: RequestOf<typeof setPolicyRequest>,
): Promise<Change<{ readonly policy: GrantPolicy }>> {
  await lockEnvironment(client, environmentId)
  const before = await readPolicy(client, environmentId)
  const after = { abovePlayers: approvalAbovePlayers, aboveAmount: approvalAboveAmount }
  const policy = { approvalAbovePlayers, approvalAboveAmount }
  const outcome = { policy }
  if (print({ ...before }) === print(after)) return { outcome }
  await db.grantPolicy.upsert({ where: { environmentId }, create: { environmentId, ...policy }, update: policy })
  return { outcome, target: environment, before: { ...before }, after }
}
