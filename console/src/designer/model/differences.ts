import { canonical, itemsOf, type JsonNode, memberOf, numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'

// The differences between two definitions by their values: where they are, and the texts before and after. Entries of
// the lists that the service knows are matched by their ids and numbers, so that an insertion is one difference.

/** A step of a place: the name of a member, or the key of an entry. */
export type Step = { readonly member: string } | { readonly entry: string }

export interface Difference {
  readonly path: readonly Step[]
  /** Undefined for an added value. */
  readonly before: JsonNode | undefined
  /** Undefined for a removed value. */
  readonly after: JsonNode | undefined
}

/** Reads the key of an entry of a list. Undefined for an entry without a key. */
type KeyOf = (entry: JsonNode) => string | undefined

const text = (node: JsonNode | undefined): string | undefined => stringOf(node) ?? numberTextOf(node)

/** The keyed lists of a definition, by the names of members that lead to them. */
const KEYS: Readonly<Record<string, KeyOf>> = {
  nodes: (entry) => stringOf(valueAt(entry, 'id')),
  edges: (entry) => {
    const parts = ['from', 'handle', 'to'].map((name) => stringOf(valueAt(entry, name)))
    return parts.includes(undefined) ? undefined : parts.join('\0')
  },
  'nodes data levels': (entry) => text(valueAt(entry, 'level')),
  'nodes data tiers': (entry) => {
    const [level, track] = [text(valueAt(entry, 'level')), stringOf(valueAt(entry, 'track'))]
    return level === undefined || track === undefined ? undefined : `${level} ${track}`
  },
}

const listName = (path: readonly Step[]): string =>
  path.flatMap((step) => ('member' in step ? [step.member] : [])).join(' ')

/** The entries of a keyed list. Undefined for other lists, and where keys are absent or repeated. */
export function entriesOf(path: readonly Step[], node: JsonNode): ReadonlyMap<string, JsonNode> | undefined {
  const keyOf = KEYS[listName(path)]
  if (!keyOf || node.kind !== 'array') return undefined
  const entries = new Map<string, JsonNode>()
  for (const entry of itemsOf(node)) {
    const key = keyOf(entry)
    if (key === undefined || entries.has(key)) return undefined
    entries.set(key, entry)
  }
  return entries
}

export function differences(before: JsonNode, after: JsonNode): Difference[] {
  const found: Difference[] = []
  compare([], before, after, found)
  return found
}

/** An absent value and null mean the same, except in data that the game client reads. */
function compare(
  path: readonly Step[],
  before: JsonNode | undefined,
  after: JsonNode | undefined,
  found: Difference[],
): void {
  if (before === undefined && after === undefined) return
  if (before && after) {
    if (before.kind === 'object' && after.kind === 'object') {
      const names = new Set([...before.items, ...after.items].map(({ name }) => name))
      for (const name of names)
        compare([...path, { member: name }], memberOf(before, name)?.value, memberOf(after, name)?.value, found)
      return
    }
    const [old, now] = [entriesOf(path, before), entriesOf(path, after)]
    if (old && now) {
      for (const key of new Set([...old.keys(), ...now.keys()]))
        compare([...path, { entry: key }], old.get(key), now.get(key), found)
      return
    }
    if (canonical(before) === canonical(after)) return
  }
  found.push({ path, before, after })
}

export function findAt(root: JsonNode, path: readonly Step[]): JsonNode | undefined {
  let node: JsonNode | undefined = root
  for (const [at, step] of path.entries()) {
    if (node === undefined) return undefined
    node = 'member' in step ? memberOf(node, step.member)?.value : entriesOf(path.slice(0, at), node)?.get(step.entry)
  }
  return node
}
