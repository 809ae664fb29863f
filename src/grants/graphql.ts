import type { Pool } from 'pg'
import { requireReader } from '../callers/access.ts'
import { printCursor, readCursor } from '../declare/cursor.ts'
import { globalId } from '../declare/global-id.ts'
import { builder } from '../declare/graphql/builder.ts'
import { ON_REQUEST } from '../declare/graphql/field-marks.ts'
import { NodeType } from '../declare/graphql/node.ts'
import { forwardPage, namesOf, readList } from '../declare/graphql/page.ts'
import { answerType, argsOf, enumType, outputOfShape } from '../declare/graphql/shapes.ts'
import { isUuid, optional, shape, someOf } from '../declare/shape.ts'
import { MessageTextType } from '../inbox/graphql.ts'
import { readStored } from '../inbox/messages.ts'
import { PlayerFilterType } from '../listing/graphql-segments.ts'
import { type Granted, granted, type RewardBoost } from '../scenario/definition.ts'
import { RewardBoostType, RewardOrBoostType } from '../wallet/graphql.ts'
import { JobStateType } from './graphql-state.ts'
import { readGift, readMessage, readTarget, type Target, totalOf } from './job.ts'
import { grantPolicy } from './manage-jobs.ts'
import { CAUSES, type FailureCause, OUTCOMES, type Outcome } from './outcomes.ts'
import type { PreviewedJob, PreviewedUndo } from './preview.ts'
import { ENDED, type Gift, type JobState, levelsGift, premiumGift, xpGift } from './requests.ts'

const OutcomeType = enumType('GrantOutcome', OUTCOMES, {
  description: 'What became of a player of a grant job.',
  values: {
    granted: 'The player got it. Of a job that undoes another: it was taken back, as far as the player still had it.',
    failed: 'Nothing changed, as `cause` says.',
  },
})
const CauseType = enumType('GrantFailure', CAUSES, {
  description: 'Why nothing changed for a player of a grant job.',
  values: {
    'player not found': 'The player is gone.',
    'player banned': 'The player is banned, and gets no xp.',
    'player deleted': 'The player is deleted.',
    'scenario not found': 'The scenario is gone.',
    'node not found': 'The current version of the scenario has no such node.',
    'run not active': 'The player has no active run of the scenario.',
    'season closed': 'Xp can be added from `startsAt` to `endsAt`.',
    'xp limit exceeded': 'The xp would pass the largest 64-bit integer.',
    'balance limit exceeded': 'A balance or an amount would pass the largest 64-bit integer.',
    'premium not available': 'The pass sells no premium.',
    'premium tiers claimed': 'Premium cannot be revoked, since premium tiers are claimed.',
    'top level reached': 'The player is at the top level.',
    'premium owned': 'The player owns premium already.',
    'premium not owned': 'The player no longer owns premium.',
    'inbox full': 'The inbox holds as many messages as it can.',
    'nothing left': 'The player has spent all of it, or the message is gone.',
  },
})

