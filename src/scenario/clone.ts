import type { Pool } from 'pg'
import type { PlatformCaller } from '../auth/callers.ts'
import { type ExpectedVersion, type Publication, publishScenario, readScenario } from './publish.ts'
import type { ScenarioRef } from './scenarios.ts'

export interface CloneScenario {
  readonly from: ScenarioRef
  /** The name of the environment that it is cloned from, for the audit log. */
  readonly fromEnvironment: string
  /** The current one when null. */
  readonly version: number | null
  readonly to: ScenarioRef
  /** The version that must be current where it is published; null for any. */
  readonly expected: ExpectedVersion | null
  readonly reason: string
}

/**
 * Publishes the text of a version, byte for byte, as the next version of another scenario: in another environment, under
 * another id, or, with an older version of its own, of the same one. Refuses as reading and publishing do.
 */
export async function cloneScenario(
  pool: Pool,
  caller: PlatformCaller,
  { from, fromEnvironment: environment, version: wanted, to, expected, reason }: CloneScenario,
): Promise<Publication> {
  // Versions never change, so what is read here is what is published, whatever is published meanwhile.
  const { definition, version, scenarioId } = await readScenario(pool, from, wanted)
  const source = { environment, scenarioId, version }
  return publishScenario(pool, to, definition.text, { caller, reason, expected, source })
}
