import { out } from '../../declare/answer.ts'
import { environment, scenarioId } from '../../declare/common.ts'
import { operatorRead } from '../../declare/operator-read.ts'
import { described, optional, shape } from '../../declare/shape.ts'
import { listSettlements, MOST_SETTLEMENTS, type Settlement } from './list-settlements.ts'

const settlementsRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'Only seasons of this scenario.')),
})

export const seasonReads = [
  operatorRead({
    name: 'seasonSettlements',
    summary: `The settlements of seasons in an environment, the latest first: the last ${MOST_SETTLEMENTS}.`,
    request: settlementsRequest,
    right: 'read',
    answer: out.listOfType<Settlement>('SeasonSettlement'),
    read: ({ service }, { environmentId, scenarioId }) =>
      listSettlements(service.operatorPool, environmentId, scenarioId),
  }),
]