const XpGiftType = outputOfShape('XpGift', xpGift, 'Xp that each player gets.')
const LevelsGiftType = outputOfShape('LevelsGift', levelsGift, 'Levels that each player gets.')
const PremiumGiftType = outputOfShape('PremiumGift', premiumGift, 'Premium that each player gets.')
const RewardGiftType = builder.objectRef<NonNullable<Gift['rewards']>[number]>('RewardGift').implement({
  description: 'A currency, an item or a boost that each player gets.',
  fields: (t) => ({
    currency: t.exposeString('currency', { nullable: true, description: 'The currency; null for anything else.' }),
    itemId: t.exposeString('itemId', { nullable: true, description: 'The item; null for anything else.' }),
    boost: t.field({
      type: RewardBoostType,
      nullable: true,
      description: 'The boost; null for anything else.',
      resolve: ({ boost }): RewardBoost | null => boost,
    }),
    amount: t.expose('amount', {
      type: 'Int64',
      nullable: true,
      description: 'The amount for each player. Null for a boost, and when the list of players has it.',
    }),
  }),
})
const GiftType = builder.objectRef<Gift>('Gift').implement({
  description: 'What each player of a grant job gets: one of these. All are null for a message without a gift.',
  fields: (t) => ({
    rewards: t.field({
      extensions: { size: 2 },
      type: [RewardGiftType],
      nullable: true,
      description: 'Currencies, items and boosts.',
      resolve: ({ rewards }) => rewards && [...rewards],
    }),
    xp: t.expose('xp', { type: XpGiftType, nullable: true, description: 'Xp.' }),
    levels: t.expose('levels', { type: LevelsGiftType, nullable: true, description: 'Levels.' }),
    premium: t.expose('premium', { type: PremiumGiftType, nullable: true, description: 'Premium.' }),
  }),
})
const NO_GIFT: Gift = { rewards: null, xp: null, levels: null, premium: null }

const TARGET_KINDS = ['filter', 'list', 'undo'] as const
const TargetKindType = enumType('GrantTargetKind', TARGET_KINDS, {
  description: 'How the players of a grant job were chosen.',
  values: {
    filter: 'By filters, or by those of a segment.',
    list: 'By a list: one that was uploaded, or the players that the request named.',
    undo: 'They are those of the job that it undoes who got something.',
  },
})
const TargetType = builder.objectRef<Target>('GrantTarget').implement({
  description: 'The players of a grant job. A segment is kept with the filters that it had when the job was made.',
  fields: (t) => ({
    kind: t.field({ type: TargetKindType, description: 'How they were chosen.', resolve: ({ kind }) => kind }),
    filter: t.field({
      type: PlayerFilterType,
      nullable: true,
      description: 'The filters, also those of a segment. Null without any.',
      resolve: (target) => (target.kind === 'filter' ? target.filter : null),
    }),
    segment: t.string({
      nullable: true,
      description: 'The name that the segment had. Null without one.',
      resolve: (target) => (target.kind === 'filter' ? target.segment : null),
    }),
    listId: t.string({
      nullable: true,
      description: 'The list of players. Null without one.',
      resolve: (target) => (target.kind === 'list' ? target.listId : null),
    }),
  }),
})

interface JobPlayerRow {
  readonly environmentId: string
  readonly playerId: string
  readonly amount: string | null
  readonly outcome: Outcome | null
  readonly cause: FailureCause | null
  readonly given: string | null
  readonly messageId: string | null
  readonly actedAt: Date | null
}
const JobPlayerType = builder.objectRef<JobPlayerRow>('GrantJobPlayer').implement({
  description: 'A player of a grant job.',
  fields: (t) => ({
    playerId: t.exposeID('playerId', { description: "The player's id." }),
    player: t.prismaField({
      type: 'Player',
      nullable: true,
      description: 'The player.',
      resolve: (query, { environmentId, playerId: id }, _args, { prisma }) =>
        prisma.player.findUnique({ ...query, where: { environmentId_id: { environmentId, id } } }),
    }),
    outcome: t.expose('outcome', {
      type: OutcomeType,
      nullable: true,
      description: 'What became of the player. Null while it waits.',
    }),
    cause: t.expose('cause', { type: CauseType, nullable: true, description: 'Why it failed. Null otherwise.' }),
    amount: t.field({
      type: 'Int64',
      nullable: true,
      description: "The player's amount of the list, or the xp that it got. Null otherwise.",
      resolve: ({ amount }) => (amount === null ? null : BigInt(amount)),
    }),
    granted: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'The rewards that it got, or that were taken back. Empty without any.',
      resolve: ({ given }) => (given === null ? [] : readStored(given).map(granted)),
    }),
    messageId: t.exposeID('messageId', { nullable: true, description: 'The message in its inbox. Null without one.' }),
    actedAt: t.expose('actedAt', { type: 'DateTime', nullable: true, description: 'The time of the outcome.' }),
  }),
})

