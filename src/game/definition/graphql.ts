import { answerType, enumType } from '../../declare/graphql/shapes.ts'
import { scenarioFault } from './parse.ts'
import { PHASES } from './season.ts'

export const PhaseEnum = enumType('SeasonPhase', PHASES, {
  description: 'Where a season stands.',
  values: {
    planned: 'It has not started, and is not announced.',
    announced: 'It has not started.',
    running: 'Xp counts, tiers can be claimed, and premium is sold.',
    ending: 'The same, and it is about to end.',
    ended: 'Tiers can still be claimed.',
    closed: 'It is over.',
  },
})

export const FaultType = answerType('ScenarioFault', scenarioFault)
