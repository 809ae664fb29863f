import type { Pool } from 'pg'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { MAX_INT64 } from '../../base/json.ts'
import { MAX_INBOX } from '../../base/limits.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import type { InEnvironment } from '../../callers/projects.ts'
import { refuseFaults } from '../../declare/shape.ts'
import { inSeason } from '../../game/battlepass/decide.ts'
import { readGameNow } from '../../game/clock/game-clock.ts'
import { assetKey, type Granted, type PassNode } from '../../game/definition/definition.ts'
import { findJob, giftJson, isTooMuch, needsApproval, readPolicy, type Target, type Total, totalOf } from './job.ts'
import { resolve, type Sources, undoFaults } from './manage-jobs.ts'
import type { FailureCause } from './outcomes.ts'
import type { Gift, Preview } from './requests.ts'
import { FIRST, readPage, type TargetPlayer } from './targets.ts'

// What a job would do, and what an undo could take back. Both look at players page by page, up to a time.

/** How long a preview looks at players. */
const BUDGET_MS = 2_500
const LARGEST = 10

export interface PreviewedJob {
  readonly players: number
  /** False when there may be more players than were looked at. */
  readonly isExact: boolean
  readonly total: Total
  readonly needsApproval: boolean
  /** The players of a list with amounts who get the most, at most ten. */
  readonly largest: readonly { readonly playerId: string; readonly amount: bigint }[]
  /** The players who would get nothing now, by the cause. */
  readonly failing: readonly { readonly cause: FailureCause; readonly players: number }[]
}

/**
 * What a job would do now. Refuses what `createGrantJob` refuses, and a job that would fail as a whole. Writes nothing.
 */
export async function previewGrantJob(
  sources: Sources,
  caller: PlatformCaller,
  asked: InEnvironment<Preview>,
): Promise<PreviewedJob> {
  const { environmentId, give, limit } = asked
  const { operatorPool: pool, run } = sources
  const { target, pass, message } = await resolve(sources, caller, asked)
  const giving = { environmentId, give, pass, isMessage: message !== null, now: await readGameNow(pool, environmentId) }
  const end = performance.now() + BUDGET_MS
  const failing = new Map<FailureCause, number>()
  let [players, amount] = [0, 0n]
  let largest: TargetPlayer[] = []
  let after: string | null = FIRST
  while (after !== null && players <= limit && performance.now() < end) {
    const page = await pageOf(after)
    after = page.after
    players += page.players.length
    for (const one of page.players) amount += one.amount ?? 0n
    largest = [...largest, ...page.players.filter((one) => one.amount !== null)].sort(byAmount).slice(0, LARGEST)
    for (const { cause, count } of await failingOf(pool, giving, page.players))
      failing.set(cause, (failing.get(cause) ?? 0) + count)
  }
  const total = totalOf(give, players, amount)
  if (isTooMuch(total))
    throw invalidRequest({
      path: 'give',
      message: 'would pass the largest 64-bit integer in all: no player gets anything',
    })
  return {
    players,
    isExact: after === null,
    total,
    needsApproval: needsApproval(await readPolicy(pool, environmentId), players, total),
    largest: largest.map(({ playerId, amount }) => ({ playerId, amount: amount ?? 0n })),
    failing: [...failing].map(([cause, count]) => ({ cause, players: count })).sort((a, b) => b.players - a.players),
  }

  async function pageOf(place: string): ReturnType<typeof readPage> {
    if (target.kind === 'players') return { players: target.players, after: null }
    return readPage({ pool, run }, { environmentId, target: target as Target, until: new Date(), after: place })
  }
}

const byAmount = (a: TargetPlayer, b: TargetPlayer): number => {
  const [one, other] = [a.amount ?? 0n, b.amount ?? 0n]
  return one === other ? 0 : one > other ? -1 : 1
}

interface Giving {
  readonly environmentId: string
  readonly give: Gift | null
  readonly pass: PassNode | null
  readonly isMessage: boolean
  /** The game's time. */
  readonly now: Date
}

