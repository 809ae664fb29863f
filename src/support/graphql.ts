import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { Refusal, type RefusalKind } from '../base/errors.ts'
import {
  MAX_BAN_REASON,
  MAX_BOOST_MINUTES,
  MAX_MESSAGE_DAYS,
  MAX_NOTE,
  MAX_NOTES,
  MAX_REWARDS,
  MAX_SOURCE,
  MAX_SUBJECT,
  MAX_SUPPORT_PLAYERS,
} from '../base/limits.ts'
import { claimTierRequest, track } from '../battlepass/claim-tier.ts'
import { AddXpPayloadType, ClaimTierPayloadType } from '../battlepass/graphql.ts'
import { createBoostRequest } from '../boosts/requests.ts'
import { findTarget, requirePlatform } from '../callers/access.ts'
import { hasRight } from '../callers/roles.ts'
import { type CreditRules, readCreditRules, UnknownCurrency } from '../catalogue/currencies.ts'
import { currency } from '../catalogue/requests.ts'
import { newId } from '../db/ids.ts'
import {
  idempotencyKey,
  inScenario,
  nodeId,
  playerId,
  providerOfIdentity,
  reason,
  requiredKey,
  runId,
  scenarioId,
} from '../declare/common.ts'
import { bareId } from '../declare/global-id.ts'
import { builder } from '../declare/graphql/builder.ts'
import type { Context } from '../declare/graphql/context.ts'
import { enumType, inputOf, type Sent } from '../declare/graphql/shapes.ts'
import {
  type Check,
  described,
  type Fields,
  flag,
  int32,
  int64,
  mapped,
  moment,
  oneOf,
  optional,
  type RequestOf,
  type Shape,
  shape,
  text,
  uuid,
  uuids,
} from '../declare/shape.ts'
import { DEFAULT_MESSAGE_DAYS } from '../inbox/deliver.ts'
import { messageImage, messageText } from '../inbox/message-text.ts'
import { settleAll } from '../players/batch.ts'
import { findPlayer, findPlayers } from '../players/find-player.ts'
import { BAN_KINDS, type Ban, type PlayerRef } from '../players/player-status.ts'
import { storageKeys, storageValues } from '../players/requests.ts'
import { countGift, type Limits, requireChangeable, requireGift, requireXp } from '../roles/role-limits.ts'
import { crossHandleRequest } from '../scenario/cross-handle.ts'
import { CrossHandlePayloadType } from '../scenario/graphql-runs.ts'
import { rewardList } from '../scenario/reward-list.ts'
import type { Command } from '../transactions/command.ts'
import { PlayerNoteType } from './graphql-notes.ts'
import {
  type Changed,
  type KeyedCall,
  type Recorded,
  SUPPORT_ERRORS,
  type SupportAction,
  type SupportCall,
  type SupportError,
} from './support-action.ts'
import { endPlayerBoost, type GrantedBoost, grantBoost } from './support-boosts.ts'
import { type Sent as SentMessage, sendMessage, withdrawMessage } from './support-inbox.ts'
import { type AddedNote, addPlayerNote, removePlayerNote } from './support-notes.ts'
import {
  type CrossedHandle,
  cancelRun,
  crossHandle,
  type GrantedTier,
  type GrantedXp,
  grantPremium,
  grantTier,
  grantXp,
  resetPass,
  resetReward,
  resetTier,
  revokePremium,
} from './support-pass.ts'
import {
  banPlayer,
  deletePlayer,
  deletePlayerStorage,
  endSessions,
  setPlayerStorage,
  unbanPlayer,
  unlinkIdentity,
} from './support-player.ts'
import { creditWallet, debitWallet, type Moved } from './support-wallet.ts'

/** The result of an action of support. A refused action has no outcome. */
interface Payload<Outcome = unknown> extends Audited {
  readonly player: PlayerRef
  readonly outcome: Outcome | null
  readonly error: SupportError | null
  readonly refusal: Refusal | null
}

