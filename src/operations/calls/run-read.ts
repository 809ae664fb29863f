import type { Service } from '../../app/service.ts'
import { type Access, requirePlatform } from '../../callers/access.ts'
import { findEnvironment } from '../../callers/projects.ts'
import type { Asked, Asking } from '../../declare/operator-call.ts'
import type { OperatorRead } from '../../declare/operator-read.ts'
import type { Fields } from '../../declare/shape.ts'
import type { Source } from '../../declare/source.ts'

interface Incoming {
  readonly access: Access
  readonly service: Service
  readonly source: Source
}

/**
 * What a query of operators is read with. Refuses a caller without the right first, then a request with its faults, then
 * an environment that the caller's project does not have.
 */
export async function admitRead(
  { right, rightFor, denied, request, check }: OperatorRead,
  { access, service, source }: Incoming,
): Promise<readonly [Asking, Asked<Fields>]> {
  const caller = await requirePlatform(access, rightFor?.(source) ?? right, denied)
  const read = request.read(source, check)
  const { environment = null } = read as { readonly environment?: string | null }
  const environmentId = environment && (await findEnvironment(service.pool, caller.projectId, environment))
  return [
    { caller, service },
    { ...read, environmentId },
  ]
}
