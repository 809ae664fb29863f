import type { Service } from '../../app/service.ts'
import { type Audited, writeAudit } from '../../audit/audit-log.ts'
import { type Fault, Refusal, type RefusalKind } from '../../base/errors.ts'
import { type Access, type AttemptedAction, noteDenied, requirePlatform, UNKNOWN } from '../../callers/access.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { hasRight } from '../../callers/roles.ts'
import type { Asked, Asking, OperatorCall } from '../../declare/operator-call.ts'
import type { Fields, RequestOf, Shape } from '../../declare/shape.ts'
import { InputSource, type Source } from '../../declare/source.ts'
import { findChangeable } from './role-limits.ts'

const BY_TOKEN = {
  path: 'authorization',
  message:
    'must be a platform key: an operator token makes neither tokens, platform keys, server keys nor single sign-on',
}

interface Admission {
  readonly access: Access
  readonly service: Service
  /** The project that the request names, which must be the caller's. */
  readonly projectId?: string
}

interface Incoming extends Admission {
  readonly source: Source
  /** Those of the request that were found already. */
  readonly faults?: readonly Fault[]
}

/**
 * Refuses a caller without the right, or with a token where only a key will do. Refused callers are in the audit log.
 * Without a source, nothing of the request is known.
 */
export async function admit(
  call: OperatorCall,
  { access, service, projectId }: Admission,
  source: Source = new InputSource({}),
): Promise<PlatformCaller> {
  const attempt = attemptOf(call, (name) => source.value(name))
  const caller = await requirePlatform(access, call.rightFor?.(source) ?? call.right, attempt, projectId)
  if (!call.keyOnly || caller.expiresAt === undefined) return caller
  await service.auditDenied(caller, attempt.action, attempt.target)
  throw new Refusal('forbidden', { faults: [BY_TOKEN] })
}

/**
 * Runs a call of an operator and returns the value of its payload. Refuses a caller without the right first, then a
 * request with its faults, then a caller whose role only reads in the environment.
 */
export async function runCall(call: OperatorCall, incoming: Incoming): Promise<object> {
  const { service, source, faults = [] } = incoming
  const caller = await admit(call, incoming, source)
  const read = call.request.read(source, (values) => [...faults, ...(call.check?.(values) ?? [])])
  // A caller with the right can still be refused, such as one that approves its own job.
  const denied: readonly RefusalKind[] = call.unknownIsDenied ? ['forbidden', ...UNKNOWN] : ['forbidden']
  return noteDenied(
    service,
    caller,
    attemptOf(call, (name) => (read as Readonly<Record<string, unknown>>)[name]),
    denied,
    () => runRead(call, { caller, service }, read),
  )
}

/** An attempt, as the audit log has it. Ids are without the type of their global form. */
function attemptOf({ action, target, request }: OperatorCall, memberOf: (name: string) => unknown): AttemptedAction {
  if (typeof target !== 'string') return { action, target: target.word }
  const member = memberOf(target)
  const value = typeof member === 'string' ? member : ''
  return { action, target: request.fields[target]?.type === 'ID' ? value.replace(/^.*[:/]/, '') : value }
}

/** Runs a call whose request was read. */
async function runRead(call: OperatorCall, asking: Asking, read: RequestOf<Shape<Fields>>): Promise<object> {
  const { caller, service } = asking
  const { reason = null, ...named } = read as { readonly reason?: string | null }
  const environment = (named as Readonly<Record<string, string | undefined>>)[call.changedIn ?? 'environment']
  const environmentId =
    environment === undefined || 'findsEnvironment' in call
      ? null
      : await findChangeable(service.pool, caller, environment)
  const asked: Asked<Fields> = environmentId === null ? read : { ...read, environmentId }
  const also = await call.alsoRight?.(asking, asked)
  if (also !== undefined && !hasRight(caller.role, also)) throw new Refusal('forbidden')

  if ('act' in call) {
    const { outcome, auditId = null } = await call.act(asking, asked)
    return payloadOf(caller, outcome, auditId)
  }
  const done = await service.transact(async ({ client, db }): Promise<object> => {
    const change = await call.change({ caller, service, client, db }, asked)
    if (change.target === undefined) return payloadOf(caller, change.outcome, null)
    const { outcome, target, before, after } = change
    const about = { environmentId: change.environmentId ?? environmentId, action: call.action, target }
    return payloadOf(caller, outcome, await writeAudit(client, caller, { ...about, before, after, reason }))
  })
  await call.afterCommit?.(asking)
  return done
}

/** The value of a payload: the outcome of a call, and its entry in the audit log. */
function payloadOf({ projectId }: PlatformCaller, outcome: object, auditId: string | null): object & Audited {
  return { ...outcome, audit: auditId === null ? null : { projectId, id: auditId } }
}
