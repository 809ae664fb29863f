import type { IncomingHttpHeaders } from 'node:http'
import type { Fields } from '../fields.ts'
import type { PlayerHandler } from '../http/route.ts'
import { addXp } from './add-xp.ts'
import { claimTier } from './claim-tier.ts'
import { purchasePremium } from './purchase-premium.ts'
import { readProgress } from './read-progress.ts'
import { readAddXp, readClaimTier, readKey, readNodeInput, readPurchasePremium } from './wire.ts'

/** POST /sdk/v1/battlepass/progress (spec 4.1) */
export const postProgress: PlayerHandler = ({ caller, fields, service }) =>
  service.run(readProgress(caller, fields.read(readNodeInput)))

/** POST /sdk/v1/battlepass/xp (spec 4.1) */
export const postXp: PlayerHandler = ({ caller, fields, headers, service }) =>
  service.run(addXp(caller, readKeyed(fields, headers, readAddXp)))

/** POST /sdk/v1/battlepass/claim (spec 4.1) */
export const postClaim: PlayerHandler = ({ caller, fields, headers, service }) =>
  service.run(claimTier(caller, readKeyed(fields, headers, readClaimTier)))

/** POST /sdk/v1/battlepass/premium (spec 4.1) */
export const postPremium: PlayerHandler = ({ caller, fields, service }) =>
  service.run(purchasePremium(caller, fields.read(readPurchasePremium)))

/** Reads a request whose optional key is the header `Idempotency-Key`, so that one answer names all their faults. */
function readKeyed<T>(fields: Fields, headers: IncomingHttpHeaders, read: (fields: Fields) => T) {
  return fields
    .with('idempotencyKey', headerText(headers['idempotency-key']))
    .read((all) => ({ ...read(all), idempotencyKey: readKey(all) }))
}

const headerText = (value: string | string[] | undefined): string | null => (value === undefined ? null : String(value))