const PLAYER_COLUMNS = `g.environment_id AS "environmentId", g.player_id AS "playerId", g.amount::text AS amount, g.outcome, g.cause,
  g.given, g.message_id AS "messageId", g.acted_at AS "actedAt"`

interface CauseCount {
  readonly cause: FailureCause
  readonly players: number
}
const CauseCountType = builder.objectRef<CauseCount>('GrantFailureCount').implement({
  description: 'A number of players for whom nothing changed, by the cause.',
  fields: (t) => ({
    cause: t.expose('cause', { type: CauseType, description: 'The cause.' }),
    players: t.field({ type: 'Count', description: 'Their number.', resolve: ({ players }) => BigInt(players) }),
  }),
})

const outcomesRequest = shape({
  outcomes: optional(someOf('Only players with one of these outcomes. Default: all, also those who wait.', OUTCOMES)),
})
const PLAYERS_CURSOR = 'grant-player'
const readPlace = (cursor: string): string | undefined => {
  const id = readCursor(PLAYERS_CURSOR, cursor)
  return id !== undefined && isUuid(id) ? id : undefined
}

const rewardsOf = (list: readonly Granted[]): Granted[] => [...list]

builder.prismaObject('GrantJob', {
  description: 'A grant to many players, each of whom gets it once.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('GrantJob', id) }),
    jobId: t.exposeID('id', { description: 'The id, as in the audit log and in references of ledgers.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: ({ environment }) => environment.name,
    }),
    state: t.field({
      type: JobStateType,
      description: 'Where it stands.',
      select: { state: true },
      resolve: ({ state }) => state as JobState,
    }),
    note: t.exposeString('note', {
      nullable: true,
      description: 'Why the service paused it, or why it failed. Null otherwise.',
    }),
    target: t.field({
      type: TargetType,
      description: 'How its players were chosen.',
      select: { target: true },
      resolve: ({ target }) => readTarget(target),
    }),
    give: t.field({
      type: GiftType,
      description: 'What each player gets.',
      select: { gift: true },
      resolve: ({ gift }) => readGift(gift) ?? NO_GIFT,
    }),
    message: t.field({
      extensions: { size: 2 },
      type: [MessageTextType],
      description: 'The message that comes with it, in its languages. Empty without one.',
      select: { message: true },
      resolve: ({ message }) =>
        Object.entries(readMessage(message)?.texts ?? {}).map(([language, text]) => ({ language, ...text })),
    }),
    image: t.string({
      nullable: true,
      description: "The picture of the message: a URL, or a key of the game's own assets. Null without one.",
      select: { message: true },
      resolve: ({ message }) => readMessage(message)?.image ?? null,
    }),
    expiresInDays: t.int({
      nullable: true,
      description: 'The days until the message expires. Null without one.',
      select: { message: true },
      resolve: ({ message }) => readMessage(message)?.days ?? null,
    }),
    limit: t.exposeInt('most', { description: 'The most players that it may reach.' }),
    reason: t.exposeString('reason', { description: 'Why it was made, in the words of the operator.' }),
    players: t.field({
      type: 'Count',
      description: 'The number of its players: while it collects them, those until now.',
      select: { players: true },
      resolve: ({ players }) => BigInt(players),
    }),
    granted: t.field({
      type: 'Count',
      description: 'The players who got it until now.',
      select: { granted: true },
      resolve: ({ granted }) => BigInt(granted),
    }),
    failed: t.field({
      type: 'Count',
      description: 'The players for whom nothing changed, until now.',
      select: { failed: true },
      resolve: ({ failed }) => BigInt(failed),
    }),
    total: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description:
        'What it gives to all of its players, each currency and item once. An undo tells it of the job that it undoes.',
      select: { gift: true, players: true, amount: true },
      resolve: ({ gift, players, amount }) =>
        rewardsOf(totalOf(readGift(gift), players, BigInt(amount.toFixed(0))).rewards),
    }),
    totalXp: t.field({
      type: 'Int64',
      description: 'The xp that it gives to all of its players. 0 for levels, whose xp differs by player.',
      select: { gift: true, players: true, amount: true },
      resolve: ({ gift, players, amount }) => totalOf(readGift(gift), players, BigInt(amount.toFixed(0))).xp,
    }),
    failedByCause: t.field({
      extensions: { ...ON_REQUEST, size: 3 },
      type: [CauseCountType],
      description: 'The players for whom nothing changed, by the cause, the most first.',
      resolve: ({ id }, _args, { service }) => countFailures(service.operatorPool, id),
    }),
    largest: t.field({
      extensions: { ...ON_REQUEST, size: 10 },
      type: [JobPlayerType],
      description: 'The ten players with the largest amounts of the list. Empty without a list with amounts.',
      select: { amount: true },
      resolve: async ({ id, amount }, _args, context) => {
        await requireReader({ ...context, isCounted: true })
        return amount.isZero() ? [] : readLargest(context.service.operatorPool, id)
      },
    }),
    jobPlayers: t.connection(
      {
        type: JobPlayerType,
        description: 'Its players, by their ids. They are kept for 400 days after its end.',
        args: argsOf(outcomesRequest),
        resolve: async ({ id }, args, context) => {
          await requireReader({ ...context, isCounted: true })
          const { service } = context
          const { size, after, outcomes } = readList(outcomesRequest, args, readPlace)
          const found = await readPlayers(service.operatorPool, id, { outcomes, after, most: size + 1 })
          return forwardPage(found, { size, after }, ({ playerId }) => printCursor(PLAYERS_CURSOR, playerId))
        },
      },
      ...namesOf('GrantJobPlayer'),
    ),
    operator: t.exposeString('operator', {
      nullable: true,
      description: 'The person who made it, or has resumed it since. Null when the key names none.',
    }),
    approvedAt: t.expose('approvedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a second person approved it. Null otherwise.',
    }),
    approvedBy: t.exposeString('approvedBy', {
      nullable: true,
      description: 'The person who approved it. Null when the key names none.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    startsAt: t.expose('startsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it starts, or was to start. Null for one that was not planned.',
    }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its players began to get theirs. Null until then.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended. Null until then.',
    }),
    undoOf: t.prismaField({
      type: 'GrantJob',
      nullable: true,
      description: 'The job that it undoes. Null for any other one.',
      select: { undoOf: true },
      resolve: (query, { undoOf: id }, _args, { prisma }) =>
        id === null ? null : prisma.grantJob.findUnique({ ...query, where: { id } }),
    }),
    undos: t.relation('undos', {
      extensions: { size: 1 },
      description: 'The jobs that undo it, the first first: one, and those before it that were cancelled or failed.',
      query: { orderBy: { id: 'asc' } },
    }),
  }),
})

