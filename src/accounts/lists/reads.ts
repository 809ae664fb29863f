import { operatorList } from '../../declare/operator-read.ts'
import { segmentsRequest } from './segments.ts'

export const listingReads = [
  operatorList({
    name: 'segments',
    summary: 'The segments of an environment, by their names.',
    request: segmentsRequest,
    right: 'players',
    rows: 'Segment',
    nodesIn: (projectId) => ({ environment: { projectId } }),
    size: 100,
    where: (_asking, { environmentId }) => ({ environmentId }),
  }),
]
