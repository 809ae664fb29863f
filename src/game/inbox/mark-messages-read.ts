import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { playerCall } from '../../declare/player-call.ts'
import type { RequestOf } from '../../declare/shape.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { askInbox, askMessage, isUnread, presentMessages, putMessage } from './messages.ts'
import { markMessagesReadRequest } from './requests.ts'

export const markMessagesReadAnswer = answer(
  'The inbox after messages were read.',
  { unread: out.int32('The number of messages that were not read.') },
  { name: 'InboxReadResponse', example: { unread: 3 } },
)

/** Marks messages as read. Unknown and expired ones are passed over, so the call can be repeated. */
export function markMessagesRead(
  ref: PlayerRef,
  { messageIds }: RequestOf<typeof markMessagesReadRequest>,
): Command<AnswerOf<typeof markMessagesReadAnswer>> {
  const asked = new Set(messageIds)
  return {
    player: ref,
    *decide(group) {
      const { player, found } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const unread = askInbox(player).isKnown ? presentMessages(player, group.now).filter(isUnread) : []
        const found = unread.flatMap(({ id }) => (asked.has(id) ? [askMessage(player, id)] : []))
        return { player, found }
      })
      requireActive(player)
      for (const { value } of found) if (value) putMessage(player, { ...value, readAt: group.now })
      return { unread: presentMessages(player, group.now).filter(isUnread).length }
    },
  }
}

export const markMessagesReadCall = playerCall({
  request: markMessagesReadRequest,
  formerly: 'readMessages',
  action: 'inbox.read',
  command: markMessagesRead,
  contract: {
    id: 'readMessages',
    tag: 'Inbox',
    summary: 'Mark messages of the inbox as read. Unknown ones are passed over.',
    answer: markMessagesReadAnswer,
  },
})
