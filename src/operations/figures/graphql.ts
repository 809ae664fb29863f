import { MAX_INT64, MIN_INT64 } from '../../base/json.ts'
import { MAX_INSIGHT_DAYS_BY_HOUR, MAX_XP_SOURCES } from '../../base/limits.ts'
import { requireReader } from '../../callers/access.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { ON_REQUEST } from '../../declare/graphql/field-marks.ts'
import { StepType } from '../../declare/graphql/range.ts'
import { HOURS_KEPT_DAYS, RECENT_HOURS_DAYS, type Step, stepFaults } from '../../declare/range.ts'
import { refuseFaults } from '../../declare/shape.ts'
import { TrackType, XpOriginEnum } from '../../game/battlepass/graphql.ts'
import { XP_ORIGINS } from '../../game/battlepass/xp-limits.ts'
import { PlayerType } from '../../players/graphql.ts'
import { datedRef } from './graphql-range.ts'
import type { Insight } from './insight.ts'
import { readSales, type Sales, type SalesTime } from './pass-statistics.ts'
import {
  type CompletionInsight,
  type DayInsight,
  type InsightRef,
  type LevelInsight,
  type OriginInsight,
  readCompletion,
  readDays,
  readTiers,
  readXp,
  readXpByOrigin,
  readXpOutliers,
  type SourceInsight,
  type TierInsight,
  type XpOutliers,
} from './read-insight.ts'

const SOURCES = 20
const OUTLIERS = 20

/** The sum of many players' xp can exceed 64 bits. */
export const SUM = 'A sum beyond 64 bits is given as the largest or smallest 64-bit integer.'
export const toInt64 = (sum: bigint): bigint => (sum > MAX_INT64 ? MAX_INT64 : sum < MIN_INT64 ? MIN_INT64 : sum)

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

const LevelInsightType = builder.objectRef<LevelInsight>('LevelInsight').implement({
  description: 'Players of a level at the end of the range, and changes in it.',
  fields: (t) => ({
    level: t.exposeInt('level', {
      description: 'A level of the pass, or a removed level that still has players; 0 is below the first level.',
    }),
    players: t.expose('players', {
      type: 'Count',
      description: 'Players at exactly this level.',
    }),
    premium: t.expose('premium', { type: 'Count', description: 'Players at exactly this level with premium.' }),
    reached: t.expose('reached', { type: 'Count', description: 'Players at this level or above.' }),
    reachedPremium: t.expose('reachedPremium', {
      type: 'Count',
      description: 'Players at this level or above with premium.',
    }),
    conversion: t.float({
      nullable: true,
      description: 'The share of players at this level or above who own premium, 0 to 1; null without such players.',
      resolve: ({ reached, reachedPremium }) => share(reachedPremium, reached),
    }),
    reachedInRange: t.expose('reachedInRange', {
      type: 'Count',
      description: 'The growth of `reached` in the range.',
    }),
    premiumInRange: t.expose('premiumInRange', {
      type: 'Count',
      description: 'Premium bought or granted in the range by players at this level, minus revoked.',
    }),
  }),
})

const TierInsightType = builder.objectRef<TierInsight>('TierInsight').implement({
  description: 'The claim funnel of a tier, up to the end of the range.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.field({ type: TrackType, resolve: ({ track }) => track }),
    reached: t.expose('reached', {
      type: 'Count',
      description: 'Players who reached its level: for a bonus tier the top level.',
    }),
    entitled: t.expose('entitled', {
      type: 'Count',
      description:
        'Players who reached its level and, for a tier of the premium track, own premium. For a bonus tier those who claimed it: how many have earned it is not counted.',
    }),
    claimed: t.expose('claimed', { type: 'Count', description: 'Claims, including those by support.' }),
    unclaimed: t.expose('unclaimed', { type: 'Count', description: 'Players who are entitled and have not claimed.' }),
    claimedInRange: t.expose('claimedInRange', {
      type: 'Count',
      description: 'Claims in the range, minus reset ones.',
    }),
  }),
})

