import type { IncomingHttpHeaders } from 'node:http'
import type { Fault } from '../errors.ts'
import type { PlatformHandler, PlatformRequest } from '../http/route.ts'
import { findEnvironment } from '../projects/projects.ts'
import { InputSource, refuseFaults } from '../request/shape.ts'
import { type ExpectedVersion, publishScenario, readScenario } from './publish.ts'
import { putRequest, versionRequest } from './requests.ts'

/** PUT /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment=&reason= */
export const putScenario: PlatformHandler = async (request) => {
  const { caller, service, setHeader } = request
  const faults: Fault[] = []
  const { environment, scenarioId, reason } = putRequest.gather(parametersOf(request), faults)
  const expected = readExpected(request.headers, faults)
  refuseFaults(faults)
  const environmentId = await findEnvironment(service.pool, caller.projectId, environment)
  const { text } = await request.body()
  const publisher = { caller, reason, expected }
  const { scenario, notices } = await publishScenario(
    service.operatorPool,
    { environmentId, scenarioId },
    text,
    publisher,
  )
  setHeader('etag', tagOf(scenario))
  return { environment, ...scenario, ...(notices.length > 0 && { notices: notices.map((notice) => ({ ...notice })) }) }
}

/** GET /platform/v1/projects/{projectId}/scenarios/{scenarioId}?environment=&version= */
export const getScenario: PlatformHandler = async (request) => {
  const { caller, service, setHeader } = request
  const { environment, scenarioId, version } = versionRequest.read(parametersOf(request))
  const environmentId = await findEnvironment(service.pool, caller.projectId, environment)
  const scenario = await readScenario(service.operatorPool, { environmentId, scenarioId }, version)
  setHeader('etag', tagOf(scenario))
  return { environment, ...scenario }
}

const tagOf = ({ version }: { readonly version: number }): string => `"${version}"`

/** The version that `If-Match: "4"`, `If-Match: *` and `If-None-Match: *` require to be current (RFC 9110, 13.1). */
function readExpected(headers: IncomingHttpHeaders, faults: Fault[]): ExpectedVersion | null {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (match !== undefined && noneMatch !== undefined)
    faults.push({ path: 'If-None-Match', message: 'must not be given with If-Match' })
  if (noneMatch !== undefined) {
    if (noneMatch.trim() !== '*') faults.push({ path: 'If-None-Match', message: 'must be *' })
    return { version: 0, path: 'If-None-Match' }
  }
  if (match === undefined) return null
  if (match.trim() === '*') return { version: 'any', path: 'If-Match' }
  // A compressing proxy makes the tag weak. A version has one text, so that is equivalent.
  const [, version] = /^(?:W\/)?"([1-9]\d{0,8})"$/.exec(match.trim()) ?? []
  if (version === undefined)
    faults.push({ path: 'If-Match', message: 'must be the ETag of a version, such as "4", or *' })
  return { version: Number(version), path: 'If-Match' }
}

/** The scenario and environment of a request, with the other parameters of its URL. */
function parametersOf({ params, query }: PlatformRequest): InputSource {
  const version = query.get('version')
  return new InputSource({
    scenarioId: params.scenarioId,
    environment: query.get('environment'),
    reason: query.get('reason'),
    version: version !== null && /^\d{1,10}$/.test(version) ? Number(version) : version,
  })
}
