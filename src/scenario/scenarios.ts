import { LRUCache } from 'lru-cache'
import { PART_ORDER, type Part, type Statement, Wanted } from '../commit/group.ts'
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
  private readonly wanted = new Wanted<ScenarioRef>()
  private readonly current = new Map<string, number>()
  private readonly missing = new Wanted<ScenarioRef & { version: number }>()
  private readonly loaded = new Map<string, Definition>()

  want(ref: ScenarioRef): void {
    this.wanted.want(scenarioKey(ref), ref)
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
    const versions = this.wanted.read({
      name: 'scenarios-load',
      text: `SELECT k.n::int, s.version
        FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS k(environment_id, id, n) CROSS JOIN LATERAL (
          SELECT version FROM scenarios s WHERE s.environment_id = k.environment_id AND s.id = k.id LIMIT 1
        ) s`,
      columns: ['environmentId', 'scenarioId'],
      take: (key, [, version], ref) => this.takeVersion(key, version, ref),
    })
    const texts = this.missing.read({
      name: 'definitions-load',
      text: `SELECT k.n::int, v.definition
        FROM unnest($1::uuid[], $2::text[], $3::int[]) WITH ORDINALITY AS k(environment_id, scenario_id, version, n)
        CROSS JOIN LATERAL (
          SELECT definition FROM scenario_versions v WHERE v.environment_id = k.environment_id
            AND v.scenario_id = k.scenario_id AND v.version = k.version LIMIT 1
        ) v`,
      columns: ['environmentId', 'scenarioId', 'version'],
      take: (key, [, text], ref) => this.takeDefinition(key, text, ref),
    })
    return [...versions, ...texts]
  }

  save(): Statement[] {
    return []
  }

  private takeVersion(key: string, version: number, ref: ScenarioRef): void {
    this.current.set(key, version)
    lastSeen.set(key, version)
    const definition = definitions.get(versionKey(ref, version))
    if (definition) this.loaded.set(key, definition)
    else this.missing.want(key, { ...ref, version })
  }

  private takeDefinition(key: string, text: string, ref: ScenarioRef & { version: number }): void {
    const parsed = parseDefinition(text)
    if (!parsed.ok) throw new Error(`version ${ref.version} of scenario ${ref.scenarioId} does not parse`)
    definitions.set(versionKey(ref, ref.version), parsed.definition)
    this.loaded.set(key, parsed.definition)
  }
}
