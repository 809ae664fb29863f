import { LRUCache } from 'lru-cache'
import { PART_ORDER, type Part, type Row, type Statement } from '../commit/group.ts'
import { Refusal } from '../errors.ts'
import { type Definition, parseDefinition } from './definition.ts'

export interface ScenarioRef {
  readonly environmentId: string
  readonly scenarioId: string
}

const scenarioKey = ({ environmentId, scenarioId }: ScenarioRef): string => `${environmentId}/${scenarioId}`
const versionKey = (ref: ScenarioRef, version: number): string => `${version}/${scenarioKey(ref)}`

// A published version never changes, so parsed definitions may be kept as long as there is room.
const definitions = new LRUCache<string, Definition>({ max: 500 })
// The version that was current when last seen: only a guess of what to load, checked against the database each time.
const lastSeen = new LRUCache<string, number>({ max: 10_000 })

/**
 * The scenarios of a group, each at the version that is current in this transaction: an edit counts at once, on every
 * instance, with no cache to invalidate.
 */
export class Scenarios implements Part {
  static readonly order = PART_ORDER.scenarios
  private readonly wanted = new Map<string, ScenarioRef>()
  private readonly current = new Map<string, number | undefined>()
  private readonly missing = new Map<string, ScenarioRef & { version: number }>()
  private readonly loaded = new Map<string, Definition>()

  want(ref: ScenarioRef): void {
    if (!this.current.has(scenarioKey(ref))) this.wanted.set(scenarioKey(ref), ref)
  }

  /** What is known so far: the current definition once it is loaded, the last one seen before that. */
  expected(ref: ScenarioRef): Definition | undefined {
    const key = scenarioKey(ref)
    const version = this.current.get(key) ?? lastSeen.get(key)
    if (version === undefined) return undefined
    return this.loaded.get(key) ?? definitions.get(versionKey(ref, version))
  }

  require(ref: ScenarioRef): Definition {
    const definition = this.loaded.get(scenarioKey(ref))
    if (!definition) throw new Refusal('scenarioNotFound')
    return definition
  }

  load(): Statement[] {
    const statements: Statement[] = []
    if (this.wanted.size > 0) {
      const refs = [...this.wanted.values()]
      for (const key of this.wanted.keys()) this.current.set(key, undefined)
      this.wanted.clear()
      statements.push({
        name: 'scenarios-load',
        text: `SELECT s.environment_id, s.id, s.version
          FROM unnest($1::uuid[], $2::text[]) AS k(environment_id, id) CROSS JOIN LATERAL (
            SELECT * FROM scenarios s WHERE s.environment_id = k.environment_id AND s.id = k.id LIMIT 1
          ) s`,
        values: [refs.map((ref) => ref.environmentId), refs.map((ref) => ref.scenarioId)],
        take: (rows) => this.takeVersions(rows),
      })
    }
    if (this.missing.size > 0) {
      const refs = [...this.missing.values()]
      this.missing.clear()
      statements.push({
        name: 'definitions-load',
        text: `SELECT v.environment_id, v.scenario_id, v.version, v.definition
          FROM unnest($1::uuid[], $2::text[], $3::int[]) AS k(environment_id, scenario_id, version)
          JOIN scenario_versions v USING (environment_id, scenario_id, version)`,
        values: [
          refs.map((ref) => ref.environmentId),
          refs.map((ref) => ref.scenarioId),
          refs.map((ref) => ref.version),
        ],
        take: (rows) => this.takeDefinitions(rows),
      })
    }
    return statements
  }

  save(): Statement[] {
    return []
  }

  private takeVersions(rows: Row[]): void {
    for (const [environmentId, scenarioId, version] of rows) {
      const ref = { environmentId, scenarioId }
      this.current.set(scenarioKey(ref), version)
      lastSeen.set(scenarioKey(ref), version)
      const definition = definitions.get(versionKey(ref, version))
      if (definition) this.loaded.set(scenarioKey(ref), definition)
      else this.missing.set(scenarioKey(ref), { ...ref, version })
    }
  }

  private takeDefinitions(rows: Row[]): void {
    for (const [environmentId, scenarioId, version, text] of rows) {
      const parsed = parseDefinition(text)
      if (!parsed.ok) throw new Error(`version ${version} of scenario ${scenarioId} does not parse`)
      const ref = { environmentId, scenarioId }
      definitions.set(versionKey(ref, version), parsed.definition)
      this.loaded.set(scenarioKey(ref), parsed.definition)
    }
  }
}
