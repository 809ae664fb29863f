import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import { LENGTH_MS, type Range, type Step, stepsIn, wholeSteps } from '../../declare/range.ts'
import type { XpOrigin } from '../../game/battlepass/xp-limits.ts'
import { byLevel, type Claimable, type PassNode, tierKey } from '../../game/definition/definition.ts'
import { requireScenario, type ScenarioRef, Scenarios } from '../../game/runs/scenarios.ts'
import type { Command } from '../../transactions/command.ts'

// The figures of one battle pass on dashboards, as of the last commit: they are sums of the tally, which is written
// with the books. No player is read, except for outliers.

export interface PassNodeRef extends ScenarioRef {
  readonly nodeId: string
}

export interface InsightRef {
  readonly place: PassNodeRef
  readonly pass: PassNode
  readonly range: Range
}

/** The players of a level at the end of the range, and the changes in the range. */
export interface LevelInsight {
  readonly level: number
  /** Players at exactly this level, and those of them with premium. */
  readonly players: number
  readonly premium: number
  /** Players at this level or above, and those of them with premium. */
  readonly reached: number
  readonly reachedPremium: number
  /** The growth of `reached` in the range. */
  readonly reachedInRange: number
  /** Premium bought or granted in the range by players at this level. */
  readonly premiumInRange: number
}

export interface TierInsight extends Claimable {
  readonly reached: number
  /** Players who can claim the tier or have claimed it: on the premium track those with premium. */
  readonly entitled: number
  readonly claimed: number
  readonly unclaimed: number
  readonly claimedInRange: number
}

export interface DayInsight {
  readonly day: Date
  readonly players: number
  readonly newPlayers: number
  /** Bought or granted, minus revoked. */
  readonly premium: number
  readonly sold: number
  readonly claims: number
  readonly completed: number
}

/** The grants of an hour or day, and their xp. */
interface XpAt {
  readonly at: Date
  readonly grants: bigint
  readonly xp: bigint
}

/** The grants of a range, and the hours or days that have some. */
interface XpInsight {
  readonly grants: bigint
  readonly xp: bigint
  readonly times: readonly XpAt[]
}

export interface SourceInsight extends XpInsight {
  /** Null for the sum of all but the largest sources. */
  readonly source: string | null
}

export interface OriginInsight extends XpInsight {
  readonly origin: XpOrigin
}

export interface XpOutlier {
  readonly playerId: string
  readonly grants: number
  readonly xp: bigint
}

export interface XpOutliers {
  readonly range: Range
  readonly players: number
  /** Null without players. */
  readonly median: bigint | null
  readonly top: readonly XpOutlier[]
}

export interface CompletionInsight {
  readonly players: number
  readonly atTopLevel: number
  readonly completed: number
}

export function findPass(place: PassNodeRef): Command<PassNode> {
  return {
    engine: 'reads',
    *decide(group) {
      const definition = yield* group.rows(() => group.of(Scenarios).find(place))
      const node = requireScenario(definition).nodes.get(place.nodeId)
      if (node?.type !== 'battle-pass') throw new Refusal('nodeNotFound')
      return node
    },
  }
}

const AT_PLACE = 'environment_id = $1 AND scenario_id = $2 AND node_id = $3'
const keyOf = ({ environmentId, scenarioId, nodeId }: PassNodeRef): string[] => [environmentId, scenarioId, nodeId]

/** Every level of the pass, and every other level with a player. */
export async function readLevels(pool: Pool, { place, pass, range }: InsightRef): Promise<LevelInsight[]> {
  const { rows } = await pool.query({
    name: 'insight-levels',
    text: `SELECT level,
        coalesce(sum(count) FILTER (WHERE measure = 'standing'), 0)::int AS players,
        coalesce(sum(count) FILTER (WHERE measure = 'standing' AND detail = 'premium'), 0)::int AS premium,
        coalesce(sum(count) FILTER (WHERE measure = 'standing' AND bucket < $4), 0)::int AS before,
        coalesce(sum(count) FILTER (WHERE measure = 'premium' AND bucket >= $4), 0)::int AS bought
      FROM insight WHERE ${AT_PLACE} AND measure IN ('standing', 'premium') AND bucket < $5
      GROUP BY level`,
    values: [...keyOf(place), ...ends('day', range)],
  })
  const counted = new Map(rows.map((row) => [row.level as number, row]))
  const known = new Set(pass.levels.map(({ level }) => level))
  const others = rows.filter((row) => row.players !== 0 || row.before !== 0 || row.bought !== 0)
  const levels = [...new Set([...known, ...others.map((row) => row.level as number)])].sort((a, b) => b - a)

  const above = { reached: 0, premium: 0, before: 0 }
  return levels
    .map((level): LevelInsight => {
      const { players = 0, premium = 0, before = 0, bought = 0 } = counted.get(level) ?? {}
      above.reached += players
      above.premium += premium
      above.before += before
      const { reached, premium: reachedPremium } = above
      const reachedInRange = reached - above.before
      // Until an edit is counted, calls may subtract players from levels where they were not counted yet.
      const here = { players: Math.max(players, 0), premium: Math.max(premium, 0) }
      return { level, ...here, reached, reachedPremium, reachedInRange, premiumInRange: bought }
    })
    .reverse()
}