const DayInsightType = builder.objectRef<DayInsight>('DayInsight').implement({
  description: 'One day of a battle pass, in UTC.',
  fields: (t) => ({
    startsAt: t.field({ type: 'DateTime', description: 'The start of the day.', resolve: ({ day }) => day }),
    players: t.expose('players', { type: 'Count', description: 'Players who earned xp, claimed or bought that day.' }),
    newPlayers: t.expose('newPlayers', {
      type: 'Count',
      description: 'Players who began the pass that day.',
    }),
    premium: t.expose('premium', { type: 'Count', description: 'Premium bought or granted, minus revoked.' }),
    sold: t.expose('sold', { type: 'Count', description: 'Premium bought.' }),
    claims: t.expose('claims', { type: 'Count', description: 'Claimed tiers, minus reset ones.' }),
    completed: t.expose('completed', { type: 'Count', description: 'Players who completed the pass.' }),
  }),
})

const SalesTimeType = builder.objectRef<SalesTime>('PremiumSalesTime').implement({
  description: 'The premium that was bought in an hour or day.',
  fields: (t) => ({
    startsAt: t.field({ type: 'DateTime', description: 'The start of the hour or day.', resolve: ({ at }) => at }),
    purchases: t.expose('purchases', { type: 'Count', description: 'The number of purchases.' }),
    amount: t.field({
      type: 'Int64',
      description: `The sum of their prices. ${SUM}`,
      resolve: ({ amount }) => toInt64(amount),
    }),
  }),
})

export const SalesType = builder.objectRef<Sales>('PremiumSales').implement({
  description:
    'The premium that was bought for one currency. A purchase counts at the price of its moment, also when premium is revoked later.',
  fields: (t) => ({
    currency: t.exposeString('currency', { description: 'The currency of the prices.' }),
    purchases: t.expose('purchases', { type: 'Count', description: 'The number of purchases.' }),
    amount: t.field({
      type: 'Int64',
      description: `The sum of their prices. ${SUM}`,
      resolve: ({ amount }) => toInt64(amount),
    }),
    times: t.field({
      type: [SalesTimeType],
      description: 'The hours or days with a purchase, in order.',
      resolve: ({ times }) => [...times],
    }),
  }),
})

const XpTimeType = builder.objectRef<SourceInsight['times'][number]>('XpTime').implement({
  description: 'The xp of an hour or day.',
  fields: (t) => ({
    startsAt: t.field({
      type: 'DateTime',
      description: 'The start of the hour or day.',
      resolve: ({ at }) => at,
    }),
    grants: t.expose('grants', { type: 'Count', description: 'The number of grants and resets.' }),
    xp: t.field({
      description: `Granted xp, minus resets. ${SUM}`,
      type: 'Int64',
      resolve: ({ xp }) => toInt64(xp),
    }),
  }),
})

const XpSourceType = builder.objectRef<SourceInsight>('XpSource').implement({
  description: 'The xp of one source in the range.',
  fields: (t) => ({
    source: t.exposeString('source', {
      nullable: true,
      description: 'Null for the sum of the sources beyond the requested number.',
    }),
    grants: t.expose('grants', { type: 'Count', description: 'The number of grants and resets.' }),
    xp: t.field({
      type: 'Int64',
      description: `Negative for resets by support. ${SUM}`,
      resolve: ({ xp }) => toInt64(xp),
    }),
    times: t.field({
      extensions: { size: 100 },
      type: [XpTimeType],
      description: 'The hours or days with xp of this source, in order.',
      resolve: ({ times }) => [...times],
    }),
  }),
})

const XpOfOriginType = builder.objectRef<OriginInsight>('XpOfOrigin').implement({
  description: 'The xp of one origin in the range.',
  fields: (t) => ({
    origin: t.field({ type: XpOriginEnum, description: 'Where the xp came from.', resolve: ({ origin }) => origin }),
    grants: t.expose('grants', { type: 'Count', description: 'The number of grants and resets.' }),
    xp: t.field({
      type: 'Int64',
      description: `Granted xp. Of operators, minus resets. ${SUM}`,
      resolve: ({ xp }) => toInt64(xp),
    }),
    times: t.field({
      extensions: { size: 100 },
      type: [XpTimeType],
      description: 'The hours or days with xp of this origin, in order.',
      resolve: ({ times }) => [...times],
    }),
  }),
})

