import { ACTIONS } from '../../audit/actions.ts'
import { requireClient, requireLink, requirePlayer } from '../../callers/access.ts'
import { IDENTITY_PROVIDER } from '../../declare/common.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { answerType, inputOf } from '../../declare/graphql/shapes.ts'
import { linkCustom, loginCustom } from './custom-login.ts'
import type { IdentityRef } from './identities.ts'
import { unlinkOwnIdentity } from './own-identities.ts'
import { endSession, refreshTokens, tokenPair } from './refresh-tokens.ts'
import { linkCustomRequest, loginCustomRequest, refreshRequest, unlinkOwnRequest } from './requests.ts'

export const TokenPairType = answerType('TokenPairPayload', tokenPair)

const LinkedIdentity = builder.objectRef<IdentityRef>('LinkedIdentity').implement({
  description: 'An identity that was linked or removed.',
  fields: (t) => ({
    provider: t.exposeString('provider', {
      description: IDENTITY_PROVIDER,
    }),
    subject: t.exposeString('subject'),
  }),
})

/** The answer of each link. */
export const LinkIdentityPayload = builder.objectRef<{ identity: IdentityRef }>('LinkIdentityPayload').implement({
  description: 'The result of a link.',
  fields: (t) => ({ identity: t.field({ type: LinkedIdentity, resolve: ({ identity }) => identity }) }),
})

const UnlinkOwnIdentityPayload = builder.objectRef<{ identity: IdentityRef }>('UnlinkOwnIdentityPayload').implement({
  fields: (t) => ({
    identity: t.field({
      type: LinkedIdentity,
      description: 'The identity that was removed.',
      resolve: ({ identity }) => identity,
    }),
  }),
})

const LogoutPayload = builder.objectRef<{ done: boolean }>('LogoutPayload').implement({
  fields: (t) => ({ done: t.exposeBoolean('done', { description: 'Always true.' }) }),
})

builder.mutationFields((t) => ({
  loginCustom: t.field({
    type: TokenPairType,
    description: "Logs in through the studio's webhook. Requires the SDK key.",
    args: inputOf('LoginCustomInput', loginCustomRequest),
    resolve: async (_root, { input }, context) =>
      loginCustom(context.service, await requireClient(context), loginCustomRequest.readInput(input)),
  }),
  linkCustom: t.field({
    type: LinkIdentityPayload,
    description: 'Links the subject that the webhook names to the calling player. Requires the SDK key, too.',
    args: inputOf('LinkCustomInput', linkCustomRequest),
    resolve: async (_root, { input }, context) => {
      const { client, player } = await requireLink(context, ACTIONS.linkIdentity)
      const credentials = linkCustomRequest.readInput(input)
      return { identity: await linkCustom(context.service, client, player, credentials) }
    },
  }),
  unlinkOwnIdentity: t.field({
    type: UnlinkOwnIdentityPayload,
    description:
      'Removes an identity from the calling player, so that it is free for another one. The last one stays. Logins go on.',
    args: inputOf('UnlinkOwnIdentityInput', unlinkOwnRequest),
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, ACTIONS.unlinkOwnIdentity)
      const identity = unlinkOwnRequest.readInput(input)
      await context.service.runAs(player, unlinkOwnIdentity(player, identity))
      return { identity: { environmentId: player.environmentId, ...identity } }
    },
  }),
  refreshTokens: t.field({
    type: TokenPairType,
    description: 'Exchanges a refresh token for a new pair. Requires the SDK key.',
    args: inputOf('RefreshTokensInput', refreshRequest),
    resolve: async (_root, { input }, context) =>
      refreshTokens(context.service, await requireClient(context), refreshRequest.readInput(input).refreshToken),
  }),
  logout: t.field({
    type: LogoutPayload,
    description: 'Ends the login that a refresh token came from. Requires the SDK key.',
    args: inputOf('LogoutInput', refreshRequest),
    resolve: async (_root, { input }, context) => {
      const { environmentId } = await requireClient(context)
      await context.service.run(endSession(environmentId, refreshRequest.readInput(input).refreshToken))
      return { done: true }
    },
  }),
}))
