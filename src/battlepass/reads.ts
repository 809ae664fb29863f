import { out } from '../declare/answer.ts'
import { environment, scenarioId } from '../declare/common.ts'
import { operatorRead } from '../declare/operator-read.ts'
import { described, optional, shape } from '../declare/shape.ts'
import { previewRequest, replayRequest } from '../scenario/requests.ts'
import { listSettlements, MOST_SETTLEMENTS, type Settlement } from './list-settlements.ts'
import type { ScenarioPreview } from './preview.ts'
import type { SeasonReplay } from './replay-season.ts'

const settlementsRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'Only seasons of this scenario.')),
})

export const battlePassReads = [
  operatorRead({
    name: 'previewScenario',
    summary: 'Previews the effect of publishing a definition on current players. Writes nothing and blocks nothing.',
    request: previewRequest,
    hasInput: true,
    right: 'read',
    cost: 100,
    answer: out.ofType<ScenarioPreview>('PreviewScenarioResult'),
    read: ({ caller: { projectId, keyId }, service }, { environmentId, scenarioId, definition }) =>
      service.previewScenario(service.reads.reader(keyId), projectId, { environmentId, scenarioId }, definition),
  }),
  operatorRead({
    name: 'replaySeason',
    summary:
      'What if: repeats the xp of players of an earlier season, call by call, by the levels and xp rules of a draft. Xp from operators, boosts of then, and calls that a limit refused are left out. Writes nothing and blocks nothing.',
    request: replayRequest,
    hasInput: true,
    right: 'read',
    cost: 100,
    answer: out.ofType<SeasonReplay>('SeasonReplay'),
    read: ({ caller: { projectId, keyId }, service }, asked) =>
      service.replaySeason(service.reads.reader(keyId), projectId, asked),
  }),
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