const ClippedXpType = builder.objectRef<SourceInsight>('ClippedXp').implement({
  description: 'The xp of one source that limits of the pass held back in the range.',
  fields: (t) => ({
    source: t.exposeString('source', {
      nullable: true,
      description: 'Null for the sum of the sources beyond the requested number.',
    }),
    calls: t.expose('grants', {
      type: 'Count',
      description: 'The number of calls that were granted less than they sent.',
    }),
    xp: t.field({
      type: 'Int64',
      description: `The xp that was sent and not granted. ${SUM}`,
      resolve: ({ xp }) => toInt64(xp),
    }),
  }),
})

interface OutlierWithPlayer {
  readonly player: typeof PlayerType.$inferType
  readonly grants: number
  readonly xp: bigint
  readonly timesMedian: number
}

const XpOutlierType = builder.objectRef<OutlierWithPlayer>('XpOutlier').implement({
  description: 'A player with much xp in a day.',
  fields: (t) => ({
    player: t.field({ type: PlayerType, resolve: ({ player }) => player }),
    grants: t.expose('grants', { type: 'Count', description: 'The number of grants.' }),
    xp: t.field({ type: 'Int64', description: `The xp of the day. ${SUM}`, resolve: ({ xp }) => toInt64(xp) }),
    timesMedian: t.exposeFloat('timesMedian', { description: '`xp` divided by the median.' }),
  }),
})

const XpOutliersType = builder.objectRef<XpOutliers & { readonly environmentId: string }>('XpOutliers').implement({
  description: 'The players with the most xp of a pass in a day. Xp from operators does not count.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'The start of the 24 hours.', resolve: ({ range }) => range.from }),
    to: t.field({ type: 'DateTime', description: 'Their end, not included.', resolve: ({ range }) => range.to }),
    players: t.expose('players', { type: 'Count', description: 'Players who earned xp in these hours.' }),
    median: t.field({
      type: 'Int64',
      nullable: true,
      description: `The median of their xp; null without players. ${SUM}`,
      resolve: ({ median }) => median && toInt64(median),
    }),
    top: t.field({
      extensions: { size: 20 },
      type: [XpOutlierType],
      description: `The ${OUTLIERS} players with the most xp, the most first.`,
      resolve: async ({ environmentId, top, median }, _args, context) => {
        await requireReader({ ...context, isCounted: true })
        const { prisma } = context
        const ids = top.map(({ playerId }) => playerId)
        const players = await prisma.player.findMany({ where: { environmentId, id: { in: ids } } })
        const byId = new Map(players.map((player) => [player.id, player]))
        return top.flatMap(({ playerId, grants, xp }) => {
          const player = byId.get(playerId)
          return player && median ? [{ player, grants, xp, timesMedian: Number(xp) / Number(median) }] : []
        })
      },
    }),
  }),
})

const CompletionType = builder.objectRef<CompletionInsight>('CompletionInsight').implement({
  description: 'Progress of players at the end of the range.',
  fields: (t) => ({
    players: t.expose('players', { type: 'Count', description: 'Players who have played the pass.' }),
    atTopLevel: t.expose('atTopLevel', { type: 'Count', description: 'Players who have reached the top level.' }),
    completed: t.expose('completed', {
      type: 'Count',
      description: 'Players who have reached the top level and claimed every tier of their tracks.',
    }),
    rate: t.float({
      nullable: true,
      description: '`completed` divided by `players`, 0 to 1; null without players.',
      resolve: ({ completed, players }) => share(completed, players),
    }),
  }),
})

const stepArgument = {
  type: StepType,
  defaultValue: 'hour',
  required: true,
  description: 'Times by hour or by day. Hours or days count as a whole when the range touches them.',
} as const
const sourcesArgument = { defaultValue: SOURCES, required: true, description: `1 to ${MAX_XP_SOURCES}.` } as const

function readXpArguments({ range }: InsightRef, { by, sources = SOURCES }: { by: Step; sources?: number }) {
  const faults = stepFaults(by, range, MAX_INSIGHT_DAYS_BY_HOUR)
  if (sources < 1 || sources > MAX_XP_SOURCES)
    faults.push({ path: 'sources', message: `must be 1 to ${MAX_XP_SOURCES}` })
  refuseFaults(faults)
  return { step: by, sources }
}