const ERRORS: Readonly<Record<SupportError, string>> = {
  'player banned': 'The player is banned. Unban it first.',
  'player deleted': 'The player is deleted.',
  'run not active': 'The player has no active run of the scenario, or the run has ended.',
  'node not active': 'The node is not active in the run of the player.',
  'season closed': 'Xp can be added from `startsAt` to `endsAt`.',
  'xp limit exceeded': 'The xp would pass the largest 64-bit integer.',
  'balance limit exceeded': 'The balance would pass the largest 64-bit integer.',
  'insufficient funds': 'The wallet has less than the amount.',
  'unknown currency': 'The environment does not know the currency.',
  'credit limit exceeded': 'The amount is above the credit limit of the currency or of the role.',
  'role limit exceeded': 'The role of the caller gives less at once, or less often in a day.',
  'premium tiers claimed': 'Premium tiers are claimed. Reset them first, or revoke premium with them.',
  'premium not available': 'The pass sells no premium.',
  'tier not found': 'The published version has no such tier.',
  'premium required': 'The player does not own premium. Grant premium first.',
  'inbox full': 'The player has as many messages as an inbox holds.',
  'too many notes': `The player has ${MAX_NOTES} notes. Remove one first.`,
  'already undone': 'Another action has undone it already.',
  'last identity':
    'It is the only identity of the player, who could not log in again. To unlink it all the same, send `allowLast: true`.',
}

const SupportErrorType = enumType('SupportError', SUPPORT_ERRORS, {
  description: 'The reason why an action of support was refused.',
  values: ERRORS,
})

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
      error: t.expose('error', {
        type: SupportErrorType,
        nullable: true,
        description: 'The reason of a refusal; then nothing changed. Null on success.',
      }),
      message: t.string({
        nullable: true,
        description: 'The refusal as a sentence for the operator.',
        resolve: ({ error, refusal }) => error && (refusal?.faults[0]?.message ?? ERRORS[error]),
      }),
    }),
  })
  addAuditEntry(ref, 'Null for an action that was refused. A repeated key returns the first entry.')
  return ref
}

/** Why nothing changed for a player of a list. */
const EACH_ERRORS = ['player not found', 'player deleted'] as const
type EachError = (typeof EACH_ERRORS)[number]

/** The result of an action for one player of a list. */
interface EachResult extends Audited {
  /** As the request has it. */
  readonly playerId: string
  readonly error: EachError | null
}

const EachErrorType = enumType('SupportListError', EACH_ERRORS, {
  description: 'The reason why an action did nothing for a player of a list.',
  values: { 'player not found': 'The project has no such player.', 'player deleted': 'The player is deleted.' },
})

const EachResultType = builder.objectRef<EachResult>('SupportListResult').implement({
  description: 'The result of an action of support for one player of a list.',
  fields: (t) => ({
    playerId: t.exposeID('playerId', { description: 'As the request has it.' }),
    error: t.expose('error', {
      type: EachErrorType,
      nullable: true,
      description: 'Why nothing changed. Null on success.',
    }),
  }),
})
addAuditEntry(EachResultType, 'Null where nothing changed. A repeated key returns the first entry.')

const PlayersPayload = builder.objectRef<{ readonly results: readonly EachResult[] }>('PlayersPayload').implement({
  description: 'The payload of an action of support for a list of players.',
  fields: (t) => ({
    results: t.field({
      type: [EachResultType],
      description: 'A result for each player, in the order of the request.',
      resolve: ({ results }) => [...results],
    }),
  }),
})

const PlayerPayload = payload('PlayerPayload', 'The payload of an action of support.')

const ChangePayload = payload<Changed>(
  'ChangePayload',
  'The payload of an action of support that may have nothing to do.',
)
builder.objectField(ChangePayload, 'changed', (t) =>
  t.boolean({
    description: 'False when there was nothing to do.',
    resolve: ({ outcome }) => outcome?.changed ?? false,
  }),
)

