import type { Service } from '../../app/service.ts'
import type { Fault } from '../../base/errors.ts'
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
  /** Faults that were found already. */
  readonly faults?: readonly Fault[]
  /** The project of the path, over REST. The caller must be of it. */
  readonly projectId?: string
}

/** The request of REST for a query, which stands in its context in place of arguments. */
export interface RestRead {
  readonly asked: Omit<Incoming, 'access' | 'service'>
}

/**
 * What a query of operators is read with. Refuses a caller without the right first, then a request with its faults, then
 * an environment that the caller's project does not have.
 */
export async function admitRead(
  { right, rightFor, denied, request, check }: OperatorRead,
  { access, service, source, faults = [], projectId }: Incoming,
): Promise<readonly [Asking, Asked<Fields>]> {
  const caller = await requirePlatform(access, rightFor?.(source) ?? right, denied, projectId)
  const read = request.read(source, (values) => [...faults, ...(check?.(values) ?? [])])
  const { environment = null } = read as { readonly environment?: string | null }
  const environmentId = environment && (await findEnvironment(service.pool, caller.projectId, environment))
  return [
    { caller, service },
    { ...read, environmentId },
  ]
}
