import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { printCursor } from '../../declare/cursor.ts'
import { playerCall } from '../../declare/player-call.ts'
import type { RequestOf } from '../../declare/shape.ts'
import { askLanguage } from '../../players/create-player.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { assetsOf, boosts, boostsOf, granted, reward } from '../definition/definition.ts'
import { textFor } from './message-text.ts'
import {
  askInbox,
  askMessage,
  isUnclaimed,
  isUnread,
  MESSAGE_KINDS,
  type Message,
  presentMessages,
} from './messages.ts'
import { INBOX_LIST, inboxRequest } from './requests.ts'

const NO_TEXT = 'Null for a message without a text, for which the game has words of its own.'

export const receivedMessage = answer(
  'A message in the inbox of a player.',
  {
    messageId: out.id('The id of the message.'),
    kind: out.oneOf(MESSAGE_KINDS, { description: 'What the message is.' }),
    title: out.orNull(out.text(`The title, in \`language\`. ${NO_TEXT}`)),
    body: out.orNull(out.text(`The text below the title; it may be empty. ${NO_TEXT}`)),
    language: out.orNull(out.text(`The language of the title and the body. ${NO_TEXT}`)),
    image: out.orNull(out.text("The picture: a URL, or a key of the game's own assets. Null without one.")),
    rewards: out.list(reward, 'What a claim grants. Empty for a message without rewards.', { size: 2 }),
    boosts,
    sentAt: out.time('The time at which it was sent, in UTC.'),
    expiresAt: out.time('The first time at which it is no longer there, in UTC.'),
    isRead: out.flag('Whether it was read or claimed.'),
    isClaimed: out.flag('Whether it was claimed.'),
    scenarioId: out.orNull(out.text('The scenario of the season that the message is about; null for none.')),
    nodeId: out.orNull(out.text('The pass of the season that the message is about; null for none.')),
  },
  { name: 'InboxMessage' },
)
export type ReceivedMessage = AnswerOf<typeof receivedMessage>

export const inboxAnswer = answer(
  "A page of a player's inbox, with counts of the whole inbox.",
  {
    messages: out.list(receivedMessage, 'The newest first. Expired messages are left out.', { size: 50 }),
    unread: out.int32('The number of messages that were not read.'),
    unclaimed: out.int32('The number of messages with rewards that can still be claimed.'),
    cursor: out.orNull(out.text('Pass it as `cursor` to read the next page. Null on the last page.')),
  },
  {
    name: 'InboxResponse',
    example: {
      messages: [
        {
          messageId: '019aa4c5-8c31-7d2e-b1f4-5a6c7d8e9f01',
          kind: 'message',
          title: 'Sorry for the downtime',
          body: 'Here is some gold for your patience.',
          language: 'en',
          image: null,
          rewards: [{ amount: 100, currency: 'gold', itemId: null }],
          sentAt: '2026-12-01T09:00:00.000Z',
          expiresAt: '2026-12-31T09:00:00.000Z',
          isRead: false,
          isClaimed: false,
          scenarioId: null,
          nodeId: null,
        },
      ],
      unread: 1,
      unclaimed: 1,
      cursor: null,
    },
  },
)

/** Lists a player's messages at one moment, in the language of the request or of the player's profile. */
export function listInbox(
  ref: PlayerRef,
  { language, limit, cursor }: RequestOf<typeof inboxRequest>,
): Command<AnswerOf<typeof inboxAnswer>> {
  return {
    engine: 'reads',
    // Texts are not remembered.
    fresh: true,
    player: ref,
    *decide(group) {
      const { player, profile, present } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const profile = language === null ? askLanguage(player) : null
        const present = askInbox(player).isKnown ? presentMessages(player, group.now) : []
        return { player, profile, present }
      })
      requireActive(player)
      const before = present.filter(({ id }) => cursor === null || id < cursor)
      const page = before.slice(-limit).reverse()
      const found = yield* group.rows(() => page.map(({ id }) => askMessage(player, id)))
      const wanted = language ?? profile?.value?.language ?? null
      return {
        messages: found.flatMap(({ value }) => (value ? [received(value, wanted)] : [])),
        unread: present.filter(isUnread).length,
        unclaimed: present.filter(isUnclaimed).length,
        cursor: before.length > limit ? printCursor(INBOX_LIST, page.at(-1)?.id ?? '') : null,
      }
    },
  }
}

function received(message: Message, wanted: string | null): ReceivedMessage {
  const { id, kind, image, rewards, sentAt, expiresAt, readAt, claimedAt, scenarioId, nodeId } = message
  const all = rewards.map(granted)
  const { title = null, body = null, language = null } = textFor(message.text, wanted) ?? {}
  return {
    messageId: id,
    kind,
    title,
    body,
    language,
    image,
    rewards: assetsOf(all),
    boosts: boostsOf(all),
    sentAt: sentAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    isRead: readAt !== null,
    isClaimed: claimedAt !== null,
    scenarioId,
    nodeId,
  }
}

export const inboxCall = playerCall({
  request: inboxRequest,
  command: listInbox,
  contract: {
    id: 'listInbox',
    tag: 'Inbox',
    summary: "List the messages in the calling player's inbox, the newest first.",
    answer: inboxAnswer,
  },
})
