import type { Fields } from '../fields.ts'
import { MAX_INT64 } from '../json.ts'
import { TRACKS } from '../scenario/definition.ts'
import { readRunId, readScenarioId } from '../scenario/wire.ts'
import type { AddXp } from './add-xp.ts'
import type { ClaimAll, ClaimTier } from './claim-tier.ts'
import type { NodeInput } from './passes.ts'
import type { PurchasePremium } from './purchase-premium.ts'

/** The label of where xp came from, in characters. */
const MAX_SOURCE = 64
const MAX_KEY = 255

// The requests of spec 2.1. Both edges read them here; the results have the shape of spec 2.2 already.

export function readNodeInput(fields: Fields): NodeInput {
  return { scenarioId: readScenarioId(fields), nodeId: fields.text('nodeId', { max: 128 }) }
}

export function readAddXp(fields: Fields): AddXp {
  return {
    ...readNodeInput(fields),
    runId: readRunId(fields),
    amount: fields.int64('amount', { min: 1n, max: MAX_INT64 }),
    source: fields.text('source', { max: MAX_SOURCE, min: 0 }),
  }
}

export function readClaimTier(fields: Fields): ClaimTier {
  return {
    ...readNodeInput(fields),
    runId: readRunId(fields),
    level: fields.optionalInt32('level', { min: 0 }),
    track: fields.oneOf('track', TRACKS),
  }
}

export function readClaimAll(fields: Fields): ClaimAll {
  return { ...readNodeInput(fields), runId: readRunId(fields) }
}

export function readPurchasePremium(fields: Fields): PurchasePremium {
  return {
    ...readNodeInput(fields),
    runId: readRunId(fields),
    idempotencyKey: readKey(fields),
  }
}

/** An idempotency key: 1 to 255 characters. */
export function readKey(fields: Fields): string | null {
  return fields.optionalText('idempotencyKey', { max: MAX_KEY })
}
