import { out } from '../declare/answer.ts'
import { operatorChange, payload } from '../declare/operator-call.ts'
import { accountPolicy, setPolicy } from './account-policy.ts'
import { accountPolicyRequest } from './requests.ts'

export const accountPolicyCalls = [
  operatorChange({
    name: 'setAccountPolicy',
    summary:
      'Sets what an environment decides about the accounts of its players. A field that is absent gets its default. Applies to the next call.',
    request: accountPolicyRequest,
    answer: payload('SetAccountPolicyPayload', { policy: out.of(accountPolicy, 'The policy after the change.') }),
    right: 'manage',
    action: 'account_policy.set',
    target: 'environment',
    change: ({ client }, asked) => setPolicy(client, asked.environmentId, asked),
  }),
]
