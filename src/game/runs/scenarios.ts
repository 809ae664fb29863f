import { LRUCache } from 'lru-cache'
import { Refusal } from '../../base/errors.ts'
import { type GameClock, gameTimeAt } from '../../base/game-clock.ts'
import { int, json, named, nullable, text, uuid } from '../../transactions/columns.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import { keyOf } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import { type Boost, readBoosts, type StoredBoost } from '../boosts/stored.ts'
import type { Definition, PassNode } from '../definition/definition.ts'
import { parseDefinition } from '../definition/parse.ts'

const scenarios = table('scenarios', {
  owner: null,
  key: { environmentId: uuid, scenarioId: named('id', text) },
  columns: {
    version: int,
    revision: text,
    follows: nullable(json<readonly (readonly [string, string])[]>()),
    boosts: nullable(json<readonly StoredBoost[]>()),
    clock: nullable(json<GameClock>()),
  },
  kind: 'state',
})
const scenarioVersions = table('scenario_versions', {
  owner: null,
  key: { environmentId: uuid, scenarioId: text, version: int },
  columns: { definition: text },
  kind: 'append',
})
const current = scenarios.one({ columns: ['version', 'revision', 'follows', 'boosts', 'clock'] })
const published = scenarioVersions.one({ columns: ['definition'] })

export interface ScenarioRef {
  readonly environmentId: string
  readonly scenarioId: string
}

export interface PassRef extends ScenarioRef {
  readonly nodeId: string
}

export interface Seen {
  readonly version: number
  /** Random, and new with every edit: a restored database repeats version numbers. */
  readonly revision: string
  readonly definition: Definition
  /** The passes whose next season this scenario is. */
  readonly follows: readonly PassRef[]
  /** The boosts that had not ended when one of the environment's was last changed. */
  readonly boosts: readonly Boost[]
  /** The clock of the environment. Null for the real one. */
  readonly clock: GameClock | null
}

const NOTHING: readonly PassRef[] = []
const NO_BOOSTS: readonly Boost[] = []

/** The last seen definition of each scenario. It is only a guess: a group reads the current one, or proves it. */
const lastSeen = new LRUCache<string, Seen>({ max: 500 })

/**
 * The scenarios of a group, each at the version that is current in its transaction: an edit applies at once, on every
 * instance, without a cache to invalidate.
 */
export class Scenarios {
  static readonly stage = 'changes'
  static readonly isProvable = true
  private readonly group: Group
  /** Null for a missing scenario. */
  private readonly current = new Map<string, Seen | null>()
  /** The last one that was found: mostly all calls of a group are of one scenario. */
  private last: { readonly ref: ScenarioRef; readonly seen: Seen | null } | undefined

  constructor(group: Group) {
    this.group = group
  }

  /**
   * The current definition, or null for a missing scenario. While the group waits, it is the last seen definition,
   * from which the command knows what other rows to ask for.
   */
  find(ref: ScenarioRef): Definition | null | undefined {
    const seen = this.see(ref)
    return seen === null ? null : seen?.definition
  }

  /** The passes whose next season this scenario is, as `find`. A publication of one of them changes the revision here. */
  before(ref: ScenarioRef): readonly PassRef[] {
    return this.see(ref)?.follows ?? NOTHING
  }

  /** The boosts of the scenario, as `find`: also those to come. Each change of one changes the revision here. */
  boosts(ref: ScenarioRef): readonly Boost[] {
    return this.see(ref)?.boosts ?? NO_BOOSTS
  }

  /** The clock of the environment, as `find`; null for the real one. Each change of it changes the revision here. */
  clock(ref: ScenarioRef): GameClock | null {
    return this.see(ref)?.clock ?? null
  }

  /** The game's time, by the clock of the environment. While the group waits, it is a guess. */
  now(ref: ScenarioRef): Date {
    const { group } = this
    const clock = this.clock(ref)
    return clock === null ? group.now : new Date(gameTimeAt(clock, group.now.getTime()))
  }

  /** The current version with everything that is beside it, as `find`. */
  see(ref: ScenarioRef): Seen | null | undefined {
    const { environmentId, scenarioId } = ref
    const { last } = this
    if (last && last.ref.scenarioId === scenarioId && last.ref.environmentId === environmentId) return last.seen
    const key = `${environmentId}/${scenarioId}`
    const current = this.current.get(key)
    if (current !== undefined) return this.found(ref, key, current)
    const seen = lastSeen.get(key)
    if (this.group.path === 'memory') return this.rest(ref, key)
    const read = this.read(ref, seen)
    return read === undefined ? seen : this.found(ref, key, read)
  }

  private found(ref: ScenarioRef, key: string, seen: Seen | null): Seen | null {
    this.current.set(key, seen)
    this.last = { ref, seen }
    return seen
  }

  /** The last seen definition, or the one that was just read. The group proves it with its write. */
  private rest(ref: ScenarioRef, key: string): Seen | undefined {
    // The absence of a scenario cannot be proven.
    if (!lastSeen.has(key) && this.read(ref, undefined) === null) this.group.askTransaction()
    const seen = lastSeen.get(key)
    if (!seen) return undefined
    const { environmentId, scenarioId } = ref
    this.group.preconditions.set(key, { table: scenarios.name, environmentId, id: scenarioId, revision: seen.revision })
    this.found(ref, key, seen)
    return seen
  }

  private read({ environmentId, scenarioId }: ScenarioRef, seen: Seen | undefined): Seen | null | undefined {
    const scenario = this.group.unowned.one(current, keyOf(environmentId, scenarioId))
    if (!scenario.isKnown) return undefined
    if (!scenario.value) return null
    const { version, revision, clock } = scenario.value
    if (revision === seen?.revision) return seen
    const stored = this.group.unowned.one(published, keyOf(environmentId, scenarioId, String(version)))
    if (!stored.isKnown) return undefined
    const parsed = parseDefinition(stored.value?.definition ?? '', { isStored: true })
    if (!parsed.ok) throw new Error(`version ${version} of scenario ${scenarioId} does not parse`)
    const follows = (scenario.value.follows ?? []).map(([scenarioId, nodeId]) => ({
      environmentId,
      scenarioId,
      nodeId,
    }))
    const boosts = scenario.value.boosts === null ? NO_BOOSTS : readBoosts(scenario.value.boosts)
    const read = { version, revision, definition: parsed.definition, follows, boosts, clock }
    lastSeen.set(`${environmentId}/${scenarioId}`, read)
    return read
  }
}

export function requireScenario(definition: Definition | null | undefined): Definition {
  if (!definition) throw new Refusal('scenarioNotFound')
  return definition
}

/** The current version; null for a missing scenario. */
export function currentDefinition(ref: ScenarioRef): Command<Definition | null> {
  return {
    engine: 'reads',
    *decide(group) {
      return (yield* group.rows(() => group.of(Scenarios).find(ref))) ?? null
    },
  }
}

/** A battle pass of the current version; null when that has none. */
export function currentPass(ref: PassRef): Command<PassNode | null> {
  return {
    engine: 'reads',
    *decide(group) {
      const node = (yield* group.rows(() => group.of(Scenarios).find(ref)))?.nodes.get(ref.nodeId)
      return node?.type === 'battle-pass' ? node : null
    },
  }
}
