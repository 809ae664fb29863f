import type { Service } from '../app/service.ts'
import { writeAudit } from '../audit/audit-log.ts'
import { Refusal } from '../base/errors.ts'
import { type Access, requirePlatform } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Asked, OperatorCall } from '../declare/operator-call.ts'
import type { Fields } from '../declare/shape.ts'
import { findChangeable } from '../roles/role-limits.ts'

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
  const target = typeof call.target === 'function' ? call.target(sent) : String(sent[call.target])
  const attempt = { action: call.action, target }
  const right = typeof call.right === 'function' ? call.right(sent) : call.right
  const caller = await requirePlatform(access, right, attempt)
  const read = call.request.readInput(sent, call.check)
  const { environment, reason } = read as { readonly environment?: string; readonly reason?: string | null }
  const environmentId = environment === undefined ? null : await findChangeable(service, caller, attempt, environment)
  const asked: Asked<Fields> = { ...read, environmentId }
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
    // The caller has the right, and may not do this, such as approve what it made. The target is as it was read.
    if (refusal instanceof Refusal && refusal.kind === 'forbidden') {
      const target = typeof call.target === 'function' ? attempt.target : String(read[call.target])
      await service.auditDenied(caller, call.action, target)
    }
    throw refusal
  }
}
