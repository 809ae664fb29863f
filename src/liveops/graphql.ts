import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { findTarget, requirePlatform } from '../auth/access.ts'
import { type ClaimResult, track } from '../battlepass/claim-tier.ts'
import { AddXpPayloadType, ClaimTierPayloadType } from '../battlepass/graphql.ts'
import type { Command } from '../commit/command.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { bareId } from '../graphql/global-id.ts'
import { inputOf, type Sent } from '../graphql/shapes.ts'
import { MAX_ASSET, MAX_IDENTITY_PROVIDER, MAX_SOURCE, MAX_SUBJECT } from '../limits.ts'
import { findPlayer } from '../players/find-player.ts'
import { storageKeys, storageValues } from '../players/requests.ts'
import type { PlayerRef } from '../players/standing.ts'
import { inScenario, nodeId, playerId, reason, requiredKey, runId, scenarioId } from '../request/common.ts'
import {
  described,
  type Fields,
  int32,
  int64,
  optional,
  type RequestOf,
  type Shape,
  shape,
  text,
} from '../request/shape.ts'
import {
  banPlayer,
  type Changed,
  cancelRun,
  creditWallet,
  debitWallet,
  deletePlayer,
  deletePlayerStorage,
  endSessions,
  type GrantedXp,
  grantPremium,
  grantTier,
  grantXp,
  type KeyedCall,
  type Moved,
  type Recorded,
  resetPass,
  resetReward,
  resetTier,
  revokePremium,
  setPlayerStorage,
  unbanPlayer,
  unlinkIdentity,
} from './support.ts'

/** What an action was asked with, as far as its answer rests on it. */
interface Asked {
  readonly currency?: string
  readonly scenarioId?: string
  readonly amount?: bigint
  readonly source?: string
}

/** What an action of support leaves: the player, and what it came to. */
interface Payload<Outcome = unknown> extends Audited {
  readonly player: PlayerRef
  readonly outcome: Outcome
  readonly asked: Asked
}

/** Whose rows of a ledger are meant. Answers that were stored without an id name none: it is the latest like it. */
const ownerOf = ({ environmentId, playerId }: PlayerRef) => ({ environmentId, playerId })

const payload = <Outcome>(name: string, description?: string) => {
  const ref = builder.objectRef<Payload<Outcome>>(name).implement({
    ...(description !== undefined && { description }),
    fields: (t) => ({
      player: t.prismaField({
        type: 'Player',
        resolve: (query, { player: { environmentId, playerId: id } }, _args, { prisma }) =>
          prisma.player.findUniqueOrThrow({ ...query, where: { environmentId_id: { environmentId, id } } }),
      }),
    }),
  })
  addAuditEntry(ref, 'A key that comes again answers the same; null where its answer was stored before it had one.')
  return ref
}

const PlayerPayload = payload('PlayerPayload', 'What an action of support leaves.')

const ChangePayload = payload<Changed>(
  'ChangePayload',
  'What an action of support leaves, and whether there was anything to do.',
)
builder.objectField(ChangePayload, 'changed', (t) =>
  t.boolean({
    description: 'There was something to do, and it is done.',
    resolve: ({ outcome }) => outcome.changed,
  }),
)

const WalletPayload = payload<Moved>('WalletPayload', 'What `creditWallet` and `debitWallet` leave.')
builder.objectField(WalletPayload, 'balance', (t) =>
  t.field({ type: 'Int64', description: 'The balance after it.', resolve: ({ outcome }) => outcome.balance }),
)
builder.objectField(WalletPayload, 'entry', (t) =>
  t.prismaField({
    type: 'WalletEntry',
    description: 'The row of the ledger that it wrote.',
    resolve: (query, { player, outcome: { entryId, balance }, asked: { currency } }, _args, { prisma }) => {
      const owner = ownerOf(player)
      const id = { ...owner, id: entryId ?? '' }
      if (entryId !== undefined)
        return prisma.walletEntry.findUniqueOrThrow({ ...query, where: { environmentId_playerId_id: id } })
      const same = { ...owner, currency, balance, reason: 'adjustment' }
      return prisma.walletEntry.findFirstOrThrow({ ...query, where: same, orderBy: { id: 'desc' } })
    },
  }),
)

