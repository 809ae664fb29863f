import { ACTIONS } from '../../audit/actions.ts'
import { ID_TOKEN, SIGN_IN } from '../../declare/contract.ts'
import { clientCall, linkCall } from '../../declare/route.ts'
import { oidcProvider } from '../providers/provider-ref.ts'
import { linkDevice, loginDevice } from './device-login.ts'
import { linkIdToken, loginIdToken } from './id-token-login.ts'
import { tokenPair } from './refresh-tokens.ts'
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

const tag = 'Login'
const action = ACTIONS.linkIdentity

/** Sign-in with Google or Apple. */
function platformCalls(provider: 'google' | 'apple', name: 'Google' | 'Apple') {
  return {
    login: clientCall({
      request: loginIdTokenRequest,
      contract: {
        id: `login${name}`,
        tag,
        summary: `Log in by an ID token of ${name}.`,
        answer: tokenPair,
        refusals: [...ID_TOKEN, 'tooManySessions'],
      },
      run: ({ client, input, service }) => loginIdToken(service, client, { provider, ...input }),
    }),
    link: linkCall({
      request: linkIdTokenRequest,
      action,
      contract: {
        id: `link${name}`,
        tag,
        summary: `Link the subject of an ID token of ${name} to the calling player.`,
        answer: null,
        refusals: [...ID_TOKEN, 'identityAlreadyLinked'],
      },
      run: async ({ client, caller, input, service }) => {
        await linkIdToken(service, client, caller, { provider, ...input })
        return undefined
      },
    }),
  }
}

export const google = platformCalls('google', 'Google')
export const apple = platformCalls('apple', 'Apple')

export const loginOidcCall = clientCall({
  request: loginOidcRequest,
  contract: {
    id: 'loginOidc',
    tag,
    summary: 'Log in by an ID token of an issuer that the studio has added (OpenID Connect).',
    answer: tokenPair,
    refusals: [...ID_TOKEN, 'tooManySessions'],
  },
  run: ({ client, input, service }) =>
    loginIdToken(service, client, { ...input, provider: oidcProvider(input.provider) }),
})

export const linkOidcCall = linkCall({
  request: linkOidcRequest,
  action,
  contract: {
    id: 'linkOidc',
    tag,
    summary: 'Link the subject of an ID token of such an issuer to the calling player.',
    answer: null,
    refusals: [...ID_TOKEN, 'identityAlreadyLinked'],
  },
  run: async ({ client, caller, input, service }) => {
    await linkIdToken(service, client, caller, { ...input, provider: oidcProvider(input.provider) })
    return undefined
  },
})

export const loginDeviceCall = clientCall({
  request: loginDeviceRequest,
  contract: {
    id: 'loginDevice',
    tag,
    summary: 'Log in as a guest, by an id that the device made. The first login creates the player.',
    answer: tokenPair,
    refusals: [...SIGN_IN, 'tooManySessions'],
  },
  run: ({ client, input, service }) => loginDevice(service, client, input),
})

export const linkDeviceCall = linkCall({
  request: linkDeviceRequest,
  action,
  contract: {
    id: 'linkDevice',
    tag,
    summary: 'Link the id of a device to the calling player, who can then log in by it.',
    answer: null,
    refusals: [...SIGN_IN, 'identityAlreadyLinked'],
  },
  run: async ({ client, caller, input, service }) => {
    await linkDevice(service, client, caller, input)
    return undefined
  },
})

export const switchCall = linkCall({
  request: switchRequest,
  action: ACTIONS.switchPlayer,
  contract: {
    id: 'switchPlayer',
    tag,
    summary:
      'Sign in to the player that has the identity of a refused link. Its ticket works once, within ten minutes.',
    answer: tokenPair,
    refusals: [
      'signInDisabled',
      'customAuthDisabled',
      'ticketRejected',
      'playerBanned',
      'playerDeleted',
      'tooManySessions',
    ],
  },
  run: ({ client, caller, input, service }) => switchPlayer(service, client, caller, input),
})