const WalletPayload = payload<Moved>('WalletPayload', 'The result of `creditWallet` and `debitWallet`.')
builder.objectField(WalletPayload, 'balance', (t) =>
  t.field({
    type: 'Int64',
    nullable: true,
    description: 'The balance after the change. Null for a refusal.',
    resolve: ({ outcome }) => outcome?.balance,
  }),
)
const SendMessagePayload = payload<SentMessage>('SendMessagePayload', 'The result of `sendMessage`.')
builder.objectField(SendMessagePayload, 'messageId', (t) =>
  t.id({
    nullable: true,
    description: 'The id of the message. Null for a refusal.',
    resolve: ({ outcome }) => outcome?.messageId,
  }),
)

// Both credit currencies.
for (const ref of [WalletPayload, SendMessagePayload] as unknown as [typeof WalletPayload])
  builder.objectField(ref, 'nearest', (t) =>
    t.stringList({
      description: 'For `UNKNOWN_CURRENCY` the most similar known names, the most similar first. Otherwise empty.',
      resolve: ({ refusal }) => (refusal instanceof UnknownCurrency ? [...refusal.nearest] : []),
    }),
  )
builder.objectField(WalletPayload, 'entry', (t) =>
  t.prismaField({
    type: 'WalletEntry',
    nullable: true,
    description: 'The row of the ledger. Null for a refusal.',
    resolve: (query, { player, outcome }, _args, { prisma }) => {
      if (!outcome) return null
      const where = { environmentId_playerId_id: { ...ownerOf(player), id: outcome.entryId } }
      return prisma.walletEntry.findUniqueOrThrow({ ...query, where })
    },
  }),
)

const GrantXpPayload = payload<GrantedXp>('GrantXpPayload')
builder.objectField(GrantXpPayload, 'result', (t) =>
  t.field({
    type: AddXpPayloadType,
    nullable: true,
    description: "The same result that the player's own call returns. Null for a refusal.",
    resolve: ({ outcome }) => outcome,
  }),
)
builder.objectField(GrantXpPayload, 'entry', (t) =>
  t.prismaField({
    type: 'XpEntry',
    nullable: true,
    description: 'The row of the xp ledger. Null for a refusal.',
    resolve: (query, { player, outcome }, _args, { prisma }) => {
      if (!outcome) return null
      const where = { environmentId_playerId_id: { ...ownerOf(player), id: outcome.entryId } }
      return prisma.xpEntry.findUniqueOrThrow({ ...query, where })
    },
  }),
)

const GrantTierPayload = payload<GrantedTier>('GrantTierPayload')
builder.objectField(GrantTierPayload, 'result', (t) =>
  t.field({
    type: ClaimTierPayloadType,
    nullable: true,
    description: "The same result that the player's own call returns. Null for a refusal.",
    resolve: ({ outcome }) => outcome,
  }),
)

const CrossHandleForPlayerPayload = payload<CrossedHandle>('CrossHandleForPlayerPayload')
builder.objectField(CrossHandleForPlayerPayload, 'result', (t) =>
  t.field({
    type: CrossHandlePayloadType,
    nullable: true,
    description: "The same result that the player's own call returns. Null for a refusal.",
    resolve: ({ outcome }) => outcome,
  }),
)

const GrantBoostPayload = payload<GrantedBoost>('GrantBoostPayload')
builder.objectField(GrantBoostPayload, 'boost', (t) =>
  t.prismaField({
    type: 'PlayerBoost',
    nullable: true,
    description: 'The boost as it is now. Null for a refusal, and once it has ended.',
    resolve: (query, { player, outcome }, _args, { prisma }) => {
      if (!outcome) return null
      const where = { environmentId_playerId_id: { ...ownerOf(player), id: outcome.boostId } }
      return prisma.playerBoost.findUnique({ ...query, where })
    },
  }),
)

const AddPlayerNotePayload = payload<AddedNote>('AddPlayerNotePayload')
builder.objectField(AddPlayerNotePayload, 'note', (t) =>
  t.prismaField({
    type: PlayerNoteType,
    nullable: true,
    description: 'The note. Null for a refusal, and once it is removed.',
    resolve: (query, { player, outcome }, _args, { prisma }) => {
      if (!outcome) return null
      const where = { environmentId_playerId_id: { ...ownerOf(player), id: outcome.noteId } }
      return prisma.playerNote.findUnique({ ...query, where })
    },
  }),
)

