import type { MessageTexts } from '../../base/languages.ts'
import { MAX_INBOX } from '../../base/limits.ts'
import { newId } from '../../db/ids.ts'
import { Stream } from '../../events/append.ts'
import type { Group } from '../../transactions/group.ts'
import type { Player } from '../../transactions/player.ts'
import { granted, type Reward } from '../definition/definition.ts'
import { askMessage, type MessageKind, presentMessages, putMessage, removeMessage } from './messages.ts'

/** Days until a message expires, where nothing else is said. */
export const DEFAULT_MESSAGE_DAYS = 30

export interface NewMessage {
  readonly kind: MessageKind
  /** Null for a message for which the game has words of its own. */
  readonly text: MessageTexts | null
  /** A URL, or a key of the game's own assets. */
  readonly image: string | null
  /** What can be claimed with it; none for a message without rewards. */
  readonly rewards: readonly Reward[]
  /** Where it comes from, for operators, such as `support/<auditId>`. */
  readonly reference: string
  readonly expiresAt: Date
  /** The pass of a season, for a message about it. */
  readonly scenarioId?: string
  readonly nodeId?: string
}

/** Whether this many more messages fit into the inbox. Ask for it first, by `askInbox`. */
export const hasRoom = (group: Group, player: Player, messages = 1): boolean =>
  presentMessages(player, group.now).length + messages <= MAX_INBOX

/**
 * Puts a message into a player's inbox, and publishes an event. Ask for the inbox, and whether it has room, first. The
 * command may be one from memory.
 */
export function deliver(group: Group, player: Player, message: NewMessage): { readonly messageId: string } {
  const { kind, text, image, rewards, reference, expiresAt, scenarioId = null, nodeId = null } = message
  const { environmentId, playerId } = player
  const id = newId()
  putMessage(player, {
    id,
    kind,
    text,
    image,
    rewards,
    reference,
    scenarioId,
    nodeId,
    sentAt: group.now,
    expiresAt,
    readAt: null,
    claimedAt: null,
  })
  group.of(Stream).append({
    environmentId,
    playerId,
    scenarioId,
    nodeId,
    type: 'inbox.received',
    handle: null,
    runId: null,
    byClient: false,
    data: { messageId: id, kind, rewards: rewards.map(granted), expiresAt: expiresAt.toISOString() },
  })
  return { messageId: id }
}

/**
 * Takes a message back from a player's inbox, in a transaction. False when it was claimed or is not there. Ask for the
 * message and for the inbox first.
 */
export function cancel(_group: Group, player: Player, messageId: string): boolean {
  const message = askMessage(player, messageId).value
  if (message === null || message.claimedAt !== null) return false
  removeMessage(player, messageId)
  return true
}
