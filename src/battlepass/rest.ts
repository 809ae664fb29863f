import { Fields } from '../fields.ts'
import type { PlayerHandler } from '../http/route.ts'
import { readAddXp, readClaimTier, readKey, readNodeInput, readPurchasePremium } from './wire.ts'

/** POST /sdk/v1/battlepass/progress (spec 4.1) */
export const postProgress: PlayerHandler = ({ caller, fields, operations }) =>
  operations.readProgress(caller, fields.read(readNodeInput))

/** POST /sdk/v1/battlepass/xp (spec 4.1) */
export const postXp: PlayerHandler = ({ caller, fields, headers, operations }) =>
  operations.addXp(caller, { ...fields.read(readAddXp), idempotencyKey: headerKey(headers) })

/** POST /sdk/v1/battlepass/claim (spec 4.1) */
export const postClaim: PlayerHandler = ({ caller, fields, headers, operations }) =>
  operations.claimTier(caller, { ...fields.read(readClaimTier), idempotencyKey: headerKey(headers) })

/** POST /sdk/v1/battlepass/premium (spec 4.1) */
export const postPremium: PlayerHandler = ({ caller, fields, operations }) =>
  operations.purchasePremium(caller, fields.read(readPurchasePremium))

/** The optional `Idempotency-Key` header. */
function headerKey(headers: Headers): string | null {
  const key = headers.get('idempotency-key')
  return Fields.ofInput({ idempotencyKey: key }).read(readKey)
}