// The wallet entries of what may pay.
for (const ref of [GrantXpPayload, GrantTierPayload, CrossHandleForPlayerPayload] as unknown as [
  typeof GrantTierPayload,
])
  builder.objectField(ref, 'walletEntries', (t) =>
    t.prismaField({
      type: ['WalletEntry'],
      description: "The rows of the wallet's ledger that the action wrote, in order. Empty when it paid no currency.",
      resolve: (query, { player, outcome }, _args, { prisma }) => {
        const where = { ...ownerOf(player), id: { in: [...(outcome?.walletEntryIds ?? [])] } }
        return prisma.walletEntry.findMany({ ...query, where, orderBy: { id: 'asc' } })
      },
    }),
  )

const whom = { playerId, reason, idempotencyKey }
const amount = int64('1 or more.', { min: 1n })
const level = int32('A level of the pass.', { min: 0 })

/** Of an action that can undo another. */
const undo = {
  ...whom,
  undoes: mapped(
    optional(
      uuid(
        'The `id` of the entry of the audit log whose action this one undoes. One that is undone already is refused.',
        'AuditLogEntry',
      ),
    ),
    (id) => id?.toLowerCase() ?? null,
  ),
}

const playerRequest = shape(whom)
const unbanRequest = shape(undo)
const ban = {
  kind: optional(oneOf('The calls that are refused. Default: `EVERYTHING`.', BAN_KINDS), 'everything'),
  until: optional(moment('When the ban ends by itself. Default: when it is lifted.')),
  publicReason: optional(
    text(`The reason that the player sees: 1 to ${MAX_BAN_REASON} characters.`, { max: MAX_BAN_REASON }),
  ),
}
const banRequest = shape({ ...undo, ...ban })
const each = {
  playerIds: uuids('The `playerId`s.', { max: MAX_SUPPORT_PLAYERS }),
  reason,
  idempotencyKey,
}
const banEachRequest = shape({ ...each, ...ban })
type BanFields = RequestOf<Shape<typeof ban>>
const banAsked = ({ kind, until, publicReason }: BanFields): Ban => ({ kind, until, reason: publicReason })
const LAST_DAY = Date.UTC(9999, 11, 31)
const checkBan: Check<BanFields> = ({ until }) => {
  if (!until) return []
  if (until.getTime() <= Date.now()) return [{ path: 'until', message: 'must be later than now' }]
  return until.getTime() > LAST_DAY ? [{ path: 'until', message: 'must be before the year 10000' }] : []
}
const messageRequest = shape({
  ...whom,
  text: optional(messageText),
  image: messageImage,
  rewards: optional(
    rewardList(`What the player can claim with the message: up to ${MAX_REWARDS}. Default: nothing.`, { min: 0 }),
    [],
  ),
  expiresInDays: optional(
    int32(`Days until the message expires: 1 to ${MAX_MESSAGE_DAYS}. Default: 30.`, { min: 1, max: MAX_MESSAGE_DAYS }),
    DEFAULT_MESSAGE_DAYS,
  ),
  allowNew: optional(flag('True sends currencies even if the environment does not know them. Default: false.'), false),
  idempotencyKey: requiredKey,
})
const checkMessage: Check<RequestOf<typeof messageRequest>> = ({ text, rewards }) =>
  text === null && rewards.length === 0 ? [{ path: 'text', message: 'is required without rewards' }] : []
