import type { MessageText, MessageTexts } from '../../base/languages.ts'
import { MAX_INBOX_PAGE } from '../../base/limits.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { namesOf, PLAYERS_LIST, pageOf } from '../../declare/graphql/page.ts'
import { answerType, enumType, playerMutation, playerQuery } from '../../declare/graphql/shapes.ts'
import { PlayerType } from '../../players/graphql.ts'
import { findReadable } from '../../players/graphql-readable.ts'
import { granted } from '../definition/definition.ts'
import { RewardOrBoostType } from '../wallet/graphql.ts'
import {
  claimAllMessagesAnswer,
  claimAllMessagesCall,
  claimMessageAnswer,
  claimMessageCall,
  grantedMessage,
  MESSAGE_ERRORS,
} from './claim-message.ts'
import { inboxAnswer, inboxCall, receivedMessage } from './list-inbox.ts'
import { markMessagesReadAnswer, markMessagesReadCall } from './mark-messages-read.ts'
import { MESSAGE_KINDS, type MessageKind, readStored } from './messages.ts'

enumType('MessageError', MESSAGE_ERRORS, {
  description: 'The reason why a message was not claimed.',
  values: {
    'message not found':
      'The inbox has no such message: it is unknown, was cancelled, or expired more than a week ago.',
    'message expired': 'The message has expired.',
    'balance limit exceeded': 'A balance would pass the largest 64-bit integer.',
  },
})

answerType('ReceivedMessage', receivedMessage)
answerType('GrantedMessage', grantedMessage)
const InboxType = answerType('Inbox', inboxAnswer)
const ClaimMessagePayloadType = answerType('ClaimMessagePayload', claimMessageAnswer)
const ClaimAllMessagesPayloadType = answerType('ClaimAllMessagesPayload', claimAllMessagesAnswer)
const MarkMessagesReadPayloadType = answerType('MarkMessagesReadPayload', markMessagesReadAnswer)

builder.queryField('inbox', (t) =>
  t.field({
    type: InboxType,
    description: "The messages in the calling player's inbox, the newest first.",
    ...playerQuery(inboxCall),
  }),
)

builder.mutationFields((t) => ({
  claimMessage: t.field({
    type: ClaimMessagePayloadType,
    description: 'Claims the rewards of one message. Repeated calls grant them once. The message is read, too.',
    ...playerMutation('ClaimMessageInput', claimMessageCall),
  }),
  claimAllMessages: t.field({
    type: ClaimAllMessagesPayloadType,
    description: `Claims the rewards of all messages that fit, the oldest first, up to ${MAX_INBOX_PAGE} messages. Repeat it while \`remaining\` falls.`,
    ...playerMutation('ClaimAllMessagesInput', claimAllMessagesCall),
  }),
  markMessagesRead: t.field({
    type: MarkMessagesReadPayloadType,
    description: 'Marks messages of the inbox as read. Unknown ones are passed over.',
    ...playerMutation('MarkMessagesReadInput', markMessagesReadCall),
  }),
}))

export const MessageKindEnum = enumType('MessageKind', MESSAGE_KINDS, {
  description: 'What a message in an inbox is.',
  values: {
    message: 'A message of the people who run the game.',
    season_end: 'What a player had earned and not claimed in a season that ended.',
  },
})

export const MessageTextType = builder.objectRef<MessageText & { readonly language: string }>('MessageText').implement({
  description: 'The text of a message in one language.',
  fields: (t) => ({
    language: t.exposeString('language', { description: 'The tag of the language, such as `pt-BR`.' }),
    title: t.exposeString('title', { description: 'The title.' }),
    body: t.exposeString('body', { description: 'The text below the title. It may be empty.' }),
  }),
})

builder.prismaObject('InboxMessage', {
  description: 'A message in the inbox of a player, in all of its languages.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('InboxMessage', playerId, id) }),
    messageId: t.exposeID('id', { description: 'The id of the message.' }),
    kind: t.field({
      type: MessageKindEnum,
      description: 'What the message is.',
      select: { kind: true },
      resolve: ({ kind }) => kind as MessageKind,
    }),
    texts: t.field({
      extensions: { size: 5 },
      type: [MessageTextType],
      description: 'The text by language; empty for a message without one.',
      select: { text: true },
      resolve: ({ text }) =>
        Object.entries((text === null ? {} : JSON.parse(text)) as MessageTexts).map(([language, one]) => ({
          language,
          ...one,
        })),
    }),
    image: t.exposeString('image', {
      nullable: true,
      description: "The picture: a URL, or a key of the game's own assets. Null without one.",
    }),
    rewards: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What a claim grants.',
      select: { rewards: true },
      resolve: ({ rewards }) => readStored(rewards).map(granted),
    }),
    reference: t.exposeString('reference', {
      description: 'Where it comes from: for support, `support/` and the id of the entry in the audit log.',
    }),
    scenarioId: t.exposeString('scenarioId', {
      nullable: true,
      description: 'The scenario of the season that it is about; null for none.',
    }),
    nodeId: t.exposeString('nodeId', {
      nullable: true,
      description: 'The pass of the season that it is about; null for none.',
    }),
    sentAt: t.expose('sentAt', { type: 'DateTime', description: 'The time at which it was sent.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'The first time at which the player no longer has it.',
    }),
    readAt: t.expose('readAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the player read it. Null when it was not read.',
    }),
    claimedAt: t.expose('claimedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the player claimed it. Null when it was not claimed.',
    }),
  }),
})

builder.objectField(PlayerType, 'inbox', (t) =>
  t.prismaConnection(
    {
      type: 'InboxMessage',
      ...PLAYERS_LIST,
      description: 'The messages in the inbox, the latest first, also those that expired within the last week.',
      resolve: (query, { environmentId, id: playerId }, _args, context) => {
        const { page, beyond } = pageOf(query, { scope: { playerId }, order: 'desc' })
        return context.prisma.inboxMessage.findMany({ ...page, where: { environmentId, playerId, ...beyond } })
      },
    },
    ...namesOf('InboxMessage'),
  ),
)

nodesOf('InboxMessage', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.inboxMessage.findUnique({ where })
})
