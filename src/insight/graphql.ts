import { requirePlatform } from '../auth/access.ts'
import { TrackType } from '../battlepass/graphql.ts'
import { refuseFaults } from '../errors.ts'
import { builder } from '../graphql/builder.ts'
import { argsOf, enumType } from '../graphql/shapes.ts'
import { MAX_INT64, MIN_INT64 } from '../json.ts'
import { findEnvironment } from '../projects/projects.ts'
import { environment, nodeId, scenarioId } from '../request/common.ts'
import { described, moment, optional, shape } from '../request/shape.ts'
import { HOURS_KEPT_DAYS, readRanged, STEPS, stepFaults } from './range.ts'
import {
  type CompletionInsight,
  type DayInsight,
  findPass,
  type InsightRef,
  type LevelInsight,
  readCompletion,
  readDays,
  readLevels,
  readTiers,
  readXp,
  type SourceInsight,
  type TierInsight,
} from './read-insight.ts'

const DEFAULT_DAYS = 7
const MAX_DAYS = 366
/** Hours of more days do not fit a chart. */
const MAX_DAYS_BY_HOUR = 31
const SOURCES = 20
const MAX_SOURCES = 100

/** The sum of many players' xp can exceed 64 bits. */
const SUM = 'A sum beyond 64 bits is given as the largest or smallest that they hold.'
const toInt64 = (sum: bigint): bigint => (sum > MAX_INT64 ? MAX_INT64 : sum < MIN_INT64 ? MIN_INT64 : sum)

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

const LevelInsightType = builder.objectRef<LevelInsight>('LevelInsight').implement({
  description: 'How players stand at a level at the end of the range, and what moved in it.',
  fields: (t) => ({
    level: t.exposeInt('level', {
      description: 'A level of the pass, or one at which somebody stands after an edit; 0 is below the first.',
    }),
    players: t.expose('players', {
      type: 'Count',
      description: 'Players at this very level, as their own progress says.',
    }),
    premium: t.expose('premium', { type: 'Count', description: 'Players at this very level, with premium.' }),
    reached: t.expose('reached', { type: 'Count', description: 'Players at this level or above.' }),
    reachedPremium: t.expose('reachedPremium', {
      type: 'Count',
      description: 'Players at this level or above, with premium.',
    }),
    conversion: t.float({
      nullable: true,
      description: 'The share with premium of those who reached the level, 0 to 1; null while nobody has.',
      resolve: ({ reached, reachedPremium }) => share(reachedPremium, reached),
    }),
    reachedInRange: t.expose('reachedInRange', {
      type: 'Count',
      description: 'How many more had reached it at the end of the range than at its beginning.',
    }),
    premiumInRange: t.expose('premiumInRange', {
      type: 'Count',
      description: 'Premium bought or given in the range by players at this level, less what was taken back.',
    }),
  }),
})

const TierInsightType = builder.objectRef<TierInsight>('TierInsight').implement({
  description: 'The way of a tier from reached to claimed, up to the end of the range.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.field({ type: TrackType, resolve: ({ track }) => track }),
    reached: t.expose('reached', { type: 'Count', description: 'Players who reached its level.' }),
    entitled: t.expose('entitled', {
      type: 'Count',
      description: 'Players who reached its level and own its track: on the premium track those with premium.',
    }),
    claimed: t.expose('claimed', { type: 'Count', description: 'Claims, those that support gave included.' }),
    unclaimed: t.expose('unclaimed', { type: 'Count', description: 'Players who are entitled and have not claimed.' }),
    claimedInRange: t.expose('claimedInRange', {
      type: 'Count',
      description: 'Claims in the range, less those that were reset.',
    }),
  }),
})

const DayInsightType = builder.objectRef<DayInsight>('DayInsight').implement({
  description: 'One day of a battle pass, in UTC.',
  fields: (t) => ({
    startsAt: t.field({ type: 'DateTime', description: 'Its first moment.', resolve: ({ day }) => day }),
    players: t.expose('players', { type: 'Count', description: 'Players who earned xp, claimed or bought that day.' }),
    newPlayers: t.expose('newPlayers', {
      type: 'Count',
      description: 'Players whose pass began that day, mostly with their first xp.',
    }),
    premium: t.expose('premium', { type: 'Count', description: 'Premium bought or given, less what was taken back.' }),
    claims: t.expose('claims', { type: 'Count', description: 'Tiers claimed, less those that were reset.' }),
    completed: t.expose('completed', { type: 'Count', description: 'Players who completed the pass.' }),
  }),
})

const XpTimeType = builder.objectRef<SourceInsight['times'][number]>('XpTime').implement({
  description: 'What an hour or day gave.',
  fields: (t) => ({
    startsAt: t.field({
      type: 'DateTime',
      description: 'The first moment of the hour or day.',
      resolve: ({ at }) => at,
    }),
    grants: t.expose('grants', { type: 'Count', description: 'How many times xp was given or taken.' }),
    xp: t.field({
      description: `What was given, less what was taken back. ${SUM}`,
      type: 'Int64',
      resolve: ({ xp }) => toInt64(xp),
    }),
  }),
})

