import { environment, nodeId, scenarioId } from '../../declare/common.ts'
import { described, int32, optional, shape } from '../../declare/shape.ts'
import { definitionText } from '../definition/requests.ts'

export const previewRequest = shape({ environment, scenarioId, definition: definitionText })
/** Players of a replay: each costs a read of its xp. */
const MAX_REPLAYED = 5_000
const DEFAULT_REPLAYED = 1_000
export const replayRequest = shape({
  environment,
  definition: definitionText,
  nodeId: described(nodeId, 'The battle pass of the definition.'),
  ofScenarioId: described(scenarioId, 'The scenario of the season that was played.'),
  ofNodeId: described(nodeId, 'Its battle pass.'),
  players: optional(
    int32(`The most players to repeat: 1 to ${MAX_REPLAYED}. Default: ${DEFAULT_REPLAYED}.`, {
      min: 1,
      max: MAX_REPLAYED,
    }),
    DEFAULT_REPLAYED,
  ),
})
