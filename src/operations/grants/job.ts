import { hash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import type { PlayerFilterInput } from '../../accounts/lists/requests.ts'
import { filterJson, readFilterJson } from '../../accounts/lists/segments.ts'
import { type Json, MAX_INT64, parseJson, print } from '../../base/json.ts'
import type { MessageTexts } from '../../base/languages.ts'
import { JsonSource } from '../../declare/source.ts'
import type { JobState } from '../../events/catalogue.ts'
import { assetKey, type Granted, granted, type Reward } from '../../game/definition/definition.ts'
import { rewardWith } from '../../game/definition/reward-list.ts'
import { type Gift, giftShape } from './requests.ts'

/** Who gets it. A filter and the rows of a list do not change any more; a job undoes another one for its players. */
export type Target =
  | { readonly kind: 'filter'; readonly filter: PlayerFilterInput; readonly segment: string | null }
  | { readonly kind: 'list'; readonly listId: string }
  | { readonly kind: 'undo'; readonly jobId: string }

export interface GiftMessage {
  readonly texts: MessageTexts
  readonly image: string | null
  readonly days: number
}

/** A job as it is stored, with its texts read. */
export interface Job {
  readonly id: string
  readonly environmentId: string
  readonly state: JobState
  readonly target: Target
  readonly undoOf: string | null
  /** Null for a message without a gift. */
  readonly gift: Gift | null
  readonly message: GiftMessage | null
  readonly most: number
  readonly projectId: string
  readonly keyId: string
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
  readonly players: number
  /** The sum of the amounts of its players, where they differ. */
  readonly amount: bigint
  readonly afterPlayer: string | null
  /** Players who are created later are not of a filter. */
  readonly beganAt: Date
}

export const JOB_COLUMNS = `t.id, t.environment_id AS "environmentId", t.state, t.target, t.undo_of AS "undoOf", t.gift, t.message,
  t.most, t.project_id AS "projectId", t.key_id AS "keyId", t.operator, t.operator_is_claimed AS "operatorIsClaimed",
  t.players, t.amount::text AS amount, t.after_player AS "afterPlayer", coalesce(t.starts_at, t.created_at) AS "beganAt"`

export type JobRow = Omit<Job, 'target' | 'gift' | 'message' | 'amount'> &
  Readonly<Record<'target' | 'gift' | 'amount', string>> & {
    readonly message: string | null
  }

export const jobOf = (row: JobRow): Job => ({
  ...row,
  target: readTarget(row.target),
  gift: readGift(row.gift),
  message: readMessage(row.message),
  amount: BigInt(row.amount),
})

export const printTarget = (target: Target): string =>
  print(target.kind === 'filter' ? { ...target, filter: filterJson(target.filter) } : { ...target })

export function readTarget(text: string): Target {
  const stored = parseJson(text) as { readonly kind: Target['kind']; readonly filter: Json }
  return stored.kind === 'filter'
    ? ({ ...stored, filter: readFilterJson(print(stored.filter)) } as Target)
    : (stored as unknown as Target)
}

/** A gift as JSON: null without one. */
export const giftJson = (gift: Gift | null): Json => gift as unknown as Json
export const readGift = (text: string): Gift | null =>
  text === 'null' ? null : giftShape.gather(new JsonSource(text), [])

export const readMessage = (text: string | null): GiftMessage | null =>
  text === null ? null : (parseJson(text) as GiftMessage)

export const hashOf = (request: Json): string => hash('sha256', print(request))

/** The rewards of one player; `amount` is that of the list. */
export const rewardsFor = (gift: Gift | null, amount: bigint | null): Reward[] =>
  (gift?.rewards ?? []).map((reward) => rewardWith(reward, reward.amount ?? amount ?? 0n))

/** What a job gives in all: rewards, each currency, item and boost once, and xp that is known before. */
export interface Total {
  readonly rewards: readonly Granted[]
  readonly xp: bigint
}

/** The number of players; `amount` is the sum of the amounts of a list. */
export function totalOf(gift: Gift | null, players: number, amount: bigint): Total {
  const of = (each: bigint | null): bigint => (each === null ? amount : each * BigInt(players))
  const sums = new Map<string, Granted>()
  for (const reward of gift?.rewards ?? []) {
    const one = granted(rewardWith(reward, 1n))
    const key = assetKey(one)
    sums.set(key, { ...one, amount: (sums.get(key)?.amount ?? 0n) + of(reward.boost ? 1n : reward.amount) })
  }
  return { rewards: [...sums.values()], xp: gift?.xp ? of(gift.xp.amount) : 0n }
}

const isAbove = ({ rewards, xp }: Total, limit: bigint): boolean =>
  xp > limit || rewards.some(({ amount }) => amount > limit)

/** Whether a total can be shown and counted. */
export const isTooMuch = (total: Total): boolean => isAbove(total, MAX_INT64)

export interface Policy {
  readonly abovePlayers: number | null
  readonly aboveAmount: bigint | null
}

export async function readPolicy(pool: Pool | ClientBase, environmentId: string): Promise<Policy> {
  const { rows } = await pool.query<{ players: number | null; amount: string | null }>(
    `SELECT approval_above_players AS players, approval_above_amount::text AS amount FROM grant_policies
     WHERE environment_id = $1`,
    [environmentId],
  )
  const { players = null, amount = null } = rows[0] ?? {}
  return { abovePlayers: players, aboveAmount: amount === null ? null : BigInt(amount) }
}

/** What says whether a job can be undone. Null for a job that the environment does not have. */
export async function findJob(
  pool: Pool,
  environmentId: string,
  jobId: string,
): Promise<Pick<Job, 'state' | 'undoOf' | 'gift'> | null> {
  const { rows } = await pool.query<Pick<JobRow, 'state' | 'undoOf' | 'gift'>>(
    'SELECT state, undo_of AS "undoOf", gift FROM grant_jobs WHERE id = $1 AND environment_id = $2',
    [jobId, environmentId],
  )
  return rows[0] ? { ...rows[0], gift: readGift(rows[0].gift) } : null
}

export const needsApproval = ({ abovePlayers, aboveAmount }: Policy, players: number, total: Total): boolean =>
  (abovePlayers !== null && players > abovePlayers) || (aboveAmount !== null && isAbove(total, aboveAmount))

/**
 * A statement that changes a job `t`, and publishes an event of its environment. `changed` is an UPDATE without its
 * RETURNING; the event is published where `isPublished` holds for the changed row.
 */
export const publishing = (changed: string, isPublished = 'true'): string => `WITH changed AS (
    ${changed} RETURNING t.environment_id, t.id, t.state, t.players, t.granted, t.failed, t.told_at
  ), published AS (
    INSERT INTO unnumbered_events (environment_id, type, data)
    SELECT environment_id, 'grant_job.changed', json_build_object('jobId', id, 'state', state, 'players', players,
      'granted', granted, 'failed', failed)::text FROM changed WHERE ${isPublished}
  ) SELECT state, players FROM changed`
