import type { Pool } from 'pg'
import type { PlatformCaller } from '../auth/callers.ts'
import { type ExpectedVersion, type Publication, publishScenario, readScenario } from './publish.ts'
import type { ScenarioRef } from './scenarios.ts'

export interface CloneScenario {
  readonly from: ScenarioRef
  /** The name of the source environment, for the audit log. */
  readonly fromEnvironment: string
  /** Null for the current version. */
  readonly version: number | null
  readonly to: ScenarioRef
  /** The version that must be current at the target; null for any. */
  readonly expected: ExpectedVersion | null
  readonly reason: string
}

/**
 * Publishes the text of a version, byte for byte, as the next version of another scenario: in another environment,
 * under another id, or, for an older version, of the same scenario. Refuses as reading and publishing do.
 */
export async function cloneScenario(
  pool: Pool,
  caller: PlatformCaller,
  { from, fromEnvironment: environment, version: wanted, to, expected, reason }: CloneScenario,
): Promise<Publication> {
  // Versions never change, so this text is the published one, whatever is published meanwhile.
  const { definition, version, scenarioId } = await readScenario(pool, from, wanted)
  const source = { environment, scenarioId, version }
  return publishScenario(pool, to, definition.text, { caller, reason, expected, source })
}
