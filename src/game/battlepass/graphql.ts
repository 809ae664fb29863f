import { thaw } from '../../base/frozen-json.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { namesOf, PLAYERS_LIST, pageOf } from '../../declare/graphql/page.ts'
import { answerType, enumType, playerMutation, playerQuery } from '../../declare/graphql/shapes.ts'
import { findReadable } from '../../players/graphql-readable.ts'
import { CLAIM_TRACKS, type ClaimTrack, type Granted } from '../definition/definition.ts'
import { currentPass } from '../runs/scenarios.ts'
import { RewardOrBoostType } from '../wallet/graphql.ts'
import { addXpAnswer, addXpCall } from './add-xp.ts'
import { claimAllAnswer, claimAllCall, claimAnswer, claimTierCall, grantedTier } from './claim-tier.ts'
import { CLAIM_ERRORS, PURCHASE_ERRORS } from './decide.ts'
import { levelOf } from './passes.ts'
import { purchaseAnswer, purchasePremiumCall } from './purchase-premium.ts'
import { claimedTier, progressAnswer, progressCall } from './read-progress.ts'
import { seasonAnswer, seasonBoost, seasonCall } from './read-season.ts'
import { viewCall } from './read-view.ts'
import {
  bonusView,
  conversionView,
  levelView,
  optionView,
  passState,
  passView,
  premiumView,
  rewardView,
  tierView,
  viewAnswer,
} from './view-answer.ts'
import { XP_ORIGINS, type XpOrigin } from './xp-limits.ts'

export const TrackType = enumType('Track', CLAIM_TRACKS, {
  description: 'A track of a battle pass.',
  values: {
    free: 'Open to every player.',
    premium: 'Open to players who own premium.',
    bonus: 'The bonus tiers above the top level, numbered from 1. Only a pass with bonus tiers has it.',
  },
})

enumType('ClaimError', CLAIM_ERRORS, {
  description: 'The reason why a tier was not claimed.',
  values: {
    'tier not found': 'The pass has no such tier.',
    'season closed': 'The season is closed: tiers can be claimed from `startsAt` to `claimUntil`.',
    'level not reached': 'The player is below the level of the tier.',
    'premium required': 'The tier is on the premium track, and the player does not own premium.',
    'choice required': 'The tier has a choice, and the claim names no option.',
    'choice not found': 'The tier has no such option, or no choice at all.',
    'balance limit exceeded': 'A balance would pass the largest 64-bit integer.',
    'daily limit reached': 'The bonus tiers of the day are claimed.',
  },
})

enumType('PurchaseError', PURCHASE_ERRORS, {
  description: 'The reason why premium was not bought.',
  values: {
    'idempotency key reused': 'The idempotency key was used for another request.',
    'premium not available': 'The pass sells no premium.',
    'season closed': 'The season is closed: premium is sold from `startsAt` to `endsAt`.',
    'premium already owned': 'The player already owns premium.',
    'insufficient funds': 'The wallet has less than the price.',
    'balance limit exceeded': 'A balance would pass the largest 64-bit integer.',
  },
})

export const XpOriginEnum = enumType('XpOrigin', XP_ORIGINS, {
  description: 'Where xp came from.',
  values: {
    client: "The player's client sent it.",
    server: 'A server of the game sent it, with a server key.',
    operator: 'An operator granted it, or reset the pass.',
    season: 'It came along from the season before.',
  },
})

answerType('ClaimedTier', claimedTier)
export const GrantedTierType = answerType('GrantedTier', grantedTier)
const BattlePassProgressType = answerType('BattlePassProgress', progressAnswer)
const AddXpPayloadType = answerType('AddXpPayload', addXpAnswer)
const ClaimTierPayloadType = answerType('ClaimTierPayload', claimAnswer)
const ClaimAllPayloadType = answerType('ClaimAllPayload', claimAllAnswer)
const PurchasePremiumPayloadType = answerType('PurchasePremiumPayload', purchaseAnswer)

answerType('SeasonBoost', seasonBoost)
const SeasonType = answerType('Season', seasonAnswer)

builder.queryField('season', (t) =>
  t.field({
    type: SeasonType,
    nullable: true,
    description: 'Where the season of a pass stands. Null, with an error, when the pass does not exist.',
    ...playerQuery(seasonCall),
  }),
)

answerType('RewardView', rewardView)
answerType('OptionView', optionView)
answerType('LevelView', levelView)
answerType('TierView', tierView)
answerType('PremiumView', premiumView)
answerType('BonusView', bonusView)
answerType('ConversionView', conversionView)
answerType('PassState', passState)
answerType('PassView', passView)
const ScenarioViewType = answerType('ScenarioView', viewAnswer)
const viewQuery = playerQuery(viewCall)

builder.queryField('scenarioView', (t) =>
  t.field({
    type: ScenarioViewType,
    nullable: true,
    description:
      'What a game draws of a scenario, and where the calling player stands. Null, with an error, when the scenario does not exist.',
    ...viewQuery,
    resolve: async (root, args, context) => (await viewQuery.resolve(root, args, context)).view,
  }),
)

builder.queryField('battlePass', (t) =>
  t.field({
    type: BattlePassProgressType,
    nullable: true,
    description: "The calling player's progress. Null, with an error, when the pass does not exist.",
    ...playerQuery(progressCall),
  }),
)