async function countFailures(pool: Pool, jobId: string): Promise<CauseCount[]> {
  const { rows } = await pool.query<CauseCount>(
    `SELECT cause, count(*)::int AS players FROM grant_job_players WHERE job_id = $1 AND outcome = 'failed'
     GROUP BY cause ORDER BY players DESC, cause`,
    [jobId],
  )
  return rows
}

async function readLargest(pool: Pool, jobId: string): Promise<JobPlayerRow[]> {
  const { rows } = await pool.query<JobPlayerRow>(
    `SELECT ${PLAYER_COLUMNS} FROM grant_job_players g WHERE job_id = $1 ORDER BY g.amount DESC NULLS LAST, player_id LIMIT 10`,
    [jobId],
  )
  return rows
}

interface PlayersPage {
  readonly outcomes: readonly string[] | null
  readonly after: string | null
  readonly most: number
}

async function readPlayers(pool: Pool, jobId: string, { outcomes, after, most }: PlayersPage): Promise<JobPlayerRow[]> {
  const { rows } = await pool.query<JobPlayerRow>(
    `SELECT ${PLAYER_COLUMNS} FROM grant_job_players g WHERE job_id = $1 AND ($2::uuid IS NULL OR player_id > $2)
       AND ($3::text[] IS NULL OR outcome = ANY ($3)) ORDER BY player_id LIMIT $4`,
    [jobId, after, outcomes, most],
  )
  return rows
}

