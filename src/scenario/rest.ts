import { Fields } from '../fields.ts'
import type { PlatformHandler, PlatformRequest, PlayerHandler } from '../http/route.ts'
import { findEnvironment } from '../projects/projects.ts'
import { crossHandle } from './cross-handle.ts'
import { publishScenario, readScenario } from './publish.ts'
import { readRun } from './read-run.ts'
import { startRun } from './start-run.ts'
import { readCrossHandle, readRunId, readScenarioId } from './wire.ts'

/** POST /sdk/v1/scenarios/start: starts the player's run, or resumes it. */
export const postStart: PlayerHandler = ({ caller, fields, service }) =>
  service.run(startRun(caller, { scenarioId: fields.read(readScenarioId) }))

/** POST /sdk/v1/scenarios/cross: crosses a handle of a node that the client runs. */
export const postCross: PlayerHandler = ({ caller, fields, service }) =>
  service.run(crossHandle(caller, fields.read(readCrossHandle)))

/** POST /sdk/v1/scenarios/run: the player's run, its active nodes and its last plan. */
export const postRun: PlayerHandler = ({ caller, fields, service }) =>
  service.run(readRun(caller, { runId: fields.read(readRunId) }))

/** PUT /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment= */
export const putScenario: PlatformHandler = async (request) => {
  const { caller, service } = request
  const { scenario, environment } = await readPlace(request)
  const definition = await request.body()
  const published = await publishScenario(service.operatorPool, scenario, definition, { caller, reason: null })
  return { environment, ...published }
}

/** GET /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment=&version= */
export const getScenario: PlatformHandler = async (request) => {
  const { scenario, environment, version } = await readPlace(request, (f) => f.optionalInt32('version', { min: 1 }))
  return { environment, ...(await readScenario(request.service.operatorPool, scenario, version)) }
}

/** Which scenario of which environment, and which version where that is asked for. */
async function readPlace(
  { caller, params, query, service }: PlatformRequest,
  readVersion: (fields: Fields) => number | null = () => null,
) {
  const sent = query.get('version')
  const fields = Fields.ofInput({
    scenarioId: params.scenarioId,
    environment: query.get('environment'),
    version: sent !== null && /^\d{1,10}$/.test(sent) ? Number(sent) : sent,
  })
  const { scenarioId, environment, version } = fields.read((f) => ({
    scenarioId: readScenarioId(f),
    environment: f.text('environment', { max: 32 }),
    version: readVersion(f),
  }))
  const environmentId = await findEnvironment(service.pool, caller.projectId, environment)
  return { scenario: { environmentId, scenarioId }, environment, version }
}
