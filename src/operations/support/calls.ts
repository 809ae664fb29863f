import type { Service } from '../../app/service.ts'
import type { Refusal } from '../../base/errors.ts'
import { MAX_NOTES, MAX_SUPPORT_PLAYERS } from '../../base/limits.ts'
import { hasRight } from '../../callers/roles.ts'
import { out } from '../../declare/answer.ts'
import { shape } from '../../declare/shape.ts'
import { addXpAnswer } from '../../game/battlepass/add-xp.ts'
import { claimAnswer } from '../../game/battlepass/claim-tier.ts'
import { crossAnswer } from '../../game/runs/cross-handle.ts'
import { type CreditRules, readCreditRules, UnknownCurrency } from '../../game/wallet/currencies.ts'
import type { PlayerRef } from '../../players/player-status.ts'
import { type Limits, requireGift, requireXp } from '../calls/role-limits.ts'
import { actionAnswer, actionCall } from './action-call.ts'
import { eachCall } from './action-on-each.ts'
import {
  addNoteRequest,
  banAsked,
  banEachRequest,
  banRequest,
  cancelMessageRequest,
  checkBan,
  checkMessage,
  creditRequest,
  crossRequest,
  deleteNoteRequest,
  deleteStorageRequest,
  each,
  endBoostRequest,
  grantPlayerBoostRequest,
  grantTierRequest,
  identityRequest,
  messageRequest,
  moneyRequest,
  passRequest,
  playerRequest,
  premiumRequest,
  revokeRequest,
  rewardRequest,
  runRequest,
  setStorageRequest,
  tierRequest,
  unbanRequest,
  xpRequest,
} from './requests.ts'
import type { Changed, KeyedCall } from './support-action.ts'
import { endPlayerBoost, type GrantedBoost, grantPlayerBoost } from './support-boosts.ts'
import {
  type CrossedHandle,
  cancelRun,
  crossHandle,
  type GrantedTier,
  type GrantedXp,
  grantTier,
  grantXp,
} from './support-gifts.ts'
import { cancelMessage, type Sent, sendMessage } from './support-inbox.ts'
import { type AddedNote, addPlayerNote, deletePlayerNote } from './support-notes.ts'
import { grantPremium, resetPass, resetReward, resetTier, revokePremium } from './support-pass.ts'
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

/** The key of a row of a player. */
interface RowKey {
  readonly environmentId: string
  readonly playerId: string
  readonly id: string
}

const keyOf = ({ environmentId, playerId }: PlayerRef, id: string): RowKey => ({ environmentId, playerId, id })

const player = actionAnswer('PlayerPayload', {}, () => ({}), 'The payload of an action of support.')

const changed = actionAnswer(
  'ChangePayload',
  { changed: out.flag('False when there was nothing to do.') },
  (outcome: Changed | null) => ({ changed: outcome?.changed ?? false }),
  'The payload of an action of support that may have nothing to do.',
)

const nearest = out.list(
  out.text(),
  'For `UNKNOWN_CURRENCY` the most similar known names, the most similar first. Otherwise empty.',
)
const nearestOf = (refusal: Refusal | null): readonly string[] =>
  refusal instanceof UnknownCurrency ? refusal.nearest : []

const wallet = actionAnswer(
  'WalletPayload',
  {
    balance: out.orNull(out.int64('The balance after the change. Null for a refusal.')),
    entry: out.orNull(out.keptAt<RowKey>('WalletEntry', 'The row of the ledger. Null for a refusal.')),
    nearest,
  },
  (outcome: Moved | null, { player, refusal }) => ({
    balance: outcome?.balance ?? null,
    entry: outcome && keyOf(player, outcome.entryId),
    nearest: nearestOf(refusal),
  }),
  'The result of `creditWallet` and `debitWallet`.',
)

const message = actionAnswer(
  'SendMessagePayload',
  { messageId: out.orNull(out.id('The id of the message. Null for a refusal.')), nearest },
  (outcome: Sent | null, { refusal }) => ({ messageId: outcome?.messageId ?? null, nearest: nearestOf(refusal) }),
  'The result of `sendMessage`.',
)