datedRef<Insight>('BattlePassInsight', ({ range }) => range).implement({
  description:
    'Figures of one battle pass. Levels of players are those at the end of the range. Days and hours are in UTC, and count as a whole when the range touches them. Deleted players stay counted.',
  fields: (t) => ({
    levels: t.field({
      extensions: { size: 100 },
      type: [LevelInsightType],
      description:
        'The distribution of levels and of premium: every level of the pass, in order. An edit of the definition is counted within half a minute.',
      resolve: (insight) => insight.levels(),
    }),
    days: t.field({
      extensions: { size: 30 },
      type: [DayInsightType],
      description: 'Every day of the range, in order, including days without figures.',
      resolve: (insight) => insight.read((pool) => readDays(pool, insight)),
    }),
    sales: t.field({
      type: [SalesType],
      description: `Premium bought, by currency. Hours are available for the last ${RECENT_HOURS_DAYS} days.`,
      args: { by: t.arg({ ...stepArgument, defaultValue: 'day' }) },
      resolve: async (insight, { by }) => {
        refuseFaults(stepFaults(by, insight.range, MAX_INSIGHT_DAYS_BY_HOUR, RECENT_HOURS_DAYS))
        const ref = { ...insight.place, ...insight.range }
        return [...(await insight.read((pool) => readSales(pool, ref, by)))]
      },
    }),
    xp: t.field({
      extensions: { size: 20 },
      type: [XpSourceType],
      description: `Xp by source, the largest first, then the sum of the rest. Each hour has up to a hundred sources; further sources count as \`other\`. Hours are available for the last ${HOURS_KEPT_DAYS} days, up to ${MAX_INSIGHT_DAYS_BY_HOUR} days at a time.`,
      args: { by: t.arg(stepArgument), sources: t.arg.int(sourcesArgument) },
      resolve: (insight, args) => {
        const asked = readXpArguments(insight, args)
        return insight.read((pool) => readXp(pool, insight, asked))
      },
    }),
    xpByOrigin: t.field({
      extensions: { size: 4 },
      type: [XpOfOriginType],
      description:
        'Xp by origin, every origin in the order of `XpOrigin`. Together they are the xp of all sources. Xp that was granted before the ledger had origins counts as that of clients.',
      args: { by: t.arg(stepArgument) },
      resolve: (insight, args) => {
        const asked = { ...readXpArguments(insight, args), origins: XP_ORIGINS }
        return insight.read((pool) => readXpByOrigin(pool, insight, asked))
      },
    }),
    clippedXp: t.field({
      extensions: { size: 20 },
      type: [ClippedXpType],
      description:
        'Xp that limits of the pass held back, by source, the largest first, then the sum of the rest. Refused calls do not count.',
      args: { by: t.arg(stepArgument), sources: t.arg.int(sourcesArgument) },
      resolve: (insight, args) => {
        const asked = { ...readXpArguments(insight, args), measure: 'xp_clipped' as const }
        return insight.read((pool) => readXp(pool, insight, asked))
      },
    }),
    xpOutliers: t.field({
      extensions: ON_REQUEST,
      type: XpOutliersType,
      description:
        'The players with the most xp in the last 24 hours of the range, against the median of all who earned xp then. It reads the ledger of these hours.',
      resolve: async (insight) => ({
        ...(await insight.read((pool) => readXpOutliers(pool, insight, { limit: OUTLIERS }))),
        environmentId: insight.place.environmentId,
      }),
    }),
    tiers: t.field({
      extensions: { size: 100 },
      type: [TierInsightType],
      description: 'The claim funnel: every tier of the pass, by level.',
      resolve: async (insight) => {
        const levels = await insight.levels()
        return insight.read((pool) => readTiers(pool, insight, levels))
      },
    }),
    completion: t.field({
      description: 'Players who played, reached the top level and completed the pass.',
      type: CompletionType,
      resolve: async (insight) => {
        const levels = await insight.levels()
        return insight.read((pool) => readCompletion(pool, insight, levels))
      },
    }),
  }),
})