/**
 * Every tier of the pass, and every other that was claimed, by level, then by track. Players earn bonus tiers at the top
 * level: how many have earned one is not counted, so those who have claimed it are the entitled ones.
 */
export async function readTiers(
  pool: Pool,
  { place, pass, range }: InsightRef,
  levels: readonly LevelInsight[],
): Promise<TierInsight[]> {
  const { rows } = await pool.query({
    name: 'insight-tiers',
    text: `SELECT level, detail AS track, sum(count)::int AS claimed,
        coalesce(sum(count) FILTER (WHERE bucket >= $4), 0)::int AS in_range
      FROM insight WHERE ${AT_PLACE} AND measure = 'claimed' AND bucket < $5
      GROUP BY level, detail`,
    values: [...keyOf(place), ...ends('day', range)],
  })
  const counted = new Map(rows.map((row) => [tierKey(row.level, row.track), row]))
  const others = rows.filter((row) => row.claimed !== 0 || row.in_range !== 0)
  const tiers = new Map(
    [...pass.tiers.values(), ...others].map(
      ({ level, track }: Claimable) => [tierKey(level, track), { level, track }] as const,
    ),
  )
  return [...tiers.values()].sort(byLevel).map(({ level, track }) => {
    const { claimed = 0, in_range: claimedInRange = 0 } = counted.get(tierKey(level, track)) ?? {}
    // Levels are sorted, and players above a level have reached it.
    const from = track === 'bonus' ? pass.topLevel : level
    const at = levels.find((row) => row.level >= from)
    const reached = at?.reached ?? 0
    const entitled = track === 'free' ? reached : track === 'premium' ? (at?.reachedPremium ?? 0) : claimed
    // Support may grant a tier that is not reached.
    return { level, track, reached, entitled, claimed, unclaimed: Math.max(entitled - claimed, 0), claimedInRange }
  })
}

export async function readDays(pool: Pool, { place, range }: InsightRef): Promise<DayInsight[]> {
  const { rows } = await pool.query({
    name: 'insight-days',
    text: `SELECT date_trunc('day', bucket, 'UTC') AS day,
        coalesce(sum(count) FILTER (WHERE measure = 'active'), 0)::int AS players,
        coalesce(sum(count) FILTER (WHERE measure = 'joined'), 0)::int AS "newPlayers",
        coalesce(sum(count) FILTER (WHERE measure = 'premium'), 0)::int AS premium,
        coalesce(sum(count) FILTER (WHERE measure = 'sold'), 0)::int AS sold,
        coalesce(sum(count) FILTER (WHERE measure = 'claimed'), 0)::int AS claims,
        coalesce(sum(count) FILTER (WHERE measure = 'completed'), 0)::int AS completed
      FROM insight WHERE ${AT_PLACE} AND measure IN ('active', 'joined', 'premium', 'sold', 'claimed', 'completed')
        AND bucket >= $4 AND bucket < $5
      GROUP BY 1`,
    values: [...keyOf(place), ...ends('day', range)],
  })
  const counted = new Map(rows.map((row) => [row.day.getTime() as number, row as DayInsight]))
  const none = { players: 0, newPlayers: 0, premium: 0, sold: 0, claims: 0, completed: 0 }
  return stepsIn('day', range).map((day) => counted.get(day.getTime()) ?? { day, ...none })
}

/**
 * The largest sources first, each with the hours or days in which it gave xp; then the rest as one. Of `xp_clipped`, it
 * is the xp that limits held back.
 */
export async function readXp(
  pool: Pool,
  { place, range }: InsightRef,
  { step, sources, measure = 'xp' }: { step: Step; sources: number; measure?: 'xp' | 'xp_clipped' },
): Promise<SourceInsight[]> {
  const { rows } = await pool.query({
    name: 'insight-xp',
    text: `WITH xp AS MATERIALIZED (
        SELECT detail AS source, date_trunc($6, bucket, 'UTC') AS at, sum(count) AS grants, sum(amount) AS xp
        FROM insight WHERE ${AT_PLACE} AND measure = $8 AND bucket >= $4 AND bucket < $5 GROUP BY 1, 2
      ), largest AS MATERIALIZED (
        SELECT source FROM xp GROUP BY source ORDER BY sum(xp) DESC, source LIMIT $7
      )
      SELECT l.source, xp.at, sum(grants)::text AS grants, sum(xp)::text AS xp
      FROM xp LEFT JOIN largest l USING (source) GROUP BY l.source, xp.at ORDER BY xp.at`,
    values: [...keyOf(place), ...ends(step, range), step, sources, measure],
  })
  const bySource = new Map<string | null, XpAt[]>()
  for (const { source, at, grants, xp } of rows) {
    const times = bySource.get(source) ?? []
    times.push({ at, grants: BigInt(grants), xp: BigInt(xp) })
    bySource.set(source, times)
  }
  const found = [...bySource].map(([source, times]): SourceInsight => ({ source, ...inAll(times) }))
  const inOrder = (a: SourceInsight, b: SourceInsight): number => Number(b.xp > a.xp) - Number(b.xp < a.xp)
  return [
    ...found.filter(({ source }) => source !== null).sort(inOrder),
    ...found.filter(({ source }) => source === null),
  ]
}

