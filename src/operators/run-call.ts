import type { Service } from '../app/service.ts'
import { writeAudit } from '../audit/audit-log.ts'
import { Refusal } from '../base/errors.ts'
import { type Access, forbid, requirePlatform, UNKNOWN } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Asked, OperatorCall } from '../declare/operator-call.ts'
import type { Fields } from '../declare/shape.ts'
import { findChangeable } from '../roles/role-limits.ts'

const BY_TOKEN = {
  path: 'authorization',
  message:
    'must be a platform key: an operator token makes neither tokens, platform keys, server keys nor single sign-on',
}

export interface Done {
  readonly caller: PlatformCaller
  readonly outcome: object
  /** The entry of the audit log. Null for none. */
  readonly auditId: string | null
}

/**
 * Runs a call of an operator. Refuses a caller without the right before anything is read, then a request with its faults,
 * then a caller whose role only reads in the environment. Refused callers are in the audit log.
 */
export async function runCall(
  call: OperatorCall,
  access: Access & { readonly service: Service },
  sent: Readonly<Record<string, unknown>>,
): Promise<Done> {
  const { service } = access
  const attemptOf = (values: Readonly<Record<string, unknown>>) => ({
    action: call.action,
    target: typeof call.target === 'function' ? call.target(sent) : String(values[call.target]),
  })
  const attempt = attemptOf(sent)
  const right = typeof call.right === 'function' ? call.right(sent) : call.right
  const caller = await requirePlatform(access, right, attempt)
  if (call.keyOnly && caller.expiresAt !== undefined) return forbid(service, caller, attempt, BY_TOKEN)
  const read = call.request.readInput(sent, call.check)
  const { [call.changedIn ?? 'environment']: environment, reason } = read as Readonly<
    Record<string, string | undefined>
  >
  const environmentId =
    environment === undefined || 'findsEnvironment' in call
      ? null
      : await findChangeable(service, caller, attempt, environment)
  const asked: Asked<Fields> = environmentId === null ? read : { ...read, environmentId }
  const asking = { caller, service }
  const also = await call.alsoRight?.(asking, asked)
  if (also !== undefined) await requirePlatform({ ...access, isCounted: true }, also, attempt)

  try {
    if ('act' in call) {
      const { outcome, auditId = null } = await call.act(asking, asked)
      return { caller, outcome, auditId }
    }
    const done = await inTransaction(service.operatorPool, async (client): Promise<Done> => {
      const change = await call.change({ caller, service, client }, asked)
      if (change.target === undefined) return { caller, outcome: change.outcome, auditId: null }
      const { outcome, target, before, after } = change
      const about = { environmentId: change.environmentId ?? environmentId, action: call.action, target }
      return { caller, outcome, auditId: await writeAudit(client, caller, { ...about, before, after, reason }) }
    })
    await call.afterCommit?.(asking)
    return done
  } catch (refusal) {
    // A caller with the right can still be refused, such as one that approves its own job. Its entry has the target as it
    // was read, not as it was sent.
    const isDenied = ({ kind }: Refusal) => kind === 'forbidden' || (call.unknownIsDenied && UNKNOWN.has(kind))
    if (refusal instanceof Refusal && isDenied(refusal)) {
      const { action, target } = attemptOf(read)
      await service.auditDenied(caller, action, target)
    }
    throw refusal
  }
}
