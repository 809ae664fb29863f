import { out } from '../../declare/answer.ts'
import { operatorChange, payload } from '../../declare/operator-call.ts'
import { createBoost, endBoost, updateBoost } from './manage-boosts.ts'
import { checkWindow, createBoostRequest, endBoostRequest, updateBoostRequest } from './requests.ts'

const answer = payload('BoostPayload', { boost: out.kept('Boost', 'The boost after the change.') })

export const boostCalls = [
  operatorChange({
    name: 'createBoost',
    summary:
      'Makes a boost: more of each xp that a client or a server gives, for a time. Applies to the next call from its start on.',
    request: createBoostRequest,
    check: checkWindow,
    answer,
    right: 'design',
    action: 'boost.create',
    title: 'Create a boost',
    target: 'environment',
    change: createBoost,
  }),
  operatorChange({
    name: 'updateBoost',
    summary:
      'Changes a boost. Members that are absent stay as they are. One that has started can only change its name and its end.',
    request: updateBoostRequest,
    answer,
    right: 'design',
    action: 'boost.update',
    title: 'Change a boost',
    target: 'boostId',
    change: updateBoost,
  }),
  operatorChange({
    name: 'endBoost',
    summary: 'Ends a boost at once, or cancels a planned one. Xp that it has given stays.',
    request: endBoostRequest,
    answer,
    right: 'design',
    action: 'boost.end',
    title: 'End a boost',
    target: 'boostId',
    change: endBoost,
  }),
]