const withdrawRequest = shape({
  ...undo,
  messageId: mapped(uuid('The `messageId` of a message.'), (id) => id.toLowerCase()),
})
const addNoteRequest = shape({
  ...whom,
  text: text(`What other operators should know: 1 to ${MAX_NOTE} characters.`, { max: MAX_NOTE }),
  idempotencyKey: requiredKey,
})
const removeNoteRequest = shape({
  ...undo,
  noteId: mapped(uuid('The `noteId` of a note.'), (id) => id.toLowerCase()),
})
const moneyRequest = shape({
  ...undo,
  currency,
  amount,
  idempotencyKey: requiredKey,
})
const creditRequest = shape({
  ...moneyRequest.fields,
  allowNew: optional(flag('True credits a currency even if the environment does not know it. Default: false.'), false),
})
const passRequest = shape({ ...whom, ...inScenario })
const premiumRequest = shape({ ...undo, ...inScenario })
const revokeRequest = shape({
  ...premiumRequest.fields,
  withTiers: optional(
    flag('True makes claimed premium tiers claimable again; the player keeps their rewards. Default: false.'),
    false,
  ),
})
const rewardRequest = shape({ ...whom, scenarioId, nodeId: described(nodeId, 'A reward node of the scenario.') })
const identityRequest = shape({
  ...whom,
  provider: providerOfIdentity(''),
  subject: text("The studio's own id of the player, from its webhook.", { max: MAX_SUBJECT }),
  allowLast: optional(flag('True unlinks even the only identity of the player. Default: false.'), false),
})
const xpRequest = shape({
  ...whom,
  ...inScenario,
  amount,
  source: optional(text('Default: `support`.', { max: MAX_SOURCE }), 'support'),
  idempotencyKey: requiredKey,
})
const tierRequest = shape({ ...undo, ...inScenario, level, track })
const grantTierRequest = shape({
  ...tierRequest.fields,
  choice: claimTierRequest.fields.choice,
  idempotencyKey: requiredKey,
})
const runRequest = shape({ ...whom, runId })
const crossRequest = shape({
  ...whom,
  scenarioId,
  nodeId,
  handle: crossHandleRequest.fields.handle,
  idempotencyKey: requiredKey,
})
const grantBoostRequest = shape({
  ...undo,
  percent: createBoostRequest.fields.percent,
  minutes: int32(
    `For so many minutes: 1 to ${MAX_BOOST_MINUTES}. What would end later than after so many minutes from now is cut.`,
    { min: 1, max: MAX_BOOST_MINUTES },
  ),
  idempotencyKey: requiredKey,
})
const endBoostRequest = shape({
  ...undo,
  boostId: mapped(uuid('The `boostId` of a boost of the player.'), (id) => id.toLowerCase()),
})
const setStorageRequest = shape({ ...whom, values: storageValues })
const deleteStorageRequest = shape({ ...whom, keys: storageKeys })

type SupportFields = Fields & typeof whom

/** The rules of a currency for the caller of an action. */
const rulesFor =
  ({ caller, player }: KeyedCall, { operatorPool }: Context['service'], { maxCredit: most }: Limits) =>
  (currency: string): Promise<CreditRules> =>
    readCreditRules(operatorPool, player.environmentId, currency, { isAdmin: hasRight(caller.role, 'manage'), most })

/**
 * The input and the resolver of an action of support on a player of the operator's project. All faults are reported at
 * once. An operator without the role is refused before anything is read, and a player of another project counts as
 * missing; both attempts are in the audit log. A refusal that an operator can act on is data of the payload.
 */
