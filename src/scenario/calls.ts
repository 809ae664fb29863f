import { out } from '../declare/answer.ts'
import { operatorChange, payload } from '../declare/operator-call.ts'
import { publishPolicyRequest } from './draft-requests.ts'
import { publishPolicy, setPublishPolicy } from './drafts.ts'
import { checkAt, setClock, setClockRequest } from './set-clock.ts'

export const scenarioCalls = [
  operatorChange({
    name: 'setEnvironmentClock',
    summary:
      'Sets the clock of an environment for tests: ahead, back, or faster. Without `at` and `rate` it is the real one again. Counts from the next call on. Refused for an environment of real players.',
    request: setClockRequest,
    check: checkAt,
    answer: payload(
      'SetEnvironmentClockPayload',
      { environment: out.kept('Environment', 'The environment with its clock.') },
      'Null when the clock was the real one and stays so.',
    ),
    right: 'manage',
    action: 'environment.set_clock',
    target: 'environment',
    change: ({ client }, asked) => setClock(client, asked),
    afterCommit: ({ service }) => service.gameClocks.refresh(),
  }),
  operatorChange({
    name: 'setPublishPolicy',
    summary:
      'Sets what an environment demands of publications, over GraphQL and REST, of every role. Publications that are planned already stay planned.',
    request: publishPolicyRequest,
    answer: payload('SetPublishPolicyPayload', { policy: out.of(publishPolicy, 'The policy after the change.') }),
    right: 'manage',
    action: 'publish_policy.set',
    target: 'environment',
    change: ({ client }, asked) => setPublishPolicy(client, asked.environmentId, asked),
  }),
]
