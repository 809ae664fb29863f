import { LRUCache } from 'lru-cache'
import type { Group, Part } from '../commit/group.ts'
import type { Row, Statement } from '../commit/statement.ts'
import { arrayOf, int, text, uuid } from '../commit/table.ts'
import { Refusal } from '../errors.ts'
import { type Definition, parseDefinition } from './definition.ts'

export interface ScenarioRef {
  readonly environmentId: string
  readonly scenarioId: string
}

interface Seen {
  /** Random, and another one with every edit: a restored database gives the numbers of versions again. */
  readonly revision: string
  readonly definition: Definition
}

interface Current {
  readonly version: number
  readonly revision: string
}

/** Each scenario as it was last seen. It is only a guess: a group reads which one is current, or proves it. */
const lastSeen = new LRUCache<string, Seen>({ max: 500 })

/**
 * The scenarios of a group, each at the version that is current in its transaction: an edit counts at once, on every
 * instance, with no cache to invalidate.
 */
export class Scenarios implements Part {
  static readonly stage = 'changes'
  static readonly isProvable = true
  private readonly group: Group
  /** Null for a scenario that is not there. */
  private readonly current = new Map<string, Definition | null>()
  private readonly asked = new Map<string, ScenarioRef>()
  private readonly missing = new Map<string, ScenarioRef & Current>()

  constructor(group: Group) {
    this.group = group
  }

  /**
   * The current definition, or null when there is no such scenario. While the group waits for it, the one that was last
   * seen: by it the other rows can be named.
   */
  find(ref: ScenarioRef): Definition | null | undefined {
    const { environmentId, scenarioId } = ref
    const key = `${environmentId}/${scenarioId}`
    const current = this.current.get(key)
    if (current !== undefined) return current
    const seen = lastSeen.get(key)
    if (this.group.mode !== 'proves' || !seen) {
      this.group.waits = true
      if (!this.missing.has(key)) this.asked.set(key, ref)
      return seen?.definition
    }
    this.group.premises.set(key, { table: 'scenarios', environmentId, id: scenarioId, revision: seen.revision })
    this.current.set(key, seen.definition)
    return seen.definition
  }

  load(): Statement[] {
    return [...this.readVersions(), ...this.readDefinitions()]
  }

  private readVersions(): Statement[] {
    if (this.asked.size === 0) return []
    const asked = [...this.asked]
    this.asked.clear()
    return [
      {
        name: 'scenarios-read',
        text: `SELECT k.n::int, s.version, s.revision
          FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS k(environment_id, id, n) CROSS JOIN LATERAL (
            SELECT version, revision FROM scenarios s WHERE s.environment_id = k.environment_id AND s.id = k.id LIMIT 1
          ) s`,
        values: [
          arrayOf(asked, ([, ref]) => uuid.encode(ref.environmentId)),
          arrayOf(asked, ([, ref]) => text.encode(ref.scenarioId)),
        ],
        take: (rows: Row[]) => {
          const found = new Map<number, Current>(rows.map(([n, version, revision]) => [n, { version, revision }]))
          for (const [index, [key, ref]] of asked.entries()) {
            const current = found.get(index + 1)
            const seen = lastSeen.get(key)
            if (current === undefined) this.current.set(key, null)
            else if (current.revision === seen?.revision) this.current.set(key, seen.definition)
            else this.missing.set(key, { ...ref, ...current })
          }
        },
      },
    ]
  }

  private readDefinitions(): Statement[] {
    if (this.missing.size === 0) return []
    const missing = [...this.missing]
    this.missing.clear()
    return [
      {
        name: 'definitions-read',
        text: `SELECT k.n::int, v.definition
          FROM unnest($1::uuid[], $2::text[], $3::int[]) WITH ORDINALITY AS k(environment_id, scenario_id, version, n)
          CROSS JOIN LATERAL (
            SELECT definition FROM scenario_versions v WHERE v.environment_id = k.environment_id
              AND v.scenario_id = k.scenario_id AND v.version = k.version LIMIT 1
          ) v`,
        values: [
          arrayOf(missing, ([, ref]) => uuid.encode(ref.environmentId)),
          arrayOf(missing, ([, ref]) => text.encode(ref.scenarioId)),
          arrayOf(missing, ([, ref]) => int.encode(ref.version)),
        ],
        take: (rows: Row[]) => {
          for (const [n, definition] of rows) {
            const entry = missing[n - 1]
            if (entry) this.hold(...entry, definition)
          }
        },
      },
    ]
  }

  private hold(key: string, { scenarioId, version, revision }: ScenarioRef & Current, definition: string): void {
    const parsed = parseDefinition(definition)
    if (!parsed.ok) throw new Error(`version ${version} of scenario ${scenarioId} does not parse`)
    lastSeen.set(key, { revision, definition: parsed.definition })
    this.current.set(key, parsed.definition)
  }
}

/** Refuses a scenario that is not there. */
export function requireScenario(definition: Definition | null | undefined): Definition {
  if (!definition) throw new Refusal('scenarioNotFound')
  return definition
}
