import type { Service } from '../app/service.ts'
import { MAX_OPERATOR_TOKEN_SECONDS } from '../base/limits.ts'
import { findPlatformCaller } from '../callers/keys.ts'
import { issueOperatorToken } from '../project/projects/manage-keys.ts'
import type { Demo } from './seed.ts'

/**
 * The address of the console for the demo project, signed in already. Browsers do not send the fragment with the token,
 * and the console removes it from the history. Undefined when the demo's key was revoked.
 */
export async function consoleLink(
  service: Pick<Service, 'pool' | 'operatorPool' | 'tokens'>,
  { platformKey, baseUrl }: Demo,
): Promise<string | undefined> {
  const caller = await findPlatformCaller(service.pool, platformKey).catch(() => undefined)
  if (!caller) return undefined
  const { token } = await issueOperatorToken(service, caller, {
    role: caller.role,
    seconds: MAX_OPERATOR_TOKEN_SECONDS,
    actor: 'developer',
    reason: 'the link to the console that the start prints',
  })
  return `${baseUrl}/console#token=${token}`
}
