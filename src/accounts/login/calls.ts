import type { Fault } from '../../base/errors.ts'
import { requireKey } from '../../callers/keys.ts'
import { out } from '../../declare/answer.ts'
import { environment } from '../../declare/common.ts'
import { operatorAct, operatorChange, payload } from '../../declare/operator-call.ts'
import { anyText, described, flag, optional, type RequestOf, shape } from '../../declare/shape.ts'
import { DEFAULT_PROVIDER, providerRef } from '../providers/provider-ref.ts'
import { accountPolicy, setPolicy } from './account-policy.ts'
import { type Rehearsal, rehearseLogin } from './custom-login.ts'
import { rehearseIdToken } from './id-token-login.ts'
import { accountPolicyRequest, credentials, idToken } from './requests.ts'

const testProviderRequest = shape({
  environment,
  customData: optional(described(credentials.customData, 'For a custom provider, which is called with it.')),
  provider: optional(
    anyText(
      'The name of a custom provider, `google`, `apple`, or `oidc:` and the name of an issuer. Default: `default`.',
    ),
    DEFAULT_PROVIDER,
  ),
  idToken: optional(described(idToken.idToken, 'For any other provider, which verifies it.')),
  nonce: optional(described(idToken.nonce, 'The nonce of the token. It is not used up.')),
  oddBody: optional(
    flag(
      'Whether a custom provider is called a second time, with the same values in another notation. A ticket that works once is used up by the first call. Default: false.',
    ),
    false,
  ),
})

/** A rehearsal needs what a login through the provider sends. */
function rehearsalFaults({ provider, customData, idToken }: RequestOf<typeof testProviderRequest>): Fault[] {
  if (customData !== null || idToken !== null) return []
  const needed = providerRef(provider).kind === 'custom' ? 'customData' : 'idToken'
  return [{ path: needed, message: 'is required for this provider' }]
}

export const loginCalls = [
  operatorChange({
    name: 'setAccountPolicy',
    summary:
      'Sets what an environment decides about the accounts of its players. A field that is absent gets its default. Applies to the next call.',
    request: accountPolicyRequest,
    answer: payload('SetAccountPolicyPayload', { policy: out.of(accountPolicy, 'The policy after the change.') }),
    right: 'manage',
    action: 'account_policy.set',
    title: 'Set the policy of accounts',
    target: 'environment',
    change: (changing, asked) => setPolicy(changing, asked.environmentId, asked),
  }),
  operatorAct({
    name: 'testAuthProvider',
    summary:
      'Calls a webhook, or verifies an ID token, as a login would, and returns the result. No player is created, looked up or logged in.',
    request: testProviderRequest,
    check: rehearsalFaults,
    cost: 50,
    answer: out.ofType<Rehearsal>('TestAuthProviderPayload'),
    right: 'manage',
    action: 'auth_providers.test',
    title: 'Test a provider',
    target: { word: 'providers' },
    async act({ caller, service }, { environmentId, provider, customData, idToken, nonce, oddBody }) {
      const ref = { projectId: caller.projectId, environmentId }
      const rehearsal =
        idToken === null
          ? await rehearseLogin(service, ref, { provider, customData: customData ?? '{}', oddBody })
          : await rehearseIdToken(service, environmentId, { provider, idToken, nonce })
      // The webhook can take ten seconds.
      await requireKey(service.pool, caller)
      return { outcome: rehearsal }
    },
  }),
]
