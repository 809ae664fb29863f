import type { Definition, ScenarioId } from './definitions.ts'
import type { Answer, Request } from './model.ts'

/** One call of a history, as its caller saw it. Times are milliseconds of one clock. */
export interface Call {
  readonly id: number
  /** Which instance was called. */
  readonly on: string
  readonly player: number
  readonly request: Request
  readonly invoked: number
  /** Infinity until it is answered, and always when its outcome is unknown. */
  answered: number
  /** Undefined while the outcome is unknown: the call took effect at any time since, or never will. */
  answer: Answer | undefined
  /** What the books show of a call whose outcome its caller does not know. */
  effect: 'once' | 'never' | 'perhaps'
  /** When its write was committed, by the database's clock, where that is known: writes of a player are in this order. */
  committed?: number
}

/** A version of a scenario, and when it may have been the current one. */
export interface Version {
  readonly scenario: ScenarioId
  readonly definition: Definition
  readonly from: number
  readonly until: number
}

/** The definitions that were current at some moment of a call. */
export function definitionsOf(
  versions: readonly Version[],
  scenario: ScenarioId | undefined,
  { invoked, answered }: Pick<Call, 'invoked' | 'answered'>,
): readonly (Definition | undefined)[] {
  if (scenario === undefined) return [undefined]
  return versions
    .filter((version) => version.scenario === scenario && version.from <= answered && version.until >= invoked)
    .map(({ definition }) => definition)
}

/** A publication, as its caller saw it. */
export interface Edit {
  readonly scenario: ScenarioId
  readonly definition: Definition
  readonly invoked: number
  /** Infinity when the answer was lost. */
  answered: number
  version: number | undefined
}

export interface StoredVersion {
  readonly scenario: ScenarioId
  readonly version: number
  readonly definition: Definition
}

/**
 * When each version may have been current: from the call that published it until the call that published the next one
 * was answered. A version that is not stored any more was lost in a restore, and may have been current until then.
 * Throws when this is contradictory, as publications are linearizable themselves.
 */
export function versionsOf(
  stored: readonly StoredVersion[],
  edits: readonly Edit[],
  restored = Number.NEGATIVE_INFINITY,
): Version[] {
  const rowOf = ({ scenario, definition: { name } }: Edit) =>
    stored.find((row) => row.scenario === scenario && row.definition.name === name)
  const kept = edits.flatMap((edit) => {
    const row = rowOf(edit)
    if (row && edit.version !== undefined && row.version !== edit.version) {
      throw new Error(`version ${edit.version} of ${edit.scenario} was answered, and ${row.version} was stored`)
    }
    return row ? [{ ...edit, version: row.version }] : []
  })
  const lost = edits.filter((edit) => !rowOf(edit))
  for (const { scenario, version, invoked } of lost) {
    if (version !== undefined && invoked > restored) {
      throw new Error(`version ${version} of ${scenario} was answered, and is not stored`)
    }
  }
  for (const earlier of kept) {
    for (const later of kept) {
      if (earlier.scenario === later.scenario && earlier.answered < later.invoked && earlier.version >= later.version) {
        throw new Error(`version ${later.version} was published after version ${earlier.version} had been answered`)
      }
    }
  }
  return [
    ...stored.map(({ scenario, version, definition }) => {
      const ofScenario = kept.filter((edit) => edit.scenario === scenario)
      const until = ofScenario.filter((edit) => edit.version > version).map(({ answered }) => answered)
      const from = ofScenario.filter((edit) => edit.version <= version).map(({ invoked }) => invoked)
      return { scenario, definition, from: Math.max(...from), until: Math.min(...until) }
    }),
    ...lost.map(({ scenario, definition, invoked }) => ({ scenario, definition, from: invoked, until: restored })),
  ]
}

export function describeCall({ id, on, player, request, invoked, answered, answer, effect }: Call, began = 0): string {
  const { kind, ...more } = request
  const asked = request.kind === 'restore' ? '' : JSON.stringify(more)
  const unknown = {
    once: 'unknown, but it took effect',
    never: 'unknown, and had no effect',
    perhaps: 'not known, or not yet',
  }
  const came = answer === undefined ? unknown[effect] : request.kind === 'books' ? '' : JSON.stringify(answer)
  const time = (at: number) => (Number.isFinite(at) ? (at - began).toFixed(1) : '…').padStart(7)
  return `${time(invoked)} – ${time(answered)}  #${id} player ${player} on ${on}: ${kind} ${asked} → ${came}`
}
