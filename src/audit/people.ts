import type { PlatformCaller } from '../callers/callers.ts'
import { operatorOf } from './audit-log.ts'

/** The person behind a change, as far as it is known. */
export interface Maker {
  readonly keyId: string
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
  /** The person of a sign-in by an issuer. Null, or absent in older records, without one. */
  readonly operatorPerson?: string | null
}

/**
 * Whether a caller is another person than the one who made something. People who signed in by an issuer are
 * distinguished by their ids there, operators with tokens by their names, for which a holder of the key vouches.
 * Anybody else must have another key and no name that is the same.
 */
export function isAnother(caller: PlatformCaller, made: Maker): boolean {
  const { operator, operatorIsClaimed, operatorPerson } = makerOf(caller)
  if (operatorPerson && made.operatorPerson) return operatorPerson !== made.operatorPerson
  const isSameName = operator !== null && made.operator !== null && foldName(operator) === foldName(made.operator)
  const areVouched = operator !== null && made.operator !== null && !operatorIsClaimed && !made.operatorIsClaimed
  return !isSameName && (areVouched || caller.keyId !== made.keyId)
}

export const makerOf = (caller: PlatformCaller): Maker => ({
  keyId: caller.keyId,
  operatorPerson: caller.operator?.person ?? null,
  ...operatorOf(caller),
})

/** A name as people read it: without case, invisible characters, and other forms of the same letters. */
export const foldName = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{C}]/gu, '')
    .replace(/[\p{Z}\s]+/gu, ' ')
    .trim()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')

/** The name of a caller for people: its own, with a mark where nobody vouches for it; else that of its key. */
export function nameOf({ operator, keyId }: PlatformCaller): string {
  if (!operator) return `platform_key:${keyId}`
  return operator.isClaimed ? `${operator.name} (unverified)` : operator.name
}
