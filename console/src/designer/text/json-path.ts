import { itemsOf, type JsonNode, memberOf } from './json-tree.ts'

/** The steps of a place, such as `nodes[1].data`: names of members, and indexes. */
export type Path = readonly (string | number)[]

/** Reads a place as the service writes it, such as `nodes[1].data.xp.sources["a.b"]`. */
export const readPath = (text: string): Path =>
  [...text.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)].map(([, index, quoted, name = '']) =>
    index !== undefined ? Number(index) : quoted !== undefined ? JSON.parse(quoted) : name,
  )

const PLAIN_NAME = /^[\w$-]+$/

export const printPath = (path: Path): string =>
  path
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`
      if (!PLAIN_NAME.test(step)) return `[${JSON.stringify(step)}]`
      return at === 0 ? step : `.${step}`
    })
    .join('')

/** The value at a path; undefined where there is none. */
export function findNode(root: JsonNode | undefined, path: Path): JsonNode | undefined {
  let node = root
  for (const step of path) node = typeof step === 'number' ? itemsOf(node)[step] : memberOf(node, step)?.value
  return node
}

/** The value at a path, or the last one on the way to it: the place of a fault about an absent member. */
export function nearestNode(root: JsonNode, path: Path): JsonNode {
  let node = root
  for (const step of path) {
    const next = typeof step === 'number' ? itemsOf(node)[step] : memberOf(node, step)?.value
    if (next === undefined) break
    node = next
  }
  return node
}
