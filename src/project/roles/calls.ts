import { out } from '../../declare/answer.ts'
import { operatorChange, payload } from '../../declare/operator-call.ts'
import { roleLimits, setLimits } from '../../operations/calls/role-limits.ts'
import { checkLimits, limitsRequest } from './requests.ts'

export const roleCalls = [
  operatorChange({
    name: 'setRoleLimits',
    summary:
      'Sets the limits of a role in an environment. A limit that is absent is removed. Applies to the next call.',
    request: limitsRequest,
    check: checkLimits,
    answer: payload('SetRoleLimitsPayload', { limits: out.of(roleLimits, 'The limits after the change.') }),
    right: 'manage',
    action: 'role_limits.set',
    title: 'Set the limits of a role',
    target: 'environment',
    change: (changing, asked) => setLimits(changing, asked.environmentId, asked),
  }),
]