function support<F extends SupportFields, Outcome>(
  name: string,
  action: SupportAction,
  request: Shape<F>,
  run: (
    call: KeyedCall,
    input: RequestOf<Shape<F>>,
    service: Context['service'],
    limits: Limits,
  ) => Command<Outcome & Recorded> | Promise<Command<Outcome & Recorded>>,
  check?: Check<RequestOf<Shape<F>>>,
) {
  return {
    args: inputOf(name, request),
    resolve: async (_root: unknown, { input: sent }: { input: Sent<F> }, context: Context) => {
      const { service } = context
      const attempt = { action: `player.${action}`, target: bareId('Player', String(sent.playerId)) }
      const caller = await requirePlatform(context, 'act', attempt)
      const input = request.readInput(sent, check)
      const { playerId, reason, idempotencyKey, undoes = null } = input as unknown as RequestOf<typeof moneyRequest>
      const find = () => findPlayer(service.pool, caller.projectId, playerId)
      const player = await findTarget(context, caller, attempt, find)
      const call = { caller, reason, idempotencyKey, undoes, player }
      const limits = await requireChangeable(service, caller, attempt, player.environmentId)
      let takeBack: (() => Promise<void>) | undefined
      try {
        if (isGift(action, input)) {
          // Without a key, each call is a gift of its own.
          const gift = { environmentId: player.environmentId, idempotencyKey: idempotencyKey ?? newId() }
          takeBack = await countGift(service.pool, limits, caller, gift)
        }
        const outcome = await service.run(await run(call, input, service, limits))
        return { player, outcome, error: null, refusal: null, audit: auditRef(caller, outcome.auditId) }
      } catch (refusal) {
        if (refusal instanceof Refusal && !MAY_BE_DONE.includes(refusal.kind)) await takeBack?.()
        const error = refusal instanceof Refusal && SUPPORT_ERRORS.find((known) => known === refusal.message)
        if (!error) throw refusal
        if (OF_ROLES.includes(error)) await service.auditDenied(caller, attempt.action, player.playerId)
        return { player, outcome: null, error, refusal, audit: null }
      }
    },
  }
}

/** Refusals because of the role. */
const OF_ROLES: readonly SupportError[] = ['credit limit exceeded', 'role limit exceeded']

/** After these, the gift of the key may have been given: by this call, or by an earlier one. */
const MAY_BE_DONE: readonly RefusalKind[] = ['unavailable', 'idempotencyKeyReused']

/** What gives something, or lets a player claim it again. */
const GIFTS: readonly SupportAction[] = [
  ...(['credit_wallet', 'grant_xp', 'grant_tier', 'grant_premium', 'grant_boost', 'send_message'] as const),
  ...(['cross_handle', 'reset_tier', 'reset_reward', 'reset_pass'] as const),
]

/** Whether an action gives something to the player. A message without rewards does not. */
const isGift = (action: SupportAction, input: object): boolean =>
  GIFTS.includes(action) && !('rewards' in input && (input.rewards as readonly unknown[]).length === 0)

type EachFields = Fields & typeof each

/** The same for a list of players. Each is decided by itself, and all have ended when the call is answered. */
function supportEach<F extends EachFields>(
  name: string,
  action: SupportAction,
  request: Shape<F>,
  run: (call: SupportCall, input: RequestOf<Shape<F>>) => Command<Recorded>,
  check?: Check<RequestOf<Shape<F>>>,
) {
  return {
    args: inputOf(name, request),
    resolve: async (_root: unknown, { input: sent }: { input: Sent<F> }, context: Context) => {
      const { service } = context
      const attempt = { action: `player.${action}`, target: 'players' }
      const caller = await requirePlatform(context, 'act', attempt)
      const input = request.readInput(sent, check)
      const { playerIds, reason, idempotencyKey } = input as unknown as RequestOf<Shape<typeof each>>
      const players = await findPlayers(service.pool, caller.projectId, playerIds)
      for (const environmentId of new Set([...players.values()].map((player) => player.environmentId)))
        await requireChangeable(service, caller, attempt, environmentId)

      async function actOn(playerId: string): Promise<EachResult> {
        const player = players.get(playerId)
        if (!player) {
          await service.auditDenied(caller, attempt.action, playerId)
          return { playerId, error: 'player not found', audit: null }
        }
        try {
          const { auditId } = await service.run(run({ caller, reason, idempotencyKey, player }, input))
          return { playerId, error: null, audit: auditRef(caller, auditId) }
        } catch (refusal) {
          const error = refusal instanceof Refusal && EACH_ERRORS.find((known) => known === refusal.message)
          if (!error) throw refusal
          return { playerId, error, audit: null }
        }
      }

      // A player that is named twice is acted on once.
      const ids = [...new Set(playerIds.map((id) => id.toLowerCase()))]
      const results = new Map((await settleAll(ids.map(actOn))).map((one) => [one.playerId, one]))
      return { results: playerIds.map((id) => ({ ...(results.get(id.toLowerCase()) as EachResult), playerId: id })) }
    },
  }
}

