import type { PlatformCaller } from '../callers/callers.ts'
import { operatorOf } from './audit-log.ts'

/** The person behind a change, as far as it is known. */
export interface Maker {
  readonly keyId: string
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
}

/**
 * Whether a caller is another person than the one who made something. Operators with tokens are told apart by their
 * names, for which a holder of the key vouches. Anybody else must have another key and no name that is the same.
 */
export function isAnother(caller: PlatformCaller, made: Maker): boolean {
  const { operator, operatorIsClaimed } = operatorOf(caller)
  const isSameName = operator !== null && operator === made.operator
  const areVouched = operator !== null && made.operator !== null && !operatorIsClaimed && !made.operatorIsClaimed
  return !isSameName && (areVouched || caller.keyId !== made.keyId)
}

export const makerOf = (caller: PlatformCaller): Maker => ({ keyId: caller.keyId, ...operatorOf(caller) })

/** The name of a caller for people: its own, with a mark where nobody vouches for it; else that of its key. */
export function nameOf({ operator, keyId }: PlatformCaller): string {
  if (!operator) return `platform_key:${keyId}`
  return operator.isClaimed ? `${operator.name} (unverified)` : operator.name
}
