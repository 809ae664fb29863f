import { ACTIONS } from '../../audit/actions.ts'
import { requirePlayer } from '../../callers/access.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { answerType, enumType, inputOf } from '../../declare/graphql/shapes.ts'
import { accountPolicy, CLIENT_PROFILE, IDENTITIES_AT_DELETION, readPolicy, WHEN_FULL } from './account-policy.ts'
import { deleteOwnPlayer, deletionAnswer } from './delete-own-player.ts'
import { endedSessions, endOwnSessions, readSessions, session } from './own-sessions.ts'
import { deletePlayerRequest, endSessionsRequest } from './requests.ts'

// The accounts of players: sessions, deletion, and what their environment decides about them.

const SessionType = answerType('PlayerSession', session)
const EndOwnSessionsPayload = answerType('EndOwnSessionsPayload', endedSessions)
const DeleteOwnPlayerPayload = answerType('DeleteOwnPlayerPayload', deletionAnswer)

builder.prismaObjectFields('Player', (t) => ({
  sessions: t.field({
    type: [SessionType],
    description: 'The logins of the player that go on, the last used first.',
    resolve: async ({ environmentId, id: playerId }, _args, context) => {
      const caller = await context.caller()
      const familyId = caller.kind === 'player' ? caller.familyId : null
      return readSessions(context.service.pool, { environmentId, playerId, familyId })
    },
  }),
  deleteAt: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      'The time of the deletion that the player has asked for. Null without one. A login cancels it, and it waits for the end of a ban.',
    select: { plannedDeletion: { select: { deleteAt: true } } },
    resolve: ({ plannedDeletion }) => plannedDeletion?.deleteAt ?? null,
  }),
}))

enumType('WhenFull', WHEN_FULL, {
  description: 'What a login does when the player has as many sessions as its environment allows.',
  values: {
    end_oldest: 'It ends the session that began first.',
    refuse: 'It is refused with `too many sessions`.',
  },
})

enumType('IdentitiesAtDeletion', IDENTITIES_AT_DELETION, {
  description: 'What becomes of the identities of a player that deletes itself.',
  values: {
    keep: 'They stay bound: a login with one of them is refused with `player deleted`.',
    free: 'They become free: a login with one of them creates a new player.',
  },
})

enumType('ClientProfile', CLIENT_PROFILE, {
  description: 'Whether clients change the nickname, the region and the language of their player.',
  values: {
    auto: 'Where a provider without a webhook is enabled: Google, Apple, an OpenID Connect issuer, or guests.',
    allow: 'They do, also where a webhook checks the names.',
    refuse: 'They do not: such a call is refused with `profile not allowed`.',
  },
})

const AccountPolicyType = answerType('AccountPolicy', accountPolicy)

builder.prismaObjectField('Environment', 'accountPolicy', (t) =>
  t.field({
    type: AccountPolicyType,
    description: 'What the environment decides about the accounts of its players.',
    select: { id: true },
    resolve: ({ id }, _args, { service }) => readPolicy(service.operatorPool, id),
  }),
)

builder.mutationFields((t) => ({
  endOwnSessions: t.field({
    type: EndOwnSessionsPayload,
    description: 'Ends one session of the calling player, all others, or all. Access tokens end within two seconds.',
    args: inputOf('EndOwnSessionsInput', endSessionsRequest),
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, ACTIONS.endOwnSessions)
      const { session } = endSessionsRequest.readInput(input)
      return context.service.runAs(player, endOwnSessions(player, session))
    },
  }),
  deleteOwnPlayer: t.field({
    type: DeleteOwnPlayerPayload,
    description:
      'Deletes the calling player after the delay that its environment sets. All sessions end at once. A login before then cancels the deletion.',
    args: inputOf('DeleteOwnPlayerInput', deletePlayerRequest),
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, ACTIONS.deleteOwnPlayer)
      return context.service.runAs(player, deleteOwnPlayer(player, deletePlayerRequest.readInput(input)))
    },
  }),
}))