const XpSourceType = builder.objectRef<SourceInsight>('XpSource').implement({
  description: 'What one source of xp gave in the range.',
  fields: (t) => ({
    source: t.exposeString('source', { nullable: true, description: 'Null for all that are not among the largest.' }),
    grants: t.expose('grants', { type: 'Count', description: 'How many times xp was given or taken.' }),
    xp: t.field({
      type: 'Int64',
      description: `Below zero for what support took back. ${SUM}`,
      resolve: ({ xp }) => toInt64(xp),
    }),
    times: t.field({
      type: [XpTimeType],
      description: 'Hours or days in which it gave any, in order.',
      resolve: ({ times }) => [...times],
    }),
  }),
})

const CompletionType = builder.objectRef<CompletionInsight>('CompletionInsight').implement({
  description: 'How far players got, at the end of the range.',
  fields: (t) => ({
    players: t.expose('players', { type: 'Count', description: 'Who have played the pass.' }),
    atTopLevel: t.expose('atTopLevel', { type: 'Count', description: 'Who have reached the top level.' }),
    completed: t.expose('completed', {
      type: 'Count',
      description: 'Who have reached the top level and claimed every tier of the tracks that they own.',
    }),
    rate: t.float({
      nullable: true,
      description: 'Completed by players, 0 to 1; null while nobody has played.',
      resolve: ({ completed, players }) => share(completed, players),
    }),
  }),
})

export const StepType = enumType('InsightStep', STEPS, {
  description: 'How finely times are told apart.',
  values: { hour: 'Hours of UTC.', day: 'Days of UTC.' },
})

/** Three of the fields need the levels: they are read once. */
interface Insight extends InsightRef {
  readonly levels: () => Promise<LevelInsight[]>
}

const InsightType = builder.objectRef<Insight>('BattlePassInsight').implement({
  description:
    'Figures of one battle pass, as of the last commit. What they say of how players stand is said of the end of the range. Days and hours are those of UTC, and count whole where the range touches them. Players of deleted accounts stay counted.',
  fields: (t) => ({
    from: t.field({
      description: 'The first moment of the range.',
      type: 'DateTime',
      resolve: ({ range }) => range.from,
    }),
    to: t.field({
      description: 'The end of the range; not itself in it.',
      type: 'DateTime',
      resolve: ({ range }) => range.to,
    }),
    levels: t.field({
      type: [LevelInsightType],
      description:
        'The distribution of levels and of premium: every level of the pass, in order. An edit of the definition is counted within half a minute.',
      resolve: (insight) => insight.levels(),
    }),
    days: t.field({
      type: [DayInsightType],
      description: 'Every day of the range, in order, those of which nothing is known too.',
      resolve: (insight, _args, { service }) => readDays(service.operatorPool, insight),
    }),
    xp: t.field({
      type: [XpSourceType],
      description: `Xp by source, the largest first, then the rest as one. An hour keeps a hundred sources apart. Hours are of the last ${HOURS_KEPT_DAYS} days and of up to ${MAX_DAYS_BY_HOUR} days at a time.`,
      args: {
        by: t.arg({ type: StepType, defaultValue: 'hour', required: true, description: 'Times by hour or by day.' }),
        sources: t.arg.int({ defaultValue: SOURCES, required: true, description: `1 to ${MAX_SOURCES}.` }),
      },
      resolve: (insight, args, { service }) => {
        const { by, sources } = args
        const faults = stepFaults(by, insight.range, MAX_DAYS_BY_HOUR)
        if (sources < 1 || sources > MAX_SOURCES)
          faults.push({ path: 'sources', message: `must be 1 to ${MAX_SOURCES}` })
        refuseFaults(faults)
        return readXp(service.operatorPool, insight, { step: by, sources })
      },
    }),
    tiers: t.field({
      type: [TierInsightType],
      description: 'The claim funnel: every tier of the pass, by level.',
      resolve: async (insight, _args, { service }) => readTiers(service.operatorPool, insight, await insight.levels()),
    }),
    completion: t.field({
      description: 'How many played, reached the top and completed the pass.',
      type: CompletionType,
      resolve: async (insight, _args, { service }) =>
        readCompletion(service.operatorPool, insight, await insight.levels()),
    }),
  }),
})

const insightRequest = shape({
  environment,
  scenarioId,
  nodeId: described(nodeId, 'A battle-pass node of the published version.'),
  from: optional(moment(`${DEFAULT_DAYS} days before the end unless given.`)),
  to: optional(moment('Now unless given. Not itself in the range.')),
})

builder.queryField('battlePassInsight', (t) =>
  t.field({
    type: InsightType,
    nullable: true,
    description: 'Figures of one battle pass of a scenario, over a range of time.',
    args: argsOf(insightRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { service } = context
      const asked = readRanged(insightRequest, args, { days: DEFAULT_DAYS, maxDays: MAX_DAYS })
      const { environment, scenarioId, nodeId, range } = asked
      const place = { environmentId: await findEnvironment(service.pool, projectId, environment), scenarioId, nodeId }
      const ref = { place, pass: await service.run(findPass(place)), range }
      let levels: Promise<LevelInsight[]> | undefined
      return {
        ...ref,
        levels() {
          levels ??= readLevels(service.operatorPool, ref)
          return levels
        },
      }
    },
  }),
)