const GrantXpPayload = payload<GrantedXp>('GrantXpPayload')
builder.objectField(GrantXpPayload, 'result', (t) =>
  t.field({ type: AddXpPayloadType, resolve: ({ outcome }) => outcome }),
)
builder.objectField(GrantXpPayload, 'entry', (t) =>
  t.prismaField({
    type: 'XpEntry',
    description: 'The row of the xp ledger that it wrote.',
    resolve: (query, { player, outcome: { entryId }, asked: { scenarioId, amount, source } }, _args, { prisma }) => {
      const owner = ownerOf(player)
      const id = { ...owner, id: entryId ?? '' }
      if (entryId !== undefined)
        return prisma.xpEntry.findUniqueOrThrow({ ...query, where: { environmentId_playerId_id: id } })
      const same = { ...owner, scenarioId, amount, source }
      return prisma.xpEntry.findFirstOrThrow({ ...query, where: same, orderBy: { id: 'desc' } })
    },
  }),
)

const GrantTierPayload = payload<ClaimResult>('GrantTierPayload')
builder.objectField(GrantTierPayload, 'result', (t) =>
  t.field({ type: ClaimTierPayloadType, resolve: ({ outcome }) => outcome }),
)

/** What every action of support takes. */
const whom = { playerId, reason }
const amount = int64('1 or more.', { min: 1n })
const level = int32('A level of the pass.', { min: 0 })

const playerRequest = shape(whom)
const moneyRequest = shape({
  ...whom,
  currency: text('A currency, as the scenario and its prices name it.', { max: MAX_ASSET }),
  amount,
  idempotencyKey: requiredKey,
})
const passRequest = shape({ ...whom, ...inScenario })
const rewardRequest = shape({ ...whom, scenarioId, nodeId: described(nodeId, 'A reward node of the scenario.') })
const identityRequest = shape({
  ...whom,
  provider: text('`custom`, or `custom:` and the name of another provider.', { max: MAX_IDENTITY_PROVIDER }),
  subject: text("The player's id of the studio, as its webhook named it.", { max: MAX_SUBJECT }),
})
const xpRequest = shape({
  ...whom,
  ...inScenario,
  amount,
  source: optional(text('`support` unless given.', { max: MAX_SOURCE }), 'support'),
  idempotencyKey: requiredKey,
})
const tierRequest = shape({ ...whom, ...inScenario, level, track })
const grantTierRequest = shape({ ...tierRequest.fields, idempotencyKey: requiredKey })
const runRequest = shape({ ...whom, runId })
const setStorageRequest = shape({ ...whom, values: storageValues })
const deleteStorageRequest = shape({ ...whom, keys: storageKeys })

type SupportFields = Fields & typeof whom

/**
 * The input and the resolver of an action of support on a player of the operator's project. Every fault is told at once.
 * An operator without the role is refused before anything is read. Another project's player is one that does not exist.
 * Both attempts are in the audit log.
 */
function support<F extends SupportFields, Outcome>(
  name: string,
  action: string,
  request: Shape<F>,
  run: (call: KeyedCall, input: RequestOf<Shape<F>>) => Command<Outcome & Recorded>,
) {
  return {
    args: inputOf(name, request),
    resolve: async (_root: unknown, { input: sent }: { input: Sent<F> }, context: Context) => {
      const attempt = { action: `player.${action}`, target: bareId('Player', String(sent.playerId)) }
      const caller = await requirePlatform(context, 'operator', attempt)
      const input = request.readInput(sent)
      const { playerId, reason, idempotencyKey } = input as unknown as RequestOf<typeof moneyRequest>
      const find = () => findPlayer(context.service.pool, caller.projectId, playerId)
      const call = { caller, reason, idempotencyKey, player: await findTarget(context, caller, attempt, find) }
      const outcome = await context.service.run(run(call, input))
      return { player: call.player, outcome, asked: input as Asked, audit: auditRef(caller, outcome.auditId) }
    },
  }
}