/** The causes that are known before, in the order in which a job looks for them (`give.ts`). */
async function failingOf(
  pool: Pool,
  { environmentId, give, pass, isMessage, now }: Giving,
  players: readonly TargetPlayer[],
) {
  const run = give?.xp ?? give?.levels ?? null
  const premium = give?.premium ?? null
  const at = run ?? premium
  const isClosed = run !== null && pass !== null && !inSeason(pass, now)
  const top = give?.levels ? (pass?.levels.at(-1)?.xp ?? null) : null
  // Of one player: what is the same for each, and how many times its amount of the list.
  const once = isMessage ? [] : totalOf(give, 1, 0n).rewards
  const listed = isMessage ? [] : totalOf(give, 0, 1n).rewards
  const rewards = once.flatMap(({ currency, itemId, amount, boost }, index) =>
    boost ? [] : [{ currency, itemId, amount: String(amount), times: String(listed[index]?.amount ?? 0n) }],
  )
  const { rows } = await pool.query<{ cause: FailureCause; count: number }>({
    name: 'grant-preview',
    text: `SELECT cause, count(*)::int AS count FROM (
        SELECT CASE WHEN p.status = 'deleted' THEN 'player deleted'
          WHEN $7::boolean AND (
            SELECT count(*) FROM inbox_messages m WHERE (m.environment_id, m.player_id) = ($1, k.id) AND m.expires_at > now()
          ) >= ${MAX_INBOX} THEN 'inbox full'
          WHEN $8::numeric IS NOT NULL AND EXISTS (
            SELECT FROM passes s WHERE (s.environment_id, s.player_id, s.scenario_id, s.node_id) = ($1, k.id, $5, $6)
              AND s.xp >= $8::numeric
          ) THEN 'top level reached'
          WHEN $3::boolean AND p.status = 'banned' AND p.ban_kind IS DISTINCT FROM 'login'
            AND (p.ban_until IS NULL OR p.ban_until > clock_timestamp()) THEN 'player banned'
          WHEN $3::boolean AND NOT EXISTS (
            SELECT FROM runs r WHERE (r.environment_id, r.player_id, r.scenario_id, r.status) = ($1, k.id, $5, 'active')
          ) THEN 'run not active'
          WHEN $9::boolean THEN 'season closed'
          WHEN $10::boolean AND EXISTS (
            SELECT FROM passes s WHERE (s.environment_id, s.player_id, s.scenario_id, s.node_id) = ($1, k.id, $5, $6)
              AND s.xp + coalesce($11::numeric, k.amount, 0) > ${MAX_INT64}
          ) THEN 'xp limit exceeded'
          WHEN $4::boolean AND EXISTS (
            SELECT FROM passes s WHERE (s.environment_id, s.player_id, s.scenario_id, s.node_id) = ($1, k.id, $5, $6)
              AND s.premium_owned
          ) THEN 'premium owned'
          WHEN EXISTS (
            SELECT FROM json_to_recordset($12::json) AS g ("currency" text, "itemId" text, amount numeric, times numeric)
            WHERE g.amount + g.times * coalesce(k.amount, 0) + coalesce(
              (SELECT w.balance FROM wallets w
               WHERE (w.environment_id, w.player_id, w.currency) = ($1, k.id, g."currency")),
              (SELECT i.amount FROM inventory i
               WHERE (i.environment_id, i.player_id, i.item_id) = ($1, k.id, g."itemId")), 0) > ${MAX_INT64}
          ) THEN 'balance limit exceeded' END AS cause
        FROM unnest($2::uuid[], $13::numeric[]) AS k(id, amount) CROSS JOIN LATERAL (
          SELECT * FROM players p WHERE p.environment_id = $1 AND p.id = k.id LIMIT 1
        ) p
      ) f WHERE cause IS NOT NULL GROUP BY cause`,
    values: [
      environmentId,
      players.map(({ playerId }) => playerId),
      run !== null,
      premium !== null,
      at?.scenarioId ?? '',
      at?.nodeId ?? '',
      isMessage,
      top === null ? null : String(top),
      isClosed,
      Boolean(give?.xp),
      give?.xp?.amount == null ? null : String(give.xp.amount),
      JSON.stringify(rewards),
      players.map(({ amount }) => (amount === null ? null : String(amount))),
    ],
  })
  return rows
}

export interface PreviewedUndo {
  /** Players who got something. */
  readonly players: number
  readonly isExact: boolean
  readonly given: readonly Granted[]
  /** What could be taken back now: the rest was spent. */
  readonly taken: readonly Granted[]
  /** Messages that nobody has claimed, which an undo cancels. */
  readonly unclaimedMessages: number
  /** Premium that could be revoked now. */
  readonly premium: number
}

/** Players that a preview of an undo looks at with one statement. */
const UNDO_PAGE = 5_000