/** Each of `origins`, which are all, with the hours or days in which it gave xp. */
export async function readXpByOrigin(
  pool: Pool,
  { place, range }: InsightRef,
  { step, origins }: { step: Step; origins: readonly XpOrigin[] },
): Promise<OriginInsight[]> {
  const { rows } = await pool.query({
    name: 'insight-xp-by-origin',
    text: `SELECT CASE measure WHEN 'xp_origin' THEN detail END AS origin, date_trunc($6, bucket, 'UTC') AS at,
        sum(count)::text AS grants, sum(amount)::text AS xp
      FROM insight WHERE ${AT_PLACE} AND measure IN ('xp', 'xp_origin') AND bucket >= $4 AND bucket < $5
      GROUP BY 1, 2 ORDER BY at`,
    values: [...keyOf(place), ...ends(step, range), step],
  })
  const timesOf = (origin: XpOrigin | null): XpAt[] =>
    rows
      .filter((row) => row.origin === origin)
      .map(({ at, grants, xp }) => ({ at, grants: BigInt(grants), xp: BigInt(xp) }))
  const others = origins.flatMap(timesOf)
  // The tally counts no origin for clients, which send most xp: theirs is the rest of all xp.
  const ofClients = timesOf(null)
    .map(({ at, ...all }): XpAt => {
      const rest = inAll(others.filter((one) => one.at.getTime() === at.getTime()))
      return { at, grants: all.grants - rest.grants, xp: all.xp - rest.xp }
    })
    .filter(({ grants }) => grants !== 0n)
  return origins.map((origin) => ({ origin, ...inAll(origin === 'client' ? ofClients : timesOf(origin)) }))
}

function ends(step: Step, range: Range): Date[] {
  const { from, to } = wholeSteps(step, range)
  return [from, to]
}

const inAll = (times: readonly XpAt[]): XpInsight => ({
  grants: times.reduce((total, { grants }) => total + grants, 0n),
  xp: times.reduce((total, { xp }) => total + xp, 0n),
  times,
})

export async function readCompletion(
  pool: Pool,
  { place, pass, range }: InsightRef,
  levels: readonly LevelInsight[],
): Promise<CompletionInsight> {
  const { rows } = await pool.query({
    name: 'insight-completion',
    text: `SELECT coalesce(sum(count), 0)::int AS completed
      FROM insight WHERE ${AT_PLACE} AND measure = 'completed' AND bucket < $4`,
    values: [...keyOf(place), wholeSteps('day', range).to],
  })
  return {
    players: levels[0]?.reached ?? 0,
    atTopLevel: levels.find(({ level }) => level >= pass.topLevel)?.reached ?? 0,
    completed: rows[0]?.completed ?? 0,
  }
}

/**
 * The players with the most xp in the last 24 hours of the range, against the median of all who earned xp then. Xp from
 * operators does not count. It is read from the ledger; the index by time leaves out all that is older.
 */
export async function readXpOutliers(
  pool: Pool,
  { place, range: { to } }: InsightRef,
  { limit }: { limit: number },
): Promise<XpOutliers> {
  const range = { from: new Date(to.getTime() - LENGTH_MS.day), to }
  const { rows } = await pool.query({
    name: 'insight-xp-outliers',
    text: `WITH earned AS MATERIALIZED (
        SELECT player_id, count(*)::int AS grants, sum(amount) AS xp FROM xp_ledger
        WHERE ${AT_PLACE} AND created_at >= $4 AND created_at < $5 AND amount > 0 AND origin IS DISTINCT FROM 'operator'
        GROUP BY player_id
      ), all_players AS (
        SELECT count(*)::int AS players, percentile_disc(0.5) WITHIN GROUP (ORDER BY xp) AS median FROM earned
      )
      SELECT a.players, a.median::text AS median, e.player_id, e.grants, e.xp::text AS xp
      FROM all_players a LEFT JOIN (SELECT * FROM earned ORDER BY xp DESC, player_id LIMIT $6) AS e ON true
      ORDER BY e.xp DESC, e.player_id`,
    values: [...keyOf(place), range.from, range.to, limit],
  })
  const { players = 0, median = null } = rows[0] ?? {}
  const top = rows.flatMap(({ player_id: playerId, grants, xp }): XpOutlier[] =>
    playerId === null ? [] : [{ playerId, grants, xp: BigInt(xp) }],
  )
  return { range, players, median: median === null ? null : BigInt(median), top }
}