builder.mutationFields((t) => ({
  banPlayer: t.field({
    type: PlayerPayload,
    description: 'Bans a player: its calls are refused from the next one on, and what it has open closes.',
    ...support('BanPlayerInput', 'ban', playerRequest, banPlayer),
  }),
  unbanPlayer: t.field({
    type: PlayerPayload,
    description: 'Lets a banned player play again. One that is deleted stays so.',
    ...support('UnbanPlayerInput', 'unban', playerRequest, unbanPlayer),
  }),
  deletePlayer: t.field({
    type: PlayerPayload,
    description:
      'Deletes a player for good: profile, storage, login log and sessions are erased; ledgers, claims and identities stay.',
    ...support('DeletePlayerInput', 'delete', playerRequest, deletePlayer),
  }),
  endSessions: t.field({
    type: PlayerPayload,
    description:
      'Ends all logins of a player: refresh tokens at once, access tokens and sockets within two seconds. It can log in again.',
    ...support('EndSessionsInput', 'end_sessions', playerRequest, endSessions),
  }),
  unlinkIdentity: t.field({
    type: PlayerPayload,
    description:
      'Takes an identity from a player and ends all its logins, since it is not known which came by that identity. The next login with it makes a new player, or it is linked elsewhere.',
    ...support('UnlinkIdentityInput', 'unlink_identity', identityRequest, unlinkIdentity),
  }),
  creditWallet: t.field({
    type: WalletPayload,
    description: 'Gives money to a player.',
    ...support('CreditWalletInput', 'credit_wallet', moneyRequest, creditWallet),
  }),
  debitWallet: t.field({
    type: WalletPayload,
    description: 'Takes money from a player; more than it has is refused.',
    ...support('DebitWalletInput', 'debit_wallet', moneyRequest, debitWallet),
  }),
  grantXp: t.field({
    type: GrantXpPayload,
    description: "Adds xp in the player's active run, by the rules of the game.",
    ...support('GrantXpInput', 'grant_xp', xpRequest, grantXp),
  }),
  grantTier: t.field({
    type: GrantTierPayload,
    description: 'Claims a tier for a player, also one that it has not reached. Premium tiers need premium.',
    ...support('GrantTierInput', 'grant_tier', grantTierRequest, grantTier),
  }),
  resetTier: t.field({
    type: ChangePayload,
    description: 'Makes one claimed tier of one player claimable again. What it granted stays.',
    ...support('ResetTierInput', 'reset_tier', tierRequest, resetTier),
  }),
  resetReward: t.field({
    type: ChangePayload,
    description: 'Lets a reward node that pays once pay a player again. What it granted stays.',
    ...support('ResetRewardInput', 'reset_reward', rewardRequest, resetReward),
  }),
  grantPremium: t.field({
    type: ChangePayload,
    description: 'Gives premium for nothing. Refused where none is sold.',
    ...support('GrantPremiumInput', 'grant_premium', passRequest, grantPremium),
  }),
  revokePremium: t.field({
    type: ChangePayload,
    description: 'Takes premium back. Refused while premium tiers are claimed: reset them first.',
    ...support('RevokePremiumInput', 'revoke_premium', passRequest, revokePremium),
  }),
  resetPass: t.field({
    type: ChangePayload,
    description: 'Puts a pass back to its beginning: no xp, no premium, no claims. What was granted stays.',
    ...support('ResetPassInput', 'reset_pass', passRequest, resetPass),
  }),
  cancelRun: t.field({
    type: PlayerPayload,
    description: 'Ends a run as it stands. The player may start another.',
    ...support('CancelRunInput', 'cancel_run', runRequest, cancelRun),
  }),
  setPlayerStorage: t.field({
    type: PlayerPayload,
    description: "Merges values into a player's storage, all or nothing.",
    ...support('SetPlayerStorageInput', 'set_storage', setStorageRequest, (call, { values }) =>
      setPlayerStorage(call, values),
    ),
  }),
  deletePlayerStorage: t.field({
    type: PlayerPayload,
    description: "Removes keys from a player's storage. Those that it does not have are no fault.",
    ...support('DeletePlayerStorageInput', 'delete_storage', deleteStorageRequest, (call, { keys }) =>
      deletePlayerStorage(call, keys),
    ),
  }),
}))
