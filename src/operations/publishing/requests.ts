import { trimJson } from '../../base/json.ts'
import { environment, reason, scenarioId } from '../../declare/common.ts'
import { described, int32, mapped, moment, optional, shape, text, uuid } from '../../declare/shape.ts'
import { DEFINITION, definitionText } from '../../game/definition/requests.ts'
import type { ExpectedVersion } from './publish.ts'

const version = optional(int32('An older version. Default: the current one.', { min: 1 }))
const expectedVersion = mapped(
  optional(
    int32('Refused with `VERSION_CONFLICT` unless this version is current; 0 for a scenario without one.', { min: 0 }),
  ),
  (version): ExpectedVersion | null => (version === null ? null : { version, path: 'expectedVersion' }),
)

/** A definition that is stored: its text must be one that the database takes. The parser reports an empty one. */
const definition = mapped(text(DEFINITION, { max: Number.MAX_SAFE_INTEGER, min: 0 }), trimJson)

export const scenariosRequest = shape({ environment })
export const scenarioRequest = shape({ environment, scenarioId })
export const versionRequest = shape({ environment, scenarioId, version })
export const diffRequest = shape({
  environment,
  scenarioId,
  from: int32('The version that is compared.', { min: 1 }),
  to: int32('The version that it is compared with.', { min: 1 }),
})
export const validateRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'The id for the new scenario.')),
  definition: definitionText,
})
export const putRequest = shape({ environment, scenarioId, reason: optional(reason) })
export const publishRequest = shape({
  environment,
  scenarioId,
  definition,
  expectedVersion,
  reason,
})
export const scheduleRequest = shape({
  environment,
  scenarioId,
  definition,
  publishAt: moment('The time of the publication.'),
  expectedVersion: optional(
    int32('The publication fails unless this version is current then; 0 for a scenario without one. Default: any.', {
      min: 0,
    }),
  ),
  reason,
})
export const cancelRequest = shape({
  environment,
  publicationId: uuid('The planned publication.', 'ScheduledPublication'),
  reason,
})
export const plannedRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'Only publications of this scenario.')),
})
export const cloneRequest = shape({
  environment,
  scenarioId,
  version,
  toEnvironment: described(environment, 'An environment of the same project.'),
  toScenarioId: described(scenarioId, "The target's id: the same, or another."),
  expectedVersion,
  reason,
})
