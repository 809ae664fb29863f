import { Fields } from '../fields.ts'
import type { PlatformHandler, PlatformRequest, PlayerHandler } from '../http/route.ts'
import { readCrossHandle, readRunId, readScenarioId } from './wire.ts'

/** POST /sdk/v1/scenarios/start: starts the player's run, or resumes it. */
export const postStart: PlayerHandler = ({ caller, fields, operations }) =>
  operations.startRun(
    caller,
    fields.read((f) => ({ scenarioId: readScenarioId(f) })),
  )

/** POST /sdk/v1/scenarios/cross: crosses a handle of a node that the client runs. */
export const postCross: PlayerHandler = ({ caller, fields, operations }) =>
  operations.crossHandle(caller, fields.read(readCrossHandle))

/** POST /sdk/v1/scenarios/run: the player's run, its active nodes and its last plan. */
export const postRun: PlayerHandler = ({ caller, fields, operations }) =>
  operations.readRun(
    caller,
    fields.read((f) => ({ runId: readRunId(f) })),
  )

/** PUT /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment= */
export const putScenario: PlatformHandler = async (request) => {
  const { scenario, environment } = await readPlace(request)
  return { environment, ...(await request.operations.publishScenario(scenario, await request.body())) }
}

/** GET /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment=&version= */
export const getScenario: PlatformHandler = async (request) => {
  const version = request.query.get('version')
  const readVersion = (fields: Fields) => fields.optionalInt32('version', { min: 1 })
  const wanted = version === null ? null : /^\d{1,9}$/.test(version) ? Number(version) : version
  const number = Fields.ofInput({ version: wanted }).read(readVersion)
  const { scenario, environment } = await readPlace(request)
  return { environment, ...(await request.operations.readScenario(scenario, number)) }
}

async function readPlace({ caller, params, query, operations }: PlatformRequest) {
  const fields = Fields.ofInput({ scenarioId: params.scenarioId, environment: query.get('environment') })
  const { scenarioId, environment } = fields.read((f) => ({
    scenarioId: readScenarioId(f),
    environment: f.text('environment', { max: 32 }),
  }))
  const environmentId = await operations.findEnvironment(caller.projectId, environment)
  return { scenario: { environmentId, scenarioId }, environment }
}
