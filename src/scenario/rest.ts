import type { PlatformHandler, PlatformRequest } from '../http/route.ts'
import { findEnvironment } from '../projects/projects.ts'
import { InputSource } from '../request/source.ts'
import { publishScenario, readScenario } from './publish.ts'
import { scenarioRequest, versionRequest } from './requests.ts'

/** PUT /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment= */
export const putScenario: PlatformHandler = async (request) => {
  const { caller, service } = request
  const { environment, scenarioId } = scenarioRequest.read(parametersOf(request))
  const environmentId = await findEnvironment(service.pool, caller.projectId, environment)
  const { text } = await request.body()
  const scenario = { environmentId, scenarioId }
  const published = await publishScenario(service.operatorPool, scenario, text, { caller, reason: null })
  return { environment, ...published }
}

/** GET /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment=&version= */
export const getScenario: PlatformHandler = async (request) => {
  const { caller, service } = request
  const { environment, scenarioId, version } = versionRequest.read(parametersOf(request))
  const environmentId = await findEnvironment(service.pool, caller.projectId, environment)
  return { environment, ...(await readScenario(service.operatorPool, { environmentId, scenarioId }, version)) }
}

/** Which scenario of which environment, and which version where that is asked for. */
function parametersOf({ params, query }: PlatformRequest): InputSource {
  const version = query.get('version')
  return new InputSource({
    scenarioId: params.scenarioId,
    environment: query.get('environment'),
    version: version !== null && /^\d{1,10}$/.test(version) ? Number(version) : version,
  })
}