builder.prismaObjectField('PlatformKey', 'openGrantJobs', (t) =>
  t.prismaField({
    type: ['GrantJob'],
    description:
      'The grant jobs that it speaks for and that have not ended. They go on when it is revoked: cancel those that must not.',
    select: { id: true },
    resolve: (query, { id: keyId }, _args, { prisma }) =>
      prisma.grantJob.findMany({ ...query, where: { keyId, state: { notIn: [...ENDED] } }, orderBy: { id: 'asc' } }),
  }),
)

const LargestType = builder.objectRef<PreviewedJob['largest'][number]>('GrantLargest').implement({
  description: 'A player of a list with its amount.',
  fields: (t) => ({
    playerId: t.exposeID('playerId', { description: "The player's id." }),
    amount: t.expose('amount', { type: 'Int64', description: 'The amount.' }),
  }),
})

builder.objectRef<PreviewedJob>('PreviewGrantJobResult').implement({
  description: 'What a grant job would do now.',
  fields: (t) => ({
    players: t.field({
      type: 'Count',
      description: 'The players that it would reach. When `isExact` is false, there may be more.',
      resolve: ({ players }) => BigInt(players),
    }),
    isExact: t.exposeBoolean('isExact', {
      description: 'False when there may be more players than were looked at; the other figures are of those, too.',
    }),
    total: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What all players would get, each currency and item once.',
      resolve: ({ total }) => rewardsOf(total.rewards),
    }),
    totalXp: t.field({
      type: 'Int64',
      description: 'The xp that all players would get. 0 for levels.',
      resolve: ({ total }) => total.xp,
    }),
    needsApproval: t.exposeBoolean('needsApproval', {
      description: 'Whether a second person would have to approve it.',
    }),
    largest: t.field({
      extensions: { size: 10 },
      type: [LargestType],
      description: 'The ten players with the largest amounts of the list. Empty without a list with amounts.',
      resolve: ({ largest }) => [...largest],
    }),
    failing: t.field({
      extensions: { size: 3 },
      type: [CauseCountType],
      description: 'The players who would get nothing now, by the cause, as far as it is known before.',
      resolve: ({ failing }) => [...failing],
    }),
  }),
})

builder.objectRef<PreviewedUndo>('PreviewGrantUndoResult').implement({
  description: 'What an undo of a grant job could take back now.',
  fields: (t) => ({
    players: t.field({
      type: 'Count',
      description: 'The players who got something. When `isExact` is false, there may be more.',
      resolve: ({ players }) => BigInt(players),
    }),
    isExact: t.exposeBoolean('isExact', { description: 'False when there may be more than was looked at.' }),
    given: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What they got in all.',
      resolve: ({ given }) => rewardsOf(given),
    }),
    taken: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What could be taken back now. The rest is spent.',
      resolve: ({ taken }) => rewardsOf(taken),
    }),
    unclaimedMessages: t.field({
      type: 'Count',
      description: 'Messages that would be withdrawn, as nobody has claimed them.',
      resolve: ({ unclaimedMessages }) => BigInt(unclaimedMessages),
    }),
    premium: t.field({
      type: 'Count',
      description: 'The players from whom premium could be revoked: those who have claimed no premium tier.',
      resolve: ({ premium }) => BigInt(premium),
    }),
  }),
})

answerType('GrantPolicy', grantPolicy)
