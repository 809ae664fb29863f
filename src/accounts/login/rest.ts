import { ACTIONS } from '../../audit/actions.ts'
import { CUSTOM_AUTH } from '../../declare/contract.ts'
import { clientCall, linkCall } from '../../declare/route.ts'
import { linkCustom, loginCustom } from './custom-login.ts'
import { endSession, refreshTokens, tokenPair } from './refresh-tokens.ts'
import { linkCustomRequest, loginCustomRequest, refreshRequest } from './requests.ts'

// Logins (contract 4.2).

export const loginCall = clientCall({
  request: loginCustomRequest,
  contract: {
    id: 'loginCustom',
    tag: 'Login',
    summary: "Log in through the studio's webhook.",
    answer: tokenPair,
    refusals: [...CUSTOM_AUTH, 'tooManySessions'],
  },
  run: ({ client, input, service }) => loginCustom(service, client, input),
})

export const linkIdentityCall = linkCall({
  request: linkCustomRequest,
  action: ACTIONS.linkIdentity,
  contract: {
    id: 'linkCustom',
    tag: 'Login',
    summary: 'Link the subject that the webhook names to the calling player.',
    answer: null,
    refusals: [...CUSTOM_AUTH, 'identityAlreadyLinked'],
  },
  run: async ({ client, caller, input, service }) => {
    await linkCustom(service, client, caller, input)
    return undefined
  },
})

export const refreshCall = clientCall({
  request: refreshRequest,
  contract: {
    id: 'refreshTokens',
    tag: 'Login',
    summary: 'Exchange a refresh token for a new pair. For 10 seconds, the same token gets the same pair.',
    answer: tokenPair,
    refusals: ['invalidToken', 'playerBanned', 'playerDeleted'],
  },
  run: ({ client, input, service }) => refreshTokens(service, client, input.refreshToken),
})

export const logoutCall = clientCall({
  request: refreshRequest,
  contract: { id: 'logout', tag: 'Login', summary: 'End the login of a refresh token.', answer: null },
  run: async ({ client, input, service }) => {
    await service.run(endSession(client.environmentId, input.refreshToken))
    return undefined
  },
})
