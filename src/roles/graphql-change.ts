import { type AttemptedAction, requirePlatform } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import type { Right } from '../callers/roles.ts'
import type { Context } from '../declare/graphql/context.ts'
import { findChangeable } from './role-limits.ts'

interface ReadChange<Asked> {
  readonly caller: PlatformCaller
  readonly asked: Asked & { readonly environmentId: string }
}

/**
 * The caller that changes something in an environment, and its request. Refuses a caller without the right before
 * anything is read, and one whose role only reads in the environment; both attempts are in the audit log.
 */
export async function readChange<Asked extends { readonly environment: string }>(
  context: Context,
  right: Right,
  attempt: AttemptedAction,
  read: () => Asked,
): Promise<ReadChange<Asked>> {
  const caller = await requirePlatform(context, right, attempt)
  const asked = read()
  const environmentId = await findChangeable(context.service, caller, attempt, asked.environment)
  return { caller, asked: { ...asked, environmentId } }
}
