import { print } from '../../base/json.ts'
import type { MessageTexts } from '../../base/languages.ts'
import { JsonSource, type Source } from '../../declare/source.ts'
import { type Column, instant, json, nullable, text, uuid } from '../../transactions/columns.ts'
import type { Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import { granted, type Reward, rewardOf } from '../definition/definition.ts'

/** What a message is: one of live-ops, or what was left of a season that ended. */
export const MESSAGE_KINDS = ['message', 'season_end'] as const
export type MessageKind = (typeof MESSAGE_KINDS)[number]

/** Days for which an expired message is kept, so that a claim that is repeated gets its answer. */
export const KEPT_DAYS = 7

/** Rewards as plain JSON, whose integers are read exactly. */
export const rewardColumn: Column<readonly Reward[]> = {
  ...(text as Column<never>),
  encode: (rewards) => text.encode(print(rewards.map(granted))),
  decode: (stored: string) => readStored(stored),
}

/** Rewards from stored JSON. */
export const readStored = (stored: string): Reward[] => readRewards(new JsonSource(`{"rewards":${stored}}`))

/** A list of rewards in stored JSON: the member of this name. */
export const readRewards = (source: Source, name = 'rewards'): Reward[] =>
  (source.objects(name) ?? []).map((reward) => {
    const boost = reward?.object('boost')
    return rewardOf({
      amount: reward?.integer('amount') ?? 0n,
      currency: (reward?.value('currency') as string | undefined) ?? null,
      itemId: (reward?.value('itemId') as string | undefined) ?? null,
      ...(boost && {
        boost: { percent: Number(boost.integer('percent')), minutes: Number(boost.integer('minutes')) },
      }),
    })
  })

/** Messages of players. Their ids are in the order in which they were sent. */
export const inboxMessages = table('inbox_messages', {
  key: { id: uuid },
  columns: {
    kind: text as Column<MessageKind>,
    text: nullable(json<MessageTexts>()),
    image: nullable(text),
    rewards: rewardColumn,
    /** Where it comes from, such as `support/<auditId>`. */
    reference: text,
    scenarioId: nullable(text),
    nodeId: nullable(text),
    sentAt: instant,
    expiresAt: instant,
    readAt: nullable(instant),
    claimedAt: nullable(instant),
  },
  kind: 'state',
  expired: `expires_at < now() - interval '${KEPT_DAYS} days'`,
})

/** Messages that have not expired, without their texts. */
const present = inboxMessages.many([], ({ id }) => id, {
  columns: ['id', 'rewards', 'expiresAt', 'readAt', 'claimedAt'],
  where: 't.expires_at > now()',
})
/** A whole message, also one that has expired. Texts are long, and only lists show them. */
const whole = inboxMessages.one({ isKept: false })

export interface Message {
  readonly id: string
  readonly kind: MessageKind
  readonly text: MessageTexts | null
  /** A URL, or a key of the game's own assets. */
  readonly image: string | null
  readonly rewards: readonly Reward[]
  readonly reference: string
  readonly scenarioId: string | null
  readonly nodeId: string | null
  readonly sentAt: Date
  readonly expiresAt: Date
  readonly readAt: Date | null
  readonly claimedAt: Date | null
}
export type MessageHead = Pick<Message, 'id' | 'rewards' | 'expiresAt' | 'readAt' | 'claimedAt'>

/** Asks for a player's messages, without their texts. Every change of an inbox needs them. */
export const askInbox = (player: Player) => player.many(present)

/** Asks for a whole message. */
export const askMessage = (player: Player, messageId: string) => player.one(whole, messageId)

/** The messages that have not expired, the oldest first. Ask for them first. */
export const presentMessages = (player: Player, now: Date): MessageHead[] =>
  askInbox(player)
    .values()
    .filter(({ expiresAt }) => expiresAt > now)
    .sort((a, b) => (a.id < b.id ? -1 : 1))

export const isUnread = ({ readAt }: MessageHead): boolean => readAt === null
/** Whether there is something to claim. */
export const isUnclaimed = ({ rewards, claimedAt }: MessageHead): boolean => claimedAt === null && rewards.length > 0

/** Writes a message. Ask for it, unless it is new, and for the inbox. */
export function putMessage(player: Player, message: Message): void {
  const { id, rewards, expiresAt, readAt, claimedAt } = message
  player.slot(whole, id).set(message)
  askInbox(player).note(id, { id, rewards, expiresAt, readAt, claimedAt })
}

/** Removes a message, in a transaction. Ask for it and for the inbox. */
export function removeMessage(player: Player, messageId: string): void {
  askMessage(player, messageId).set(null)
  askInbox(player).note(messageId, null)
}
