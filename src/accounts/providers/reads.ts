import { out } from '../../declare/answer.ts'
import { operatorRead } from '../../declare/operator-read.ts'
import { type AuthProvidersView, readAuthProviders } from './auth-providers.ts'
import { authProvidersQuery } from './settings-request.ts'

export const providerReads = [
  operatorRead({
    name: 'authProviders',
    summary: "The login providers of the key's project, by environment: of one environment, or of all.",
    request: authProvidersQuery,
    right: 'read',
    hasOwnRoute: true,
    answer: out.listOfType<AuthProvidersView>('AuthProviders'),
    read: ({ caller, service }, { environmentId }) =>
      readAuthProviders(service.operatorPool, caller.projectId, environmentId),
  }),
]
