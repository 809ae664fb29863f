import {
  MAX_BAN_REASON,
  MAX_BOOST_MINUTES,
  MAX_MESSAGE_DAYS,
  MAX_NOTE,
  MAX_REWARDS,
  MAX_SOURCE,
  MAX_SUBJECT,
  MAX_SUPPORT_PLAYERS,
} from '../../base/limits.ts'
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
} from '../../declare/common.ts'
import { uuids } from '../../declare/list-fields.ts'
import {
  type Check,
  described,
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
} from '../../declare/shape.ts'
import { claimTierRequest, track } from '../../game/battlepass/claim-tier.ts'
import { createBoostRequest } from '../../game/boosts/requests.ts'
import { rewardList } from '../../game/definition/reward-list.ts'
import { DEFAULT_MESSAGE_DAYS } from '../../game/inbox/deliver.ts'
import { messageImage, messageText } from '../../game/inbox/message-text.ts'
import { crossHandleRequest } from '../../game/runs/cross-handle.ts'
import { currency } from '../../game/wallet/requests.ts'
import { BAN_KINDS, type Ban } from '../../players/player-status.ts'
import { storageKeys, storageValues } from '../../players/requests.ts'

export const whom = { playerId, reason, idempotencyKey }
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

export const playerRequest = shape(whom)
export const unbanRequest = shape(undo)
const ban = {
  kind: optional(oneOf('The calls that are refused. Default: `EVERYTHING`.', BAN_KINDS), 'everything'),
  until: optional(moment('When the ban ends by itself. Default: when it is lifted.')),
  publicReason: optional(
    text(`The reason that the player sees: 1 to ${MAX_BAN_REASON} characters.`, { max: MAX_BAN_REASON }),
  ),
}
export const banRequest = shape({ ...undo, ...ban })
export const each = {
  playerIds: uuids('The `playerId`s.', { type: 'Player', max: MAX_SUPPORT_PLAYERS }),
  reason,
  idempotencyKey,
}
export const banEachRequest = shape({ ...each, ...ban })
type BanFields = RequestOf<Shape<typeof ban>>
export const banAsked = ({ kind, until, publicReason }: BanFields): Ban => ({ kind, until, reason: publicReason })
const LAST_DAY = Date.UTC(9999, 11, 31)
export const checkBan: Check<BanFields> = ({ until }) => {
  if (!until) return []
  if (until.getTime() <= Date.now()) return [{ path: 'until', message: 'must be later than now' }]
  return until.getTime() > LAST_DAY ? [{ path: 'until', message: 'must be before the year 10000' }] : []
}
export const messageRequest = shape({
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
export const checkMessage: Check<RequestOf<typeof messageRequest>> = ({ text, rewards }) =>
  text === null && rewards.length === 0 ? [{ path: 'text', message: 'is required without rewards' }] : []
export const cancelMessageRequest = shape({
  ...undo,
  messageId: mapped(uuid('The `messageId` of a message.', 'InboxMessage'), (id) => id.toLowerCase()),
})
export const addNoteRequest = shape({
  ...whom,
  text: text(`What other operators should know: 1 to ${MAX_NOTE} characters.`, { max: MAX_NOTE }),
  idempotencyKey: requiredKey,
})
export const deleteNoteRequest = shape({
  ...undo,
  noteId: mapped(uuid('The `noteId` of a note.', 'PlayerNote'), (id) => id.toLowerCase()),
})
export const moneyRequest = shape({
  ...undo,
  currency,
  amount,
  idempotencyKey: requiredKey,
})
export const creditRequest = shape({
  ...moneyRequest.fields,
  allowNew: optional(flag('True credits a currency even if the environment does not know it. Default: false.'), false),
})
export const passRequest = shape({ ...whom, ...inScenario })
export const premiumRequest = shape({ ...undo, ...inScenario })
export const revokeRequest = shape({
  ...premiumRequest.fields,
  withTiers: optional(
    flag('True makes claimed premium tiers claimable again; the player keeps their rewards. Default: false.'),
    false,
  ),
})
export const rewardRequest = shape({ ...whom, scenarioId, nodeId: described(nodeId, 'A reward node of the scenario.') })
export const identityRequest = shape({
  ...whom,
  provider: providerOfIdentity(''),
  subject: text("The studio's own id of the player, from its webhook.", { max: MAX_SUBJECT }),
  allowLast: optional(flag('True unlinks even the only identity of the player. Default: false.'), false),
})
export const xpRequest = shape({
  ...whom,
  ...inScenario,
  amount,
  source: optional(text('Default: `support`.', { max: MAX_SOURCE }), 'support'),
  idempotencyKey: requiredKey,
})
export const tierRequest = shape({ ...undo, ...inScenario, level, track })
export const grantTierRequest = shape({
  ...tierRequest.fields,
  choice: claimTierRequest.fields.choice,
  idempotencyKey: requiredKey,
})
export const runRequest = shape({ ...whom, runId })
export const crossRequest = shape({
  ...whom,
  scenarioId,
  nodeId,
  handle: crossHandleRequest.fields.handle,
  idempotencyKey: requiredKey,
})
export const grantPlayerBoostRequest = shape({
  ...undo,
  percent: createBoostRequest.fields.percent,
  minutes: int32(
    `The duration in minutes: 1 to ${MAX_BOOST_MINUTES}. An end later than ${MAX_BOOST_MINUTES} minutes from now is cut to that time.`,
    { min: 1, max: MAX_BOOST_MINUTES },
  ),
  idempotencyKey: requiredKey,
})
export const endBoostRequest = shape({
  ...undo,
  boostId: mapped(uuid('The `boostId` of a boost of the player.', 'PlayerBoost'), (id) => id.toLowerCase()),
})
export const setStorageRequest = shape({ ...whom, values: storageValues })
export const deleteStorageRequest = shape({ ...whom, keys: storageKeys })