builder.mutationFields((t) => ({
  banPlayer: t.field({
    type: PlayerPayload,
    description:
      'Bans a player: its calls are refused from the next one on, and its open sockets and streams close. Another ban replaces the one that the player has. A deletion that the player has asked for waits until the ban ends: `player { deleteAt }` and the audit entry have its time.',
    ...support('BanPlayerInput', 'ban', banRequest, (call, input) => banPlayer(call, banAsked(input)), checkBan),
  }),
  unbanPlayer: t.field({
    type: PlayerPayload,
    description: 'Lets a banned player play again. A deleted player stays deleted.',
    ...support('UnbanPlayerInput', 'unban', unbanRequest, unbanPlayer),
  }),
  banPlayers: t.field({
    type: PlayersPayload,
    description: `Bans up to ${MAX_SUPPORT_PLAYERS} players, each by itself as \`banPlayer\` does, with a result for each. Send the same request again after a failure.`,
    ...supportEach(
      'BanPlayersInput',
      'ban',
      banEachRequest,
      (call, input) => banPlayer(call, banAsked(input)),
      checkBan,
    ),
  }),
  unbanPlayers: t.field({
    type: PlayersPayload,
    description: `Lets up to ${MAX_SUPPORT_PLAYERS} banned players play again, with a result for each.`,
    ...supportEach('UnbanPlayersInput', 'unban', shape(each), unbanPlayer),
  }),
  deletePlayer: t.field({
    type: PlayerPayload,
    description:
      'Deletes a player permanently: profile, storage, inbox, login log and sessions are erased; ledgers, claims and identities stay.',
    ...support('DeletePlayerInput', 'delete', playerRequest, deletePlayer),
  }),
  endSessions: t.field({
    type: PlayerPayload,
    description:
      'Ends all logins of a player: refresh tokens at once, access tokens and sockets within two seconds. The player can log in again.',
    ...support('EndSessionsInput', 'end_sessions', playerRequest, endSessions),
  }),
  unlinkIdentity: t.field({
    type: PlayerPayload,
    description:
      'Removes an identity from a player and ends all logins of the player, since a login does not record its identity. The next login with the subject creates a new player, or the subject can be linked to another player. The only identity is refused unless `allowLast` is true.',
    ...support('UnlinkIdentityInput', 'unlink_identity', identityRequest, unlinkIdentity),
  }),
  creditWallet: t.field({
    type: WalletPayload,
    description:
      "Credits a player's wallet. Refuses a currency that the environment does not know unless `allowNew` is true, and an amount above the credit limit of the currency or of the role. Admins have no limit.",
    ...support('CreditWalletInput', 'credit_wallet', creditRequest, async (call, input, service, limits) =>
      creditWallet(call, input, await rulesFor(call, service, limits)(input.currency)),
    ),
  }),
  debitWallet: t.field({
    type: WalletPayload,
    description: "Debits a player's wallet. Refuses an amount above the balance.",
    ...support('DebitWalletInput', 'debit_wallet', moneyRequest, debitWallet),
  }),
  grantXp: t.field({
    type: GrantXpPayload,
    description: "Adds xp in the player's active run, by the rules of the game.",
    ...support('GrantXpInput', 'grant_xp', xpRequest, (call, input, _service, limits) => {
      requireXp(limits, call.caller, input.amount, 'amount')
      return grantXp(call, input)
    }),
  }),
  grantTier: t.field({
    type: GrantTierPayload,
    description:
      'Claims a tier for a player, even one that it has not reached. Premium tiers require premium, and a tier with a choice the option.',
    ...support('GrantTierInput', 'grant_tier', grantTierRequest, (call, input, _service, limits) =>
      grantTier(call, input, limits),
    ),
  }),
  resetTier: t.field({
    type: ChangePayload,
    description: 'Makes one claimed tier of one player claimable again. The player keeps its rewards.',
    ...support('ResetTierInput', 'reset_tier', tierRequest, (call, input, _service, limits) =>
      resetTier(call, input, limits),
    ),
  }),
  resetReward: t.field({
    type: ChangePayload,
    description: 'Lets a reward node that pays once pay a player again. The player keeps its rewards.',
    ...support('ResetRewardInput', 'reset_reward', rewardRequest, (call, input, _service, limits) =>
      resetReward(call, input, limits),
    ),
  }),
  grantPremium: t.field({
    type: ChangePayload,
    description: 'Grants premium without a price. Refused for a pass that sells none.',
    ...support('GrantPremiumInput', 'grant_premium', premiumRequest, (call, input, _service, limits) =>
      grantPremium(call, input, limits),
    ),
  }),
  revokePremium: t.field({
    type: ChangePayload,
    description:
      'Revokes premium, without a refund. Refused while premium tiers are claimed: reset them first, or send `withTiers`.',
    ...support('RevokePremiumInput', 'revoke_premium', revokeRequest, revokePremium),
  }),
  resetPass: t.field({
    type: ChangePayload,
    description: 'Resets a pass: no xp, no premium, no claims. The player keeps its rewards.',
    ...support('ResetPassInput', 'reset_pass', passRequest, (call, input, _service, limits) =>
      resetPass(call, input, limits),
    ),
  }),
  cancelRun: t.field({
    type: PlayerPayload,
    description: 'Ends a run as it stands. The player may start another.',
    ...support('CancelRunInput', 'cancel_run', runRequest, cancelRun),
  }),
  crossHandleForPlayer: t.field({
    type: CrossHandleForPlayerPayload,
    description:
      "Crosses a handle of an active node in the player's active run, also one that only servers of the game cross.",
    ...support('CrossHandleForPlayerInput', 'cross_handle', crossRequest, (call, input, _service, limits) =>
      crossHandle(call, input, limits),
    ),
  }),
  grantBoost: t.field({
    type: GrantBoostPayload,
    description:
      'Gives a player a personal boost from now on, as a reward does: one of the same percentage that runs is made longer.',
    ...support('GrantBoostInput', 'grant_boost', grantBoostRequest, grantBoost),
  }),
  endPlayerBoost: t.field({
    type: ChangePayload,
    description: 'Ends a personal boost of a player at once. Xp that it has given stays.',
    ...support('EndPlayerBoostInput', 'end_boost', endBoostRequest, endPlayerBoost),
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
    description: "Removes keys from a player's storage. Missing keys are no error.",
    ...support('DeletePlayerStorageInput', 'delete_storage', deleteStorageRequest, (call, { keys }) =>
      deletePlayerStorage(call, keys),
    ),
  }),
  sendMessage: t.field({
    type: SendMessagePayload,
    description:
      "Puts a message into a player's inbox: a text, rewards to claim, or both. Its currencies follow the rules of `creditWallet`. Refuses a full inbox.",
    ...support(
      'SendMessageInput',
      'send_message',
      messageRequest,
      async (call, input, service, limits) => {
        const items = input.rewards.filter(({ itemId }) => itemId !== null)
        requireGift(limits.maxCredit, items, 'rewards')
        const currencies = [...new Set(input.rewards.flatMap((one) => one.currency ?? []))]
        const rules = await Promise.all(currencies.map(rulesFor(call, service, limits)))
        return sendMessage(call, input, new Map(currencies.map((one, index) => [one, rules[index] as CreditRules])))
      },
      checkMessage,
    ),
  }),
  withdrawMessage: t.field({
    type: ChangePayload,
    description: "Removes a message that was not claimed from a player's inbox.",
    ...support('WithdrawMessageInput', 'withdraw_message', withdrawRequest, withdrawMessage),
  }),
  addPlayerNote: t.field({
    type: AddPlayerNotePayload,
    description: `Adds a note about a player for other operators. The game and the player never see it. A player has up to ${MAX_NOTES}.`,
    ...support('AddPlayerNoteInput', 'add_note', addNoteRequest, addPlayerNote),
  }),
  removePlayerNote: t.field({
    type: ChangePayload,
    description: 'Removes a note about a player.',
    ...support('RemovePlayerNoteInput', 'remove_note', removeNoteRequest, removePlayerNote),
  }),
}))
