import { out } from '../../declare/answer.ts'
import { operatorRead } from '../../declare/operator-read.ts'
import type { ScenarioPreview } from './preview.ts'
import type { SeasonReplay } from './replay-season.ts'
import { previewRequest, replayRequest } from './requests.ts'

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
      'What if: repeats the xp of players of an earlier season, call by call, by the levels and xp rules of a draft. Xp from operators, boosts of that season, and calls that a limit refused are left out. Writes nothing and blocks nothing.',
    request: replayRequest,
    hasInput: true,
    right: 'read',
    cost: 100,
    answer: out.ofType<SeasonReplay>('SeasonReplay'),
    read: ({ caller: { projectId, keyId }, service }, asked) =>
      service.replaySeason(service.reads.reader(keyId), projectId, asked),
  }),
]
