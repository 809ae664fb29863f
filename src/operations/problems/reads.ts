import { out } from '../../declare/answer.ts'
import { environment } from '../../declare/common.ts'
import { operatorRead } from '../../declare/operator-read.ts'
import { shape } from '../../declare/shape.ts'
import { MAX_PROBLEMS, type Problem, readProblems } from './problems.ts'

export const problemReads = [
  operatorRead({
    name: 'problems',
    summary: `What needs a person in an environment now, in the order of \`ProblemKind\`: at most ${MAX_PROBLEMS} of a kind, the latest first.`,
    request: shape({ environment }),
    right: 'read',
    answer: out.listOfType<Problem>('Problem'),
    read: ({ caller: { projectId }, service: { operatorPool, secrets } }, { environmentId }) =>
      readProblems({ pool: operatorPool, secrets }, { projectId, environmentId }),
  }),
]
