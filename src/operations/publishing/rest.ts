import type { IncomingHttpHeaders } from 'node:http'
import { ACTIONS } from '../../audit/actions.ts'
import type { Fault } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { answer } from '../../declare/answer.ts'
import { nodeId, requiredKey, runId, scenarioId } from '../../declare/common.ts'
import { header, operatorParameter, query, reasonParameter, scenarioParameters } from '../../declare/contract.ts'
import { readIfMatch } from '../../declare/if-match.ts'
import { noticesOf } from '../../declare/notices.ts'
import { type PlatformHandler, type PlatformRequest, serverCall } from '../../declare/route.ts'
import { described, optional, refuseFaults, shape } from '../../declare/shape.ts'
import { InputSource } from '../../declare/source.ts'
import { definitionBody } from '../../game/definition/body.ts'
import {
  crossForServer,
  crossHandleCall,
  crossHandleRequest,
  REFUSALS_OF_CROSSING,
} from '../../game/runs/cross-handle.ts'
import { findTarget, playerTarget } from '../../players/player-target.ts'
import { findChangeable } from '../calls/role-limits.ts'
import {
  EXAMPLE_VERSION,
  type ExpectedVersion,
  publishedMembers,
  publishedScenario,
  publishScenario,
  readScenario,
} from './publish.ts'
import { putRequest, versionRequest } from './requests.ts'

const publication = answer(
  'The current version after a publication.',
  { ...publishedMembers, notices: noticesOf('Notes for the designer about the definition. Absent without any.') },
  {
    name: 'Publication',
    example: {
      ...EXAMPLE_VERSION,
      notices: [
        {
          path: 'nodes[1].data.tiers[0].reward',
          message: 'is ignored: no rule knows this member; did you mean rewards?',
        },
      ],
    },
  },
)
const headers = {
  ETag: {
    description:
      'The version in quotation marks, such as `"4"`. Send it as `If-Match` to publish over this version only.',
    schema: { type: 'string' },
  },
}

export const getScenario: PlatformHandler = {
  contract: {
    id: 'readScenario',
    tag: 'Platform',
    summary: 'Read the current version of a scenario, or an older one.',
    answer: publishedScenario,
    refusals: ['scenarioNotFound', 'notFound'],
    parameters: [
      ...scenarioParameters,
      query('version', 'An older version.', { type: 'integer', format: 'int32', minimum: 1 }),
    ],
    headers,
  },
  run: get,
}

export const putScenario: PlatformHandler = {
  contract: {
    id: 'publishScenario',
    tag: 'Platform',
    summary: 'Publish a definition as the next version.',
    body: definitionBody,
    answer: publication,
    refusals: ['versionConflict', 'approvalRequired'],
    parameters: [
      ...scenarioParameters,
      reasonParameter,
      operatorParameter,
      header('If-Match', 'Refuses with 412 unless the version with this `ETag` is current; `*` for any version.'),
      header('If-None-Match', '`*` refuses with 412 unless the scenario has no version yet.'),
    ],
    headers,
  },
  audited: { action: ACTIONS.publishScenario, target: ({ scenarioId = '' }) => scenarioId },
  run: put,
}

async function put(request: PlatformRequest): Promise<Json> {
  const { caller, service, setHeader } = request
  const faults: Fault[] = []
  const { environment, scenarioId, reason } = putRequest.gather(parametersOf(request), faults)
  const expected = readExpected(request.headers, faults)
  refuseFaults(faults)
  const environmentId = await findChangeable(service.pool, caller, environment)
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

async function get(request: PlatformRequest): Promise<Json> {
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
  const version = readIfMatch(match, /^[1-9]\d{0,8}$/, faults)
  return { version: version === '*' ? 'any' : Number(version), path: 'If-Match' }
}

function parametersOf({ params, query }: PlatformRequest): InputSource {
  const version = query.get('version')
  return new InputSource({
    scenarioId: params.scenarioId,
    environment: query.get('environment'),
    reason: query.get('reason'),
    version: version !== null && /^\d{1,10}$/.test(version) ? Number(version) : version,
  })
}

const serverCrossRequest = shape(
  {
    player: playerTarget,
    scenarioId,
    runId: optional(described(runId, 'The run. Default: the active run of the player.')),
    nodeId,
    handle: crossHandleRequest.fields.handle,
    idempotencyKey: requiredKey,
  },
  {
    name: 'ServerCrossRequest',
    example: {
      player: { provider: 'custom', subject: 'player-1' },
      scenarioId: 'season-1',
      nodeId: 'boss',
      handle: 'onWin',
      idempotencyKey: 'fight-17',
    },
  },
)

export const serverCrossCall = serverCall({
  request: serverCrossRequest,
  contract: {
    ...crossHandleCall.contract,
    id: 'crossHandleForPlayer',
    tag: 'Game servers',
    summary: 'Cross a handle of an active node for a player, also one that only servers cross.',
    refusals: [...REFUSALS_OF_CROSSING, 'playerNotFound'],
  },
  async run({ caller, input: { player, ...input }, service }) {
    return service.runAs(caller, crossForServer(await findTarget(service.pool, caller.environmentId, player), input))
  },
})
