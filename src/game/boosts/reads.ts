import { invalidRequest } from '../../base/errors.ts'
import { out } from '../../declare/answer.ts'
import { operatorList, operatorRead } from '../../declare/operator-read.ts'
import { readGameNow } from '../clock/game-clock.ts'
import { scenarioFaults } from './manage-boosts.ts'
import type { BoostPreview } from './preview-boost.ts'
import { type BoostState, boostsRequest, previewBoostRequest } from './requests.ts'

/** The rows in a state at a moment. */
const IN_STATE: Readonly<Record<BoostState, (at: Date) => object>> = {
  planned: (at) => ({ endedAt: null, startsAt: { gt: at } }),
  running: (at) => ({ endedAt: null, startsAt: { lte: at }, endsAt: { gt: at } }),
  ended: (at) => ({ OR: [{ endedAt: { not: null } }, { endsAt: { lte: at } }] }),
}

export const boostReads = [
  operatorList({
    name: 'boosts',
    summary: 'The boosts of an environment, past and to come: the last created first.',
    request: boostsRequest,
    right: 'read',
    rows: 'Boost',
    nodesIn: (projectId) => ({ environment: { projectId } }),
    pagedBy: 'id',
    async where({ service }, { environmentId, states }) {
      if (states === null) return { environmentId }
      const at = await readGameNow(service.pool, environmentId)
      return { environmentId, OR: states.map((state) => IN_STATE[state as BoostState](at)) }
    },
  }),
  operatorRead({
    name: 'previewBoost',
    summary: 'Previews a boost by the xp of the last days. Writes nothing and blocks nothing.',
    request: previewBoostRequest,
    right: 'read',
    cost: 100,
    answer: out.ofType<BoostPreview>('PreviewBoostResult'),
    async read({ caller: { projectId, keyId }, service }, asked) {
      const faults = await scenarioFaults(service.operatorPool, asked.environmentId, asked.scenarios)
      if (faults.length > 0) throw invalidRequest(...faults)
      return service.previewBoost(service.reads.reader(keyId), projectId, asked.environmentId, asked)
    },
  }),
]
