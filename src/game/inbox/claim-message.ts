import { MAX_INBOX_PAGE } from '../../base/limits.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { playerCall } from '../../declare/player-call.ts'
import type { RequestOf } from '../../declare/shape.ts'
import { admitActive, askStatus, requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import { assetsOf, boosts, boostsOf, type Granted, granted, reward } from '../definition/definition.ts'
import { askHoldings, grant, overflowOf, roomOf } from '../wallet/holdings.ts'
import { askInbox, askMessage, isUnclaimed, type Message, presentMessages, putMessage } from './messages.ts'
import { type ClaimMessage, claimAllMessagesRequest, claimMessageRequest } from './requests.ts'

/** Why a message was not claimed, in the order in which they are looked for. */
export const MESSAGE_ERRORS = ['message not found', 'message expired', 'balance limit exceeded'] as const
export type MessageError = (typeof MESSAGE_ERRORS)[number]

export const claimMessageAnswer = answer(
  'The outcome of a claim. A message is granted once, however often it is claimed.',
  {
    success: out.success('True when the message is claimed, by this call or an earlier one.'),
    alreadyClaimed: out.flag('True when an earlier call claimed the message.'),
    error: out.orNull(out.oneOf(MESSAGE_ERRORS, { description: 'Why nothing was granted. Null on success.' })),
    granted: out.list(
      reward,
      'The rewards of the message. A repeated claim answers the same list. Empty for a message without rewards.',
      { size: 2 },
    ),
    boosts,
  },
  {
    name: 'InboxClaimResponse',
    example: {
      success: true,
      alreadyClaimed: false,
      error: null,
      granted: [{ amount: 100, currency: 'gold', itemId: null }],
    },
  },
)
export type ClaimedMessage = AnswerOf<typeof claimMessageAnswer>

/**
 * Grants the rewards of a message once, and marks it as read. A message without rewards is claimed, too: nothing is
 * granted. A claim that is repeated gets its answer as long as the message is kept, also after it has expired.
 */
export function claimMessage(
  ref: PlayerRef,
  { messageId, idempotencyKey: key }: ClaimMessage,
): Command<ClaimedMessage> {
  return {
    player: ref,
    once: {
      operation: 'inbox-claim',
      key,
      request: { messageId },
      admit: (group) => admitActive(group, ref),
      tookEffect: ({ success }) => success,
    },
    *decide(group) {
      const { player, found } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        askInbox(player)
        const found = askMessage(player, messageId)
        if (found.isKnown && found.value) askHoldings(player, found.value.rewards)
        return { player, found }
      })
      requireActive(player)
      const message = found.value
      if (message === null) return refused('message not found')
      const rewards = message.rewards.map(granted)
      if (message.claimedAt !== null) return succeeded(true, rewards)
      if (message.expiresAt <= group.now) return refused('message expired')
      if (overflowOf(player, message.rewards)) return refused('balance limit exceeded')
      claim(group, player, message)
      return succeeded(false, rewards)
    },
  }
}

function succeeded(alreadyClaimed: boolean, all: readonly Granted[]): ClaimedMessage {
  return { success: true, alreadyClaimed, error: null, granted: assetsOf(all), boosts: boostsOf(all) }
}

const refused = (error: MessageError): ClaimedMessage => ({ success: false, alreadyClaimed: false, error, granted: [] })

function claim(group: Group, player: Player, message: Message): void {
  const { id, readAt, rewards } = message
  grant(group, player, rewards, { reason: 'inbox_claim', reference: `inbox/${id}` })
  putMessage(player, { ...message, claimedAt: group.now, readAt: readAt ?? group.now })
}

export const grantedMessage = answer('A claimed message with its rewards.', {
  messageId: out.id('The message.'),
  granted: out.list(reward, 'The granted rewards.', { size: 2 }),
  boosts,
})

export const claimAllMessagesAnswer = answer(
  'The outcome of a claim of all messages.',
  {
    claimed: out.list(
      grantedMessage,
      `The newly claimed messages, the oldest first: at most ${MAX_INBOX_PAGE}. A message whose rewards do not fit is passed over.`,
      { size: 100 },
    ),
    remaining: out.int32(
      'The number of messages with rewards that can still be claimed: they did not fit, or the call had too many.',
    ),
    error: out.orNull(
      out.oneOf(['balance limit exceeded'], {
        description: 'Why nothing was claimed. Null when a message was claimed, and when there was none to claim.',
        among: MESSAGE_ERRORS,
      }),
    ),
  },
  {
    name: 'InboxClaimAllResponse',
    example: {
      claimed: [
        {
          messageId: '019aa4c5-8c31-7d2e-b1f4-5a6c7d8e9f01',
          granted: [{ amount: 100, currency: 'gold', itemId: null }],
        },
      ],
      remaining: 0,
      error: null,
    },
  },
)

/** Claims the messages with rewards, the oldest first, as many as fit and as one call takes, in one transaction. */
export function claimAllMessages(
  ref: PlayerRef,
  { idempotencyKey: key }: RequestOf<typeof claimAllMessagesRequest>,
): Command<AnswerOf<typeof claimAllMessagesAnswer>> {
  return {
    player: ref,
    once: {
      operation: 'inbox-claim-all',
      key,
      request: {},
      admit: (group) => admitActive(group, ref),
      tookEffect: ({ claimed }) => claimed.length > 0,
    },
    *decide(group) {
      const { player, open } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const open = askInbox(player).isKnown ? presentMessages(player, group.now).filter(isUnclaimed) : []
        for (const { rewards } of open) askHoldings(player, rewards)
        return { player, open }
      })
      requireActive(player)
      const faultOf = roomOf(player)
      const fitting: string[] = []
      for (const { id, rewards } of open)
        if (fitting.length < MAX_INBOX_PAGE && faultOf(rewards) === undefined) fitting.push(id)
      const found = yield* group.rows(() => fitting.map((id) => askMessage(player, id)))
      const messages = found.flatMap(({ value }) => value ?? [])
      for (const message of messages) claim(group, player, message)
      return {
        claimed: messages.map(({ id, rewards }) => {
          const all = rewards.map(granted)
          return { messageId: id, granted: assetsOf(all), boosts: boostsOf(all) }
        }),
        remaining: open.length - messages.length,
        error: open.length > 0 && messages.length === 0 ? 'balance limit exceeded' : null,
      }
    },
  }
}

const contract = { tag: 'Inbox', refusals: ['idempotencyKeyReused'] } as const

export const claimMessageCall = playerCall({
  request: claimMessageRequest,
  action: 'inbox.claim',
  command: claimMessage,
  contract: {
    ...contract,
    id: 'claimMessage',
    summary: 'Claim the rewards of one message. Repeated calls grant them once. The message is read, too.',
    answer: claimMessageAnswer,
  },
})
export const claimAllMessagesCall = playerCall({
  request: claimAllMessagesRequest,
  action: 'inbox.claim_all',
  command: claimAllMessages,
  contract: {
    ...contract,
    id: 'claimAllMessages',
    summary: `Claim the rewards of all messages that fit, the oldest first, up to ${MAX_INBOX_PAGE} messages. Repeat the call while \`remaining\` falls.`,
    answer: claimAllMessagesAnswer,
  },
})
