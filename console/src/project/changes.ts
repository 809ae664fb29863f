import { canonical, itemsOf, type JsonNode, parseJson } from '../designer/text/json-tree.ts'

/** A member of a state, with its text before and after. Undefined when absent. */
export interface Change {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
  readonly isChanged: boolean
}

const MAX_DEPTH = 4

/**
 * The members of two states in the order of the later one, then those that are gone. Values are the texts of the JSON:
 * no number is rounded.
 */
export function changesOf(before: string | null, after: string | null): readonly Change[] {
  const [one, two] = [membersOf(before), membersOf(after)]
  return [...new Set([...two.keys(), ...one.keys()])].map((path) => {
    const [was, is] = [one.get(path), two.get(path)]
    return { path, before: was, after: is, isChanged: was !== is }
  })
}

function membersOf(text: string | null): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  if (text === null) return members
  const { root } = parseJson(text)
  if (root) collect(root, '', 0, members)
  else members.set('', text)
  return members
}

function collect(node: JsonNode, path: string, depth: number, members: Map<string, string>): void {
  const entries =
    node.kind === 'object'
      ? node.items.map(({ name, value }) => [path + nameOf(name, path), value] as const)
      : itemsOf(node).map((value, index) => [`${path}[${index}]`, value] as const)
  if (depth === MAX_DEPTH || entries.length === 0) members.set(path === '' ? 'value' : path, canonical(node))
  else for (const [inner, value] of entries) collect(value, inner, depth + 1, members)
}

/** Names that look like a path are quoted, so that no two members have the same path. */
const nameOf = (name: string, path: string): string => {
  if (!/^[\w-]+$/.test(name)) return `[${JSON.stringify(name)}]`
  return path === '' ? name : `.${name}`
}
