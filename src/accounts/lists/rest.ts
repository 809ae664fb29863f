import { ACTIONS } from '../../audit/actions.ts'
import type { Fault } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import { momentFault, parseMoment } from '../../base/moment.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { AS_OF, reason } from '../../declare/common.ts'
import { projectId, query, reasonParameter, requiredQuery } from '../../declare/contract.ts'
import { globalId } from '../../declare/global-id.ts'
import type { PlatformRequest, PlatformStream } from '../../declare/route.ts'
import { optional, refuseFaults, shape } from '../../declare/shape.ts'
import { InputSource } from '../../declare/source.ts'
import { exportedPlayer, exportPlayers } from './export-players.ts'
import { checkFilter, filterRequest, searchOf } from './requests.ts'
import { withSegment } from './segments.ts'

const AS_OF_HEADER = 'Tierway-As-Of'
const AUDIT_HEADER = 'Tierway-Audit-Entry'

const exportRequest = shape({ ...filterRequest.fields, reason: optional(reason) })

/** GET /platform/v1/projects/{projectId}/players.ndjson?environment=&…&reason= */
export const getPlayers: PlatformStream = {
  contract: {
    id: 'exportPlayers',
    tag: 'Platform',
    summary:
      'Export players, the newest first, one JSON object a line. When an export fails midway, the connection is closed before the last chunk.',
    answer: exportedPlayer,
    mediaType: 'application/x-ndjson',
    headers: {
      [AS_OF_HEADER]: {
        description: AS_OF,
        schema: { type: 'string', format: 'date-time' },
      },
      [AUDIT_HEADER]: {
        description: 'The id of the entry of the audit log, as `AuditLogEntry.id` of GraphQL.',
        schema: { type: 'string' },
      },
    },
    parameters: [
      projectId,
      ...Object.entries(filterRequest.fields).map(([name, { isRequired, description, schema }]) =>
        (isRequired ? requiredQuery : query)(name, description, schema),
      ),
      reasonParameter,
    ],
  },
  audited: { action: ACTIONS.exportPlayers, target: () => 'players' },
  run: exportMatching,
}

async function exportMatching({ caller, query, service, setHeader }: PlatformRequest) {
  const faults: Fault[] = []
  const sent = valuesOf(query, faults)
  const { reason, ...listed } = exportRequest.gather(new InputSource(sent), faults)
  faults.push(...checkFilter(listed))
  refuseFaults(faults)
  const environmentId = await findEnvironment(service.pool, caller.projectId, listed.environment)
  const asked = await withSegment(service.operatorPool, environmentId, listed)
  const filters: Record<string, Json> = {}
  for (const [name, value] of query) if (name in filterRequest.fields && name !== 'environment') filters[name] ??= value
  const search = () => searchOf(service.run, asked, environmentId)
  const { environment } = asked
  const reader = service.reads.reader(caller.keyId)
  const { auditId, pages } = await exportPlayers(service.operatorPool, reader, {
    caller,
    environmentId,
    search,
    filters,
    environment,
    reason,
  })
  setHeader(AS_OF_HEADER, reader.asOf.toISOString())
  setHeader(AUDIT_HEADER, globalId('AuditLogEntry', auditId))
  return { type: 'application/x-ndjson; charset=utf-8', pages }
}

/**
 * The values of a query string, converted to the types of the fields. A value that cannot be converted stays a text,
 * which the field refuses.
 */
function valuesOf(query: URLSearchParams, faults: Fault[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, { type }] of Object.entries(exportRequest.fields)) {
    const text = query.get(name)
    if (text === null) continue
    if (type === 'Int') values[name] = /^\d{1,9}$/.test(text) ? Number(text) : text
    else if (type === 'Boolean') values[name] = text === 'true' || (text === 'false' ? false : text)
    else if (type !== 'DateTime') values[name] = text
    else {
      values[name] = parseMoment(text)
      if (!values[name]) faults.push({ path: name, message: momentFault(text) })
    }
  }
  return values
}
