import { ACTIONS } from '../../audit/actions.ts'
import { out } from '../../declare/answer.ts'
import { operatorRead } from '../../declare/operator-read.ts'
import { shape } from '../../declare/shape.ts'
import { readSignOn, type SignOnSettings } from './settings.ts'

export const singleSignOnReads = [
  operatorRead({
    name: 'singleSignOn',
    summary: "How people sign in to the console with the studio's own accounts. Null where they cannot.",
    request: shape({}),
    right: 'manage',
    denied: { action: ACTIONS.readSingleSignOn, target: 'project' },
    answer: out.orNull(out.ofType<SignOnSettings>('SingleSignOn')),
    read: ({ caller, service }) => readSignOn(service.operatorPool, caller.projectId),
  }),
]
