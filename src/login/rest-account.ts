import { ACTIONS } from '../audit/actions.ts'
import { readCall } from '../declare/route.ts'
import { playerRequest } from '../players/requests.ts'
import { ownIdentities, readOwnIdentities, unlinkOwnIdentity } from './own-identities.ts'
import { unlinkOwnRequest } from './requests.ts'

// The player's own say about its account.

export const listIdentitiesCall = readCall({
  request: playerRequest,
  contract: {
    id: 'listIdentities',
    tag: 'Player',
    summary: 'List the identities that log the calling player in.',
    answer: ownIdentities,
  },
  run: ({ caller, service }) => readOwnIdentities(service.pool, caller),
})

export const unlinkIdentityCall = readCall({
  request: unlinkOwnRequest,
  action: ACTIONS.unlinkOwnIdentity,
  contract: {
    id: 'unlinkIdentity',
    tag: 'Player',
    summary: 'Remove an identity from the calling player, so that it is free for another one. The last one stays.',
    answer: null,
    refusals: ['notFound', 'lastIdentity'],
  },
  run: async ({ caller, input, service }) => {
    await service.runAs(caller, unlinkOwnIdentity(caller, input))
    return undefined
  },
})