const SAME_RESULT = "The same result that the player's own call returns. Null for a refusal."
const walletEntries = out.list(
  out.keptAt<RowKey>('WalletEntry'),
  "The rows of the wallet's ledger that the action wrote, in order. Empty when it paid no currency.",
)
const entriesOf = (player: PlayerRef, ids: readonly string[] | undefined): readonly RowKey[] =>
  (ids ?? []).map((id) => keyOf(player, id))

const xp = actionAnswer(
  'GrantXpPayload',
  {
    result: out.orNull(addXpAnswer, SAME_RESULT),
    entry: out.orNull(out.keptAt<RowKey>('XpEntry', 'The row of the xp ledger. Null for a refusal.')),
    walletEntries,
  },
  (outcome: GrantedXp | null, { player }) => ({
    result: outcome,
    entry: outcome && keyOf(player, outcome.entryId),
    walletEntries: entriesOf(player, outcome?.walletEntryIds),
  }),
)

const tier = actionAnswer(
  'GrantTierPayload',
  { result: out.orNull(claimAnswer, SAME_RESULT), walletEntries },
  (outcome: GrantedTier | null, { player }) => ({
    result: outcome,
    walletEntries: entriesOf(player, outcome?.walletEntryIds),
  }),
)

const crossing = actionAnswer(
  'CrossHandleForPlayerPayload',
  { result: out.orNull(crossAnswer, SAME_RESULT), walletEntries },
  (outcome: CrossedHandle | null, { player }) => ({
    result: outcome,
    walletEntries: entriesOf(player, outcome?.walletEntryIds),
  }),
)

const boost = actionAnswer(
  'GrantPlayerBoostPayload',
  {
    boost: out.orNull(
      out.keptAt<RowKey>('PlayerBoost', 'The boost as it is now. Null for a refusal, and once it has ended.'),
    ),
  },
  (outcome: GrantedBoost | null, { player }) => ({ boost: outcome && keyOf(player, outcome.boostId) }),
)

const note = actionAnswer(
  'AddPlayerNotePayload',
  { note: out.orNull(out.keptAt<RowKey>('PlayerNote', 'The note. Null for a refusal, and once it is deleted.')) },
  (outcome: AddedNote | null, { player }) => ({ note: outcome && keyOf(player, outcome.noteId) }),
)

/** The rules of a currency for the caller of an action. */
const rulesFor =
  ({ caller, player }: KeyedCall, { operatorPool }: Service, { maxCredit: most }: Limits) =>
  (currency: string): Promise<CreditRules> =>
    readCreditRules(operatorPool, player.environmentId, currency, { isAdmin: hasRight(caller.role, 'manage'), most })