builder.mutationFields((t) => ({
  addXp: t.field({
    type: AddXpPayloadType,
    description: 'Adds xp to a pass. The run must be active; it need not have entered the node.',
    ...playerMutation('AddXpInput', addXpCall),
  }),
  claimTier: t.field({
    type: ClaimTierPayloadType,
    description:
      'Claims one tier of one track. Repeated calls grant the tier once. The run must be active; it need not have entered the node.',
    ...playerMutation('ClaimTierInput', claimTierCall),
  }),
  claimAll: t.field({
    type: ClaimAllPayloadType,
    description:
      'Claims every tier of a pass that can be claimed now. The run must be active; it need not have entered the node.',
    ...playerMutation('ClaimAllInput', claimAllCall),
  }),
  purchasePremium: t.field({
    type: PurchasePremiumPayloadType,
    description:
      'Buys premium for a pass from the wallet. The price is charged once. The run must be active; it need not have entered the node.',
    ...playerMutation('PurchasePremiumInput', purchasePremiumCall),
  }),
}))

const ClaimType = builder.prismaObject('TierClaim', {
  fields: (t) => ({
    scenarioId: t.exposeString('scenarioId'),
    nodeId: t.exposeString('nodeId', { description: 'The pass of the tier.' }),
    level: t.exposeInt('level'),
    track: t.field({ type: TrackType, select: { track: true }, resolve: ({ track }) => track as ClaimTrack }),
    granted: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      resolve: ({ granted }) => thaw(granted) as unknown as Granted[],
    }),
    runId: t.exposeID('runId', { description: 'The run in which the tier was claimed.' }),
    claimedAt: t.expose('claimedAt', { type: 'DateTime' }),
  }),
})

builder.prismaObject('XpEntry', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('XpEntry', playerId, id) }),
    amount: t.expose('amount', { type: 'Int64', description: 'The xp that was added; negative for a reset.' }),
    source: t.exposeString('source'),
    origin: t.field({
      type: XpOriginEnum,
      description: 'Where the xp came from.',
      select: { origin: true },
      resolve: ({ origin }) => (origin ?? 'client') as XpOrigin,
    }),
    asked: t.field({
      type: 'Int64',
      description: 'The xp that was sent. More than `amount` without its `bonus` when a limit held a part of it back.',
      select: { asked: true, amount: true, bonus: true },
      resolve: ({ asked, amount, bonus }) => asked ?? amount - (bonus ?? 0n),
    }),
    bonus: t.field({
      type: 'Int64',
      description: 'The part of `amount` that premium and boosts brought, on top of what was granted. 0 for none.',
      select: { bonus: true },
      resolve: ({ bonus }) => bonus ?? 0n,
    }),
    limitedBy: t.exposeString('limitedBy', {
      nullable: true,
      description: 'The limit that held xp back, such as `source.perDay`. Null when all of it was granted.',
    }),
    reference: t.exposeString('reference', {
      nullable: true,
      description: "The server's reference, such as the id of a match.",
    }),
    runId: t.exposeID('runId', { description: 'The run in which the xp was earned.' }),
    occurredAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of the grant or reset.' }),
  }),
})

builder.prismaObject('BattlePass', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      resolve: ({ playerId, scenarioId, nodeId: node }) => globalId('BattlePass', playerId, scenarioId, node),
    }),
    scenarioId: t.exposeString('scenarioId'),
    nodeId: t.exposeString('nodeId'),
    xp: t.expose('xp', { type: 'Int64' }),
    level: t.int({
      description:
        'The level by the current version of the scenario, as in `battlePass`. A pass that the current version no longer has keeps its last level.',
      select: { environmentId: true, scenarioId: true, nodeId: true, xp: true, level: true, currentLevel: true },
      resolve: async (pass, _args, { service }) => levelOf(await service.run(currentPass(pass)), pass),
    }),
    premiumOwned: t.exposeBoolean('premiumOwned'),
    completed: t.exposeBoolean('completed', { description: '`onComplete` was crossed.' }),
    claims: t.field({
      extensions: { size: 100 },
      type: [ClaimType],
      description: 'Claimed tiers, by level.',
      resolve: ({ environmentId, playerId, scenarioId, nodeId }, _args, context) =>
        context.prisma.tierClaim.findMany({
          where: { environmentId, playerId, scenarioId, nodeId },
          orderBy: [{ level: 'asc' }, { track: 'asc' }],
        }),
    }),
    xpLedger: t.prismaConnection(
      {
        type: 'XpEntry',
        ...PLAYERS_LIST,
        description: 'Every grant of xp, the latest first.',
        resolve: (query, { environmentId, playerId, scenarioId, nodeId }, _args, context) => {
          const { page, beyond } = pageOf(query, { scope: { playerId }, order: 'desc' })
          return context.prisma.xpEntry.findMany({
            ...page,
            where: { environmentId, playerId, scenarioId, nodeId, ...beyond },
          })
        },
      },
      ...namesOf('XpEntry'),
    ),
  }),
})

nodesOf('BattlePass', ['uuid', 'name', 'name'], async (context, [playerId = '', scenarioId = '', node = '']) => {
  const player = await findReadable(context, playerId)
  if (!player) return null
  const where = { environmentId_playerId_scenarioId_nodeId: { ...player, scenarioId, nodeId: node } }
  return context.prisma.battlePass.findUnique({ where })
})

nodesOf('XpEntry', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.xpEntry.findUnique({ where })
})

builder.prismaObjectField('Player', 'passes', (t) =>
  t.relation('passes', {
    extensions: { size: 5 },
    description: "The player's battle passes.",
    query: { orderBy: [{ scenarioId: 'asc' }, { nodeId: 'asc' }] },
  }),
)
