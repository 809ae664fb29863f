import { elements, kindOf, members, readInt } from '../../base/json.ts'
import { memberPath } from '../../declare/document/reader.ts'
import { areSameOffers, type Definition, type Node, nextNodes, type PassNode, typeOf } from './definition.ts'
import { parseDefinition } from './parse.ts'

// The difference between two versions of a scenario. Pure. Texts are compared by raw values, so that a number too long
// for a double counts as written. Whitespace, the order of members and the escapes of a string do not count.

/** A changed value: JSON text as published; null where there is no value. */
export interface ValueChange {
  /** Such as `data.offer.sizes[2]`. Levels and tiers of a pass are named by their keys: `data.levels[level=5].xp`. */
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

export interface DiffedNode {
  readonly nodeId: string
  readonly type: string
  /** The node as JSON text, as published. */
  readonly text: string
}

export interface ChangedNode {
  readonly nodeId: string
  readonly typeBefore: string
  readonly typeAfter: string
  /** Every changed value of the node. Empty for a pass whose tiers changed only through its level nodes. */
  readonly changes: readonly ValueChange[]
  readonly before: Node
  readonly after: Node
}

export interface Edge {
  readonly from: string
  readonly handle: string
  readonly to: string
}

export interface ScenarioDiff {
  /** Whether the texts are equal, byte for byte. False even for a change of whitespace. */
  readonly isSameText: boolean
  /** Changes outside of nodes and edges: the name, the start, and members that the service does not know. */
  readonly changes: readonly ValueChange[]
  readonly nodesAdded: readonly DiffedNode[]
  readonly nodesRemoved: readonly DiffedNode[]
  readonly nodesChanged: readonly ChangedNode[]
  readonly edgesAdded: readonly Edge[]
  readonly edgesRemoved: readonly Edge[]
  /** Edges with changes in members that the service does not know. */
  readonly edgesChanged: readonly (Edge & { readonly changes: readonly ValueChange[] })[]
  /** Handles whose target nodes are entered in another order, each with all of its targets. */
  readonly edgesReordered: readonly {
    readonly from: string
    readonly handle: string
    readonly before: readonly string[]
    readonly after: readonly string[]
  }[]
  /** Some of the `changes` were left out. Every changed node and edge is listed. */
  readonly hasMoreChanges: boolean
}

/** The most changed values that are listed, in all. */
export const MAX_CHANGES = 2_000

export function diffScenarios(before: string, after: string): ScenarioDiff {
  const comparison = new Comparison()
  const [one, two] = [readScenario(before), readScenario(after)]
  const changes = comparison.of(one.rest, two.rest)

  const nodesChanged = [...two.nodes].flatMap(([nodeId, text]): ChangedNode[] => {
    const old = one.nodes.get(nodeId)
    const [nodeBefore, nodeAfter] = [one.definition.nodes.get(nodeId), two.definition.nodes.get(nodeId)]
    if (old === undefined || !nodeBefore || !nodeAfter) return []
    const isPass = nodeBefore.type === 'battle-pass' && nodeAfter.type === 'battle-pass'
    const values = comparison.of(members(old), members(text), isPass ? passKey : undefined)
    // The tiers of a pass also change through its level nodes.
    const differ = values !== undefined || (isPass && !areSameTiers(nodeBefore.tiers, nodeAfter.tiers))
    if (!differ) return []
    const types = { typeBefore: typeOf(nodeBefore), typeAfter: typeOf(nodeAfter) }
    return [{ nodeId, ...types, changes: values ?? [], before: nodeBefore, after: nodeAfter }]
  })
  const edgesChanged = [...two.edges].flatMap(([key, { edge, rest }]) => {
    const values = comparison.of(one.edges.get(key)?.rest ?? rest, rest)
    return values ? [{ ...edge, changes: values }] : []
  })

  return {
    isSameText: before === after,
    changes: changes ?? [],
    nodesAdded: without(two, one),
    nodesRemoved: without(one, two),
    nodesChanged,
    edgesAdded: edgesWithout(two, one),
    edgesRemoved: edgesWithout(one, two),
    edgesChanged,
    edgesReordered: reordered(one, two),
    hasMoreChanges: comparison.hasMore,
  }
}

type Members = ReadonlyMap<string, string>

interface ScenarioText {
  readonly definition: Definition
  /** Raw text by id. */
  readonly nodes: Members
  readonly edges: ReadonlyMap<string, { readonly edge: Edge; readonly rest: Members }>
  readonly rest: Members
}

function readScenario(text: string): ScenarioText {
  const parsed = parseDefinition(text, { isStored: true })
  if (!parsed.ok) throw new Error('a published version of a scenario does not parse')
  const scenario = members(text)
  return {
    definition: parsed.definition,
    nodes: new Map(elements(scenario.get('nodes') ?? '').map((raw) => [stringAt(members(raw), 'id'), raw])),
    edges: new Map(elements(scenario.get('edges') ?? '').map((raw) => readEdge(members(raw)))),
    rest: omit(scenario, ['nodes', 'edges']),
  }
}

function readEdge(raw: Members): [key: string, { edge: Edge; rest: Members }] {
  const [from, handle, to] = [stringAt(raw, 'from'), stringAt(raw, 'handle'), stringAt(raw, 'to')]
  // None of the three contains NUL.
  return [`${from}\0${handle}\0${to}`, { edge: { from, handle, to }, rest: omit(raw, ['from', 'handle', 'to']) }]
}

const stringAt = (raw: Members, name: string): string => JSON.parse(raw.get(name) ?? '""')

function omit(raw: Members, names: readonly string[]): Members {
  return new Map([...raw].filter(([name]) => !names.includes(name)))
}

function without(one: ScenarioText, two: ScenarioText): DiffedNode[] {
  return [...one.definition.nodes.values()].flatMap((node) =>
    two.nodes.has(node.id) ? [] : [{ nodeId: node.id, type: typeOf(node), text: one.nodes.get(node.id) ?? '' }],
  )
}

function edgesWithout(one: ScenarioText, two: ScenarioText): Edge[] {
  return [...one.edges].flatMap(([key, { edge }]) => (two.edges.has(key) ? [] : [edge]))
}

function reordered(one: ScenarioText, two: ScenarioText): ScenarioDiff['edgesReordered'] {
  const handles = new Map([...one.edges.values()].map(({ edge }) => [`${edge.from}\0${edge.handle}`, edge]))
  return [...handles.values()].flatMap(({ from, handle }) => {
    const before = nextNodes(one.definition, from, handle)
    const after = nextNodes(two.definition, from, handle)
    const stayed = before.filter((to) => after.includes(to))
    const now = after.filter((to) => before.includes(to))
    return stayed.every((to, index) => to === now[index]) ? [] : [{ from, handle, before, after }]
  })
}

/** Names an entry of a list by its key, so that an insertion in the middle does not change all later entries. */
type EntryKey = (path: string, entry: string) => string | undefined

const passKey: EntryKey = (path, entry) => {
  if (path !== 'data.levels' && path !== 'data.tiers') return undefined
  const values = members(entry)
  const level = `level=${readInt(values.get('level') ?? '')}`
  return path === 'data.levels' ? level : `${level},track=${stringAt(values, 'track')}`
}

/** Compares values and collects differences, up to a limit for all comparisons. */
class Comparison {
  hasMore = false
  private left = MAX_CHANGES