const READ_UNDO = {
  name: 'grant-undo-preview',
  text: `WITH page AS MATERIALIZED (
      SELECT g.player_id, g.given, g.message_id FROM grant_job_players g
      WHERE g.job_id = $2 AND g.player_id > $3 AND g.outcome = 'granted' ORDER BY g.player_id LIMIT ${UNDO_PAGE}
    ), present AS MATERIALIZED (
      SELECT page.*, m.id IS NOT NULL AS is_there, m.id IS NOT NULL AND m.claimed_at IS NULL AS is_unclaimed
      FROM page LEFT JOIN LATERAL (
        SELECT id, claimed_at FROM inbox_messages m
        WHERE m.environment_id = $1 AND m.player_id = page.player_id AND m.id = page.message_id LIMIT 1
      ) m ON true
    ), part AS (
      SELECT e ->> 'currency' AS currency, e ->> 'itemId' AS item_id, (e -> 'boost' ->> 'percent')::int AS percent,
        (e -> 'boost' ->> 'minutes')::int AS minutes, (e ->> 'amount')::numeric AS amount,
        CASE WHEN p.is_unclaimed THEN (e ->> 'amount')::numeric
          WHEN p.message_id IS NOT NULL AND NOT p.is_there THEN 0
          WHEN e -> 'boost' IS NOT NULL THEN CASE WHEN EXISTS (
            SELECT FROM player_boosts b WHERE b.environment_id = $1 AND b.player_id = p.player_id
              AND b.percent = (e -> 'boost' ->> 'percent')::int AND b.ends_at > clock_timestamp()
          ) THEN 1 ELSE 0 END
          ELSE least((e ->> 'amount')::numeric, coalesce(
            CASE WHEN e ->> 'currency' IS NOT NULL THEN (
              SELECT balance FROM wallets w WHERE w.environment_id = $1 AND w.player_id = p.player_id
                AND w.currency = e ->> 'currency' LIMIT 1
            ) ELSE (
              SELECT i.amount FROM inventory i WHERE i.environment_id = $1 AND i.player_id = p.player_id
                AND i.item_id = e ->> 'itemId' LIMIT 1
            ) END, 0)) END AS taken
      FROM present p CROSS JOIN LATERAL json_array_elements(coalesce(p.given, '[]')::json) AS e
    ), sums AS (
      SELECT currency, item_id, percent, minutes, sum(amount)::text AS given, sum(taken)::text AS taken
      FROM part GROUP BY 1, 2, 3, 4
    )
    SELECT (SELECT count(*)::int FROM page) AS players, (SELECT max(player_id::text) FROM page) AS last,
      (SELECT count(*)::int FROM present WHERE is_unclaimed) AS unclaimed,
      (SELECT count(*)::int FROM page WHERE $4::boolean AND EXISTS (
        SELECT FROM passes s WHERE (s.environment_id, s.player_id, s.scenario_id, s.node_id)
          = ($1, page.player_id, $5, $6) AND s.premium_owned
      ) AND NOT EXISTS (
        SELECT FROM premium_gifts f WHERE (f.environment_id, f.player_id, f.scenario_id, f.node_id)
          = ($1, page.player_id, $5, $6) AND f.reference <> 'grant-job/' || $2::text
      ) AND NOT EXISTS (
        SELECT FROM tier_claims c WHERE (c.environment_id, c.player_id, c.scenario_id, c.node_id, c.track)
          = ($1, page.player_id, $5, $6, 'premium')
      )) AS premium,
      (SELECT coalesce(json_agg(sums ORDER BY currency, item_id, percent, minutes), '[]') FROM sums) AS sums`,
}

interface UndoPage {
  readonly players: number
  readonly last: string | null
  readonly unclaimed: number
  readonly premium: number
  readonly sums: readonly {
    readonly currency: string | null
    readonly item_id: string | null
    readonly percent: number | null
    readonly minutes: number | null
    readonly given: string
    readonly taken: string
  }[]
}

/** What an undo of a job could take back now. Refuses what `undoGrantJob` refuses. */
export async function previewUndo(
  pool: Pool,
  { environmentId, jobId }: { readonly environmentId: string; readonly jobId: string },
): Promise<PreviewedUndo> {
  const job = await findJob(pool, environmentId, jobId)
  if (!job) throw new Refusal('notFound')
  refuseFaults(undoFaults({ ...job, gift: giftJson(job.gift) }))
  const premium = job.gift?.premium ?? null
  const place = [premium !== null, premium?.scenarioId ?? '', premium?.nodeId ?? '']
  const end = performance.now() + BUDGET_MS
  const sums = new Map<string, { of: Omit<Granted, 'amount'>; given: bigint; taken: bigint }>()
  const found = { players: 0, unclaimedMessages: 0, premium: 0 }
  let after: string | null = FIRST
  while (after !== null && performance.now() < end) {
    const values: unknown[] = [environmentId, jobId, after, ...place]
    const page: UndoPage | undefined = (await pool.query<UndoPage>({ ...READ_UNDO, values })).rows[0]
    if (!page) break
    found.players += page.players
    found.unclaimedMessages += page.unclaimed
    found.premium += page.premium
    for (const { currency, item_id: itemId, percent, minutes, given, taken } of page.sums) {
      const boost = percent === null || minutes === null ? undefined : { percent, minutes }
      const of = { currency, itemId, ...(boost && { boost }) }
      const key = assetKey(of)
      const sum = sums.get(key) ?? { of, given: 0n, taken: 0n }
      sums.set(key, { ...sum, given: sum.given + BigInt(given), taken: sum.taken + BigInt(taken) })
    }
    after = page.players < UNDO_PAGE ? null : page.last
  }
  const all = [...sums.values()]
  return {
    ...found,
    isExact: after === null,
    given: all.map(({ of, given }) => ({ ...of, amount: given })),
    taken: all.flatMap(({ of, taken }) => (taken === 0n ? [] : [{ ...of, amount: taken }])),
  }
}
