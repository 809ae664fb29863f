import { freeze, thaw } from '../../base/frozen-json.ts'
import type { Json } from '../../base/json.ts'
import type { ClaimRow, NodeInput, PassHandle } from '../../game/battlepass/passes.ts'
import { type Claimable, type ClaimKey, type Granted, tierKey } from '../../game/definition/definition.ts'
import type { Group } from '../../transactions/group.ts'
import type { Undone } from './support-action.ts'

export interface RemovedClaim extends ClaimRow {
  readonly scenarioId: unknown
  readonly nodeId: unknown
}

/** Claims for the audit log. What they granted is text, as it may hold larger integers than JSON readers keep. */
export const shownClaims = (pass: PassHandle, tiers: readonly ClaimKey[]): Json =>
  tiers.flatMap((tier) => {
    const row = pass.askClaimRows().get(tier)
    return row ? [{ level: row.level, track: row.track, runId: row.runId, granted: freeze(row.granted as Json) }] : []
  })

/** The claims that an action removed, from its entry. */
export function removedClaims(undone: Undone | null): readonly RemovedClaim[] {
  const { scenarioId, nodeId, claims } = undone?.before ?? {}
  return ((claims ?? []) as readonly (Claimable & { granted: string; runId: string })[]).map((claim) => ({
    scenarioId,
    nodeId,
    ...claim,
    granted: thaw(claim.granted) as readonly Granted[],
  }))
}

/** Restores claims of a pass, or of one tier of it, that nobody has made again. Returns them. */
export function restoreClaims(
  group: Group,
  pass: PassHandle,
  { scenarioId, nodeId, ...tier }: NodeInput & Partial<Claimable>,
  claims: readonly RemovedClaim[],
): readonly ClaimRow[] {
  const restored = claims.filter(
    (one) =>
      one.scenarioId === scenarioId &&
      one.nodeId === nodeId &&
      (tier.level ?? one.level) === one.level &&
      (tier.track ?? one.track) === one.track &&
      !pass.claimed.includes(tierKey(one.level, one.track)),
  )
  for (const { level, track, runId, granted } of restored) pass.addClaim(group, level, track, runId, granted)
  return restored
}
