import { checkPlayerFilter, playerFilter, segmentName } from '../../accounts/lists/requests.ts'
import type { Fault } from '../../base/errors.ts'
import {
  DEFAULT_GRANT_PLAYERS,
  MAX_GRANT_PLAYERS,
  MAX_LEVELS,
  MAX_MESSAGE_DAYS,
  MAX_REWARDS,
  MAX_SOURCE,
  MAX_SUPPORT_PLAYERS,
} from '../../base/limits.ts'
import { environment, inScenario, reason, requiredKey } from '../../declare/common.ts'
import { someOf, uuids } from '../../declare/list-fields.ts'
import {
  type Check,
  flag,
  int32,
  int64,
  listOf,
  mapped,
  moment,
  nested,
  optional,
  type RequestOf,
  shape,
  text,
  uuid,
} from '../../declare/shape.ts'
import { JOB_STATES, type JobState } from '../../events/catalogue.ts'
import { checkReward, rewardFields } from '../../game/definition/reward-list.ts'
import { messageImage, messageText } from '../../game/inbox/message-text.ts'
import { identityRequest } from '../../players/player-target.ts'

/** The states of a job that has ended. */
export const ENDED: readonly JobState[] = ['done', 'cancelled', 'failed']

const NO_AMOUNT = 'Left out where the list of players has amounts.'
const reward = shape(rewardFields(`The amount for each player: 1 or more. A boost has none. ${NO_AMOUNT}`))

export const xpGift = shape({
  ...inScenario,
  amount: optional(int64(`The xp for each player: 1 or more. ${NO_AMOUNT}`, { min: 1n })),
  source: optional(text('Default: `grant`.', { max: MAX_SOURCE }), 'grant'),
})
export const levelsGift = shape({ ...inScenario, levels: int32('1 or more.', { min: 1, max: MAX_LEVELS }) })
export const premiumGift = shape(inScenario)

/** What each player gets: one of these. */
export const giftShape = shape({
  rewards: optional(
    listOf(`Currencies, items and boosts: 1 to ${MAX_REWARDS}.`, reward, {
      max: MAX_REWARDS,
      check: checkReward,
      input: 'RewardGiftInput',
    }),
  ),
  xp: optional(
    nested(
      'Xp in the active run of the player, without bonus and without limits of sources.',
      xpGift,
      undefined,
      'XpGiftInput',
    ),
  ),
  levels: optional(
    nested(
      'Number of further levels. Each player receives the xp that it lacks to reach them, up to the top level, in its active run.',
      levelsGift,
      undefined,
      'LevelsGiftInput',
    ),
  ),
  premium: optional(nested('Premium, without a price.', premiumGift, undefined, 'PremiumGiftInput')),
})
export type Gift = RequestOf<typeof giftShape>

export const GIFT_KINDS = ['rewards', 'xp', 'levels', 'premium'] as const satisfies readonly (keyof Gift)[]

const oneOfThese = (values: Readonly<Record<string, unknown>>, names: readonly string[]): Fault[] =>
  names.filter((name) => (values[name] ?? null) !== null).length === 1
    ? []
    : [{ path: '', message: `must have exactly one of ${names.join(', ')}` }]

const TARGETS = ['playerIds', 'identities', 'listId', 'filter', 'segment'] as const
const target = shape({
  playerIds: optional(
    uuids(`Players by their ids: up to ${MAX_SUPPORT_PLAYERS}.`, { type: 'Player', max: MAX_SUPPORT_PLAYERS }),
  ),
  identities: optional(
    listOf(`Players by identities: up to ${MAX_SUPPORT_PLAYERS}.`, shape(identityRequest.fields), {
      max: MAX_SUPPORT_PLAYERS,
      input: 'PlayerIdentityInput',
    }),
  ),
  listId: optional(uuid('A list of players that was uploaded.')),
  filter: optional(
    nested(
      'The players that match now, without deleted ones. Without any filter, all players.',
      playerFilter,
      checkPlayerFilter,
      'PlayerFilterInput',
    ),
  ),
  segment: optional(segmentName),
})
export type TargetInput = RequestOf<typeof target>

const size = {
  environment,
  to: nested(
    `The players: exactly one of ${TARGETS.join(', ')}.`,
    target,
    (values) => [
      ...oneOfThese(values, TARGETS),
      ...(values.playerIds?.length === 0 ? [{ path: 'playerIds', message: 'must name a player' }] : []),
    ],
    'GrantTargetInput',
  ),
  give: optional(
    nested(
      'What each player gets: exactly one of rewards, xp, levels, premium. Left out for a message without a gift.',
      giftShape,
      (values) => oneOfThese(values, GIFT_KINDS),
      'GiftInput',
    ),
  ),
  message: optional(messageText),
  image: messageImage,
  expiresInDays: optional(
    int32(`The days until the message expires: 1 to ${MAX_MESSAGE_DAYS}. Default: 30.`, {
      min: 1,
      max: MAX_MESSAGE_DAYS,
    }),
    30,
  ),
  allowNew: optional(flag('True grants a currency even if the environment does not know it. Default: false.'), false),
  limit: optional(
    int32(
      `The most players that it may reach: with more, nothing is given. Up to ${MAX_GRANT_PLAYERS}. Default: ${DEFAULT_GRANT_PLAYERS}.`,
      { min: 1, max: MAX_GRANT_PLAYERS },
    ),
    DEFAULT_GRANT_PLAYERS,
  ),
}

export const previewGrantJobRequest = shape(size)
export const createGrantJobRequest = shape({
  ...size,
  startsAt: optional(
    moment('When its players are looked up and it begins to give. Default: at once, as with a time that has passed.'),
  ),
  reason,
  idempotencyKey: requiredKey,
})
export type Preview = RequestOf<typeof previewGrantJobRequest>
export type CreateGrantJob = RequestOf<typeof createGrantJobRequest>

export const checkGift: Check<Preview> = ({ give, message, image }) =>
  message !== null
    ? []
    : [
        ...(give === null ? [{ path: 'give', message: 'is required without a message' }] : []),
        ...(image !== null ? [{ path: 'image', message: 'needs a message' }] : []),
      ]

const jobId = mapped(uuid("A grant job's id.", 'GrantJob'), (id) => id.toLowerCase())
export const jobRequest = shape({ environment, jobId, reason })
export const undoRequest = shape({ environment, jobId, reason, idempotencyKey: requiredKey })
export const previewUndoRequest = shape({ environment, jobId })
export const jobsRequest = shape({
  environment,
  states: optional(someOf('Only jobs in one of these states. Default: all.', JOB_STATES)),
})
export const policyRequest = shape({ environment })
export const setPolicyRequest = shape({
  environment,
  approvalAbovePlayers: optional(
    int32('A job with more players than this waits for the approval of a second person. Null: never.', { min: 0 }),
  ),
  approvalAboveAmount: optional(
    int64(
      'A job that gives more than this in all, of one currency, one item or xp, waits for the approval of a second person. Null: never.',
      { min: 0n },
    ),
  ),
  reason,
})
