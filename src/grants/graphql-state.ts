import { enumType } from '../declare/graphql/shapes.ts'
import { JOB_STATES } from './requests.ts'

export const JobStateType = enumType('GrantJobState', JOB_STATES, {
  description: 'Where a grant job stands.',
  values: {
    planned: 'It starts later, at `startsAt`.',
    collecting: 'Its players are looked up and frozen. Nobody has got anything.',
    'awaiting approval': 'Its players are frozen, and a second person must approve it.',
    running: 'Its players get theirs.',
    paused: 'Nobody gets anything until it is resumed.',
    done: 'All of its players have got theirs, or failed.',
    cancelled: 'It was cancelled. What was given stays given.',
    failed: 'It gave nothing, as `note` says.',
  },
})