export const supportCalls = [
  actionCall({
    name: 'banPlayer',
    summary:
      'Bans a player: its calls are refused from the next one on, and its open sockets and streams close. Another ban replaces the one that the player has. A deletion that the player has asked for waits until the ban ends: `player { deleteAt }` and the audit entry have its time.',
    action: 'ban',
    title: 'Ban a player',
    request: banRequest,
    check: checkBan,
    answer: player,
    command: (call, asked) => banPlayer(call, banAsked(asked)),
  }),
  actionCall({
    name: 'unbanPlayer',
    summary: 'Lets a banned player play again. A deleted player stays deleted.',
    action: 'unban',
    title: 'Unban a player',
    request: unbanRequest,
    answer: player,
    command: unbanPlayer,
  }),
  eachCall({
    name: 'banPlayers',
    summary: `Bans up to ${MAX_SUPPORT_PLAYERS} players, each by itself as \`banPlayer\` does, with a result for each. Send the same request again after a failure.`,
    action: 'ban',
    request: banEachRequest,
    check: checkBan,
    command: (call, asked) => banPlayer(call, banAsked(asked)),
  }),
  eachCall({
    name: 'unbanPlayers',
    summary: `Lets up to ${MAX_SUPPORT_PLAYERS} banned players play again, with a result for each.`,
    action: 'unban',
    request: shape(each),
    command: unbanPlayer,
  }),
  actionCall({
    name: 'deletePlayer',
    summary:
      'Deletes a player permanently: profile, storage, inbox, login log and sessions are erased; ledgers, claims and identities stay.',
    action: 'delete',
    title: 'Delete a player',
    request: playerRequest,
    answer: player,
    command: deletePlayer,
  }),
  actionCall({
    name: 'endSessions',
    summary:
      'Ends all logins of a player: refresh tokens at once, access tokens and sockets within two seconds. The player can log in again.',
    action: 'end_sessions',
    title: 'End a player’s sessions',
    request: playerRequest,
    answer: player,
    command: endSessions,
  }),
  actionCall({
    name: 'unlinkIdentity',
    summary:
      'Removes an identity from a player and ends all logins of the player, since a login does not record its identity. The next login with the subject creates a new player, or the subject can be linked to another player. The only identity is refused unless `allowLast` is true.',
    action: 'unlink_identity',
    title: 'Unlink an identity',
    request: identityRequest,
    answer: player,
    command: unlinkIdentity,
  }),
  actionCall({
    name: 'creditWallet',
    summary:
      "Credits a player's wallet. Refuses a currency that the environment does not know unless `allowNew` is true, and an amount above the credit limit of the currency or of the role. Admins have no limit.",
    action: 'credit_wallet',
    title: 'Credit a wallet',
    request: creditRequest,
    answer: wallet,
    isGift: () => true,
    command: async (call, asked, { service, limits }) =>
      creditWallet(call, asked, await rulesFor(call, service, limits)(asked.currency)),
  }),
  actionCall({
    name: 'debitWallet',
    summary: "Debits a player's wallet. Refuses an amount above the balance.",
    action: 'debit_wallet',
    title: 'Debit a wallet',
    request: moneyRequest,
    answer: wallet,
    command: debitWallet,
  }),
  actionCall({
    name: 'grantXp',
    summary: "Adds xp in the player's active run, by the rules of the game.",
    action: 'grant_xp',
    title: 'Grant xp',
    request: xpRequest,
    answer: xp,
    isGift: () => true,
    command: (call, asked, { limits }) => {
      requireXp(limits, call.caller, asked.amount, 'amount')
      return grantXp(call, asked)
    },
  }),
  actionCall({
    name: 'grantTier',
    summary:
      'Claims a tier for a player, even one that it has not reached. Premium tiers require premium, and a tier with a choice the option.',
    action: 'grant_tier',
    title: 'Grant a tier',
    request: grantTierRequest,
    answer: tier,
    isGift: () => true,
    command: (call, asked, { limits }) => grantTier(call, asked, limits),
  }),
  actionCall({
    name: 'resetTier',
    summary: 'Makes one claimed tier of one player claimable again. The player keeps its rewards.',
    action: 'reset_tier',
    title: 'Reset a tier',
    request: tierRequest,
    answer: changed,
    isGift: () => true,
    command: (call, asked, { limits }) => resetTier(call, asked, limits),
  }),
  actionCall({
    name: 'resetReward',
    summary: 'Lets a reward node that pays once pay a player again. The player keeps its rewards.',
    action: 'reset_reward',
    title: 'Reset a reward',
    request: rewardRequest,
    answer: changed,
    isGift: () => true,
    command: (call, asked, { limits }) => resetReward(call, asked, limits),
  }),
  actionCall({
    name: 'grantPremium',
    summary: 'Grants premium without a price. Refused for a pass that sells none.',
    action: 'grant_premium',
    title: 'Grant premium',
    request: premiumRequest,
    answer: changed,
    isGift: () => true,
    command: (call, asked, { limits }) => grantPremium(call, asked, limits),
  }),
  actionCall({
    name: 'revokePremium',
    summary:
      'Revokes premium, without a refund. Refused while premium tiers are claimed: reset them first, or send `withTiers`.',
    action: 'revoke_premium',
    title: 'Revoke premium',
    request: revokeRequest,
    answer: changed,
    command: revokePremium,
  }),
  actionCall({
    name: 'resetPass',
    summary: 'Resets a pass: no xp, no premium, no claims. The player keeps its rewards.',
    action: 'reset_pass',
    title: 'Reset a pass',
    request: passRequest,
    answer: changed,
    isGift: () => true,
    command: (call, asked, { limits }) => resetPass(call, asked, limits),
  }),
  actionCall({
    name: 'cancelRun',
    summary: 'Ends a run as it stands. The player may start another.',
    action: 'cancel_run',
    title: 'Cancel a run',
    request: runRequest,
    answer: player,
    command: cancelRun,
  }),
  actionCall({
    name: 'crossHandleForPlayer',
    summary:
      "Crosses a handle of an active node in the player's active run, also one that only servers of the game cross.",
    action: 'cross_handle',
    title: 'Cross a handle',
    request: crossRequest,
    answer: crossing,
    isGift: () => true,
    command: (call, asked, { limits }) => crossHandle(call, asked, limits),
  }),
  actionCall({
    name: 'grantPlayerBoost',
    formerly: 'grantBoost',
    summary:
      'Gives a player a personal boost from now on, as a reward does: one of the same percentage that runs is made longer.',
    action: 'grant_boost',
    title: 'Grant a personal boost',
    request: grantPlayerBoostRequest,
    answer: boost,
    isGift: () => true,
    command: grantPlayerBoost,
  }),
  actionCall({
    name: 'endPlayerBoost',
    summary: 'Ends a personal boost of a player at once. Xp that it has given stays.',
    action: 'end_boost',
    title: 'End a personal boost',
    request: endBoostRequest,
    answer: changed,
    command: endPlayerBoost,
  }),
  actionCall({
    name: 'setPlayerStorage',
    summary: "Merges values into a player's storage, all or nothing.",
    action: 'set_storage',
    title: 'Write a player’s storage',
    request: setStorageRequest,
    answer: player,
    command: (call, { values }) => setPlayerStorage(call, values),
  }),
  actionCall({
    name: 'deletePlayerStorage',
    summary: "Removes keys from a player's storage. Missing keys are no error.",
    action: 'delete_storage',
    title: 'Delete from a player’s storage',
    request: deleteStorageRequest,
    answer: player,
    command: (call, { keys }) => deletePlayerStorage(call, keys),
  }),
  actionCall({
    name: 'sendMessage',
    summary:
      "Puts a message into a player's inbox: a text, rewards to claim, or both. Its currencies follow the rules of `creditWallet`. Refuses a full inbox.",
    action: 'send_message',
    title: 'Send a message to a player',
    request: messageRequest,
    check: checkMessage,
    answer: message,
    isGift: ({ rewards }) => rewards.length > 0,
    command: async (call, asked, { service, limits }) => {
      const items = asked.rewards.filter(({ itemId }) => itemId !== null)
      requireGift(limits.maxCredit, items, 'rewards')
      const currencies = [...new Set(asked.rewards.flatMap((one) => one.currency ?? []))]
      const rules = await Promise.all(currencies.map(rulesFor(call, service, limits)))
      return sendMessage(call, asked, new Map(currencies.map((one, index) => [one, rules[index] as CreditRules])))
    },
  }),
  actionCall({
    name: 'cancelMessage',
    formerly: 'withdrawMessage',
    summary: "Cancels a message that was not claimed: the player's inbox has it no longer.",
    action: 'withdraw_message',
    title: 'Cancel a message to a player',
    request: cancelMessageRequest,
    answer: changed,
    command: cancelMessage,
  }),
  actionCall({
    name: 'addPlayerNote',
    summary: `Adds a note about a player for other operators. The game and the player never see it. A player has up to ${MAX_NOTES}.`,
    action: 'add_note',
    title: 'Add a note about a player',
    request: addNoteRequest,
    answer: note,
    command: addPlayerNote,
  }),
  actionCall({
    name: 'deletePlayerNote',
    formerly: 'removePlayerNote',
    summary: 'Deletes a note about a player.',
    action: 'remove_note',
    title: 'Delete a note about a player',
    request: deleteNoteRequest,
    answer: changed,
    command: deletePlayerNote,
  }),
]
