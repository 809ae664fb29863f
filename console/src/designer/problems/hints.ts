import { nearestName } from '../../../../src/base/nearest-name.ts'
import type { Definition } from '../model/definition.ts'
import { type Path, printPath } from '../text/json-path.ts'
import { type JsonNode, stringOf } from '../text/json-tree.ts'

// What a person may have meant otherwise, although the service accepts it.

export interface Hint {
  /** As the service writes places. */
  readonly path: string
  readonly message: string
}

/** The names that the environment has. */
export interface KnownNames {
  readonly currencies: readonly string[]
  readonly items: readonly string[]
}

/** `known` is absent while the names are not read, and where there are too many of them. */
export const hintsOf = (definition: Definition, known?: KnownNames): Hint[] => [
  ...unreachedRewards(definition),
  ...(known ? misspeltNames(definition, known) : []),
]

/** Reward nodes to which no edge leads, but from such nodes. */
function unreachedRewards({ nodes, edges, byId }: Definition): Hint[] {
  const reached = new Set<string>()
  const waiting = nodes.flatMap(({ id, type }) => (type === 'reward' ? [] : [id]))
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const { from, to } of edges) {
      if (from !== id || reached.has(to) || byId.get(to)?.type !== 'reward') continue
      reached.add(to)
      waiting.push(to)
    }
  }
  return nodes.flatMap(({ id, type, index }) =>
    type !== 'reward' || reached.has(id)
      ? []
      : [{ path: `nodes[${index}]`, message: 'no edge leads here: no player gets these rewards' }],
  )
}

/** Names that are new and look like one that the environment has. Each at its first place. */
function misspeltNames({ root }: Definition, { currencies, items }: KnownNames): Hint[] {
  const seen = new Set<string>()
  const hints: Hint[] = []
  const check = (what: 'currency' | 'item', name: string, known: readonly string[], path: Path): void => {
    if (known.includes(name) || seen.has(`${what} ${name}`)) return
    seen.add(`${what} ${name}`)
    const meant = nearestName(
      name,
      known.filter((one) => !differByNumber(one, name)),
    )
    if (meant === undefined) return
    hints.push({ path: printPath(path), message: `the ${what} ${name} is new here: did you mean ${meant}?` })
  }
  walk(root, [], (name, value, path) => {
    if (name === 'currency') check('currency', value, currencies, path)
    if (name === 'itemId') check('item', value, items, path)
  })
  return hints
}

/** `skin-11` and `skin-12` are two items. */
const differByNumber = (one: string, other: string): boolean =>
  one.replaceAll(/\d+/g, '') === other.replaceAll(/\d+/g, '')

function walk(node: JsonNode, path: Path, visit: (name: string, value: string, path: Path) => void): void {
  if (node.kind === 'array') for (const [at, item] of node.items.entries()) walk(item, [...path, at], visit)
  if (node.kind !== 'object') return
  for (const { name, value } of node.items) {
    const text = stringOf(value)
    if (text === undefined) walk(value, [...path, name], visit)
    else visit(name, text, [...path, name])
  }
}
