import { PlayerFilterType } from '../../accounts/lists/graphql-segments.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType } from '../../declare/graphql/node.ts'
import { answerType, enumType, outputOfShape } from '../../declare/graphql/shapes.ts'
import type { JobState } from '../../events/catalogue.ts'
import type { RewardBoost } from '../../game/definition/definition.ts'
import { MessageTextType } from '../../game/inbox/graphql.ts'
import { JobStateType } from '../../game/stream/graphql-types.ts'
import { RewardBoostType, RewardOrBoostType } from '../../game/wallet/graphql.ts'
import { readGift, readMessage, readTarget, type Target, totalOf } from './job.ts'
import { grantPolicy } from './manage-jobs.ts'
import { ENDED, type Gift, levelsGift, premiumGift, xpGift } from './requests.ts'

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
    listId: t.id({
      nullable: true,
      description: 'The list of players. Null without one.',
      resolve: (target) => (target.kind === 'list' ? target.listId : null),
    }),
  }),
})

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
  }),
})

/** How far it is, and what it gives in all. */
builder.prismaObjectFields('GrantJob', (t) => ({
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
      'What it gives to all of its players, each currency and item once. For an undo: of the job that it undoes.',
    select: { gift: true, players: true, amount: true },
    resolve: ({ gift, players, amount }) => [...totalOf(readGift(gift), players, BigInt(amount.toFixed(0))).rewards],
  }),
  totalXp: t.field({
    type: 'Int64',
    description: 'The xp that it gives to all of its players. 0 for levels, whose xp differs by player.',
    select: { gift: true, players: true, amount: true },
    resolve: ({ gift, players, amount }) => totalOf(readGift(gift), players, BigInt(amount.toFixed(0))).xp,
  }),
}))

/** Who made it, when, and what became of it. */
builder.prismaObjectFields('GrantJob', (t) => ({
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
    description: 'When it began to give. Null until then.',
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
}))

builder.prismaObjectField('PlatformKey', 'openGrantJobs', (t) =>
  t.prismaField({
    type: ['GrantJob'],
    description:
      'The grant jobs that it is responsible for and that have not ended. They continue when it is revoked: cancel those that must not.',
    select: { id: true },
    resolve: (query, { id: keyId }, _args, { prisma }) =>
      prisma.grantJob.findMany({ ...query, where: { keyId, state: { notIn: [...ENDED] } }, orderBy: { id: 'asc' } }),
  }),
)

answerType('GrantPolicy', grantPolicy)