  /** The differences between the members of two objects; undefined for none. */
  of(before: Members, after: Members, entryKey: EntryKey = () => undefined): ValueChange[] | undefined {
    const changes: ValueChange[] = []
    const differ = this.each((name) => memberPath('', name), before, after, { changes, entryKey })
    return differ ? changes : undefined
  }

  private each(pathTo: (name: string) => string, before: Members, after: Members, into: Into): boolean {
    let differ = false
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      if (this.values(pathTo(name), before.get(name), after.get(name), into)) differ = true
    }
    return differ
  }

  private values(path: string, before: string | undefined, after: string | undefined, into: Into): boolean {
    if (before === after) return false
    if (before !== undefined && after !== undefined && kindOf(before) === kindOf(after)) {
      switch (kindOf(before)) {
        case 'object':
          return this.each((name) => memberPath(path, name), members(before), members(after), into)
        case 'array':
          return this.each(
            (place) => `${path}[${place}]`,
            entries(path, before, into),
            entries(path, after, into),
            into,
          )
        case 'string':
          if (JSON.parse(before) === JSON.parse(after)) return false
      }
    }
    if (this.left > 0) into.changes.push({ path, before: before ?? null, after: after ?? null })
    else this.hasMore = true
    this.left -= 1
    return true
  }
}

interface Into {
  readonly changes: ValueChange[]
  readonly entryKey: EntryKey
}

function entries(path: string, raw: string, { entryKey }: Into): Members {
  return new Map(elements(raw).map((entry, index) => [entryKey(path, entry) ?? String(index), entry]))
}

function areSameTiers(before: PassNode['tiers'], after: PassNode['tiers']): boolean {
  if (before.size !== after.size) return false
  return [...before].every(([key, tier]) => {
    const other = after.get(key)
    return other !== undefined && areSameOffers(tier, other)
  })
}
