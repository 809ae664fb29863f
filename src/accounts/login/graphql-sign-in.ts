import { ACTIONS } from '../../audit/actions.ts'
import { requireClient, requireLink } from '../../callers/access.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { inputOf } from '../../declare/graphql/shapes.ts'
import { oidcProvider } from '../providers/provider-ref.ts'
import { linkDevice, loginDevice } from './device-login.ts'
import { LinkIdentityPayload, TokenPairType } from './graphql.ts'
import { linkIdToken, loginIdToken } from './id-token-login.ts'
import {
  linkDeviceRequest,
  linkIdTokenRequest,
  linkOidcRequest,
  loginDeviceRequest,
  loginIdTokenRequest,
  loginOidcRequest,
  switchRequest,
} from './requests.ts'
import { switchPlayer } from './switch-player.ts'

// Logins without a webhook.

const action = ACTIONS.linkIdentity

for (const [provider, name] of [
  ['google', 'Google'],
  ['apple', 'Apple'],
] as const) {
  builder.mutationFields((t) => ({
    [`login${name}`]: t.field({
      type: TokenPairType,
      description: `Logs in by an ID token of ${name}. Requires the SDK key.`,
      args: inputOf('IdTokenLoginInput', loginIdTokenRequest),
      resolve: async (_root, { input }, context) => {
        const client = await requireClient(context)
        return loginIdToken(context.service, client, { provider, ...loginIdTokenRequest.readInput(input) })
      },
    }),
    [`link${name}`]: t.field({
      type: LinkIdentityPayload,
      description: `Links the subject of an ID token of ${name} to the calling player. Requires the SDK key, too.`,
      args: inputOf('IdTokenLinkInput', linkIdTokenRequest),
      resolve: async (_root, { input }, context) => {
        const { client, player } = await requireLink(context, action)
        const sent = { provider, ...linkIdTokenRequest.readInput(input) }
        return { identity: await linkIdToken(context.service, client, player, sent) }
      },
    }),
  }))
}

builder.mutationFields((t) => ({
  loginOidc: t.field({
    type: TokenPairType,
    description:
      'Logs in by an ID token of an issuer that the studio has added (OpenID Connect). Requires the SDK key.',
    args: inputOf('LoginOidcInput', loginOidcRequest),
    resolve: async (_root, { input }, context) => {
      const client = await requireClient(context)
      const { provider, ...sent } = loginOidcRequest.readInput(input)
      return loginIdToken(context.service, client, { provider: oidcProvider(provider), ...sent })
    },
  }),
  linkOidc: t.field({
    type: LinkIdentityPayload,
    description: 'Links the subject of an ID token of such an issuer to the calling player. Requires the SDK key, too.',
    args: inputOf('LinkOidcInput', linkOidcRequest),
    resolve: async (_root, { input }, context) => {
      const { client, player } = await requireLink(context, action)
      const { provider, ...sent } = linkOidcRequest.readInput(input)
      const credentials = { provider: oidcProvider(provider), ...sent }
      return { identity: await linkIdToken(context.service, client, player, credentials) }
    },
  }),
  loginDevice: t.field({
    type: TokenPairType,
    description:
      'Logs in as a guest, by an id that the device made. The first login creates the player. Requires the SDK key.',
    args: inputOf('LoginDeviceInput', loginDeviceRequest),
    resolve: async (_root, { input }, context) =>
      loginDevice(context.service, await requireClient(context), loginDeviceRequest.readInput(input)),
  }),
  linkDevice: t.field({
    type: LinkIdentityPayload,
    description:
      'Links the id of a device to the calling player, who can then log in by it. Requires the SDK key, too.',
    args: inputOf('LinkDeviceInput', linkDeviceRequest),
    resolve: async (_root, { input }, context) => {
      const { client, player } = await requireLink(context, action)
      return { identity: await linkDevice(context.service, client, player, linkDeviceRequest.readInput(input)) }
    },
  }),
  switchPlayer: t.field({
    type: TokenPairType,
    description:
      'Signs in to the player that has the identity of a refused link. The ticket works once, within ten minutes. Requires the SDK key, too.',
    args: inputOf('SwitchPlayerInput', switchRequest),
    resolve: async (_root, { input }, context) => {
      const { client, player } = await requireLink(context, ACTIONS.switchPlayer)
      return switchPlayer(context.service, client, player, switchRequest.readInput(input))
    },
  }),
}))
