import { isServiceType } from '../../../../src/game/definition/handles.ts'
import {
  applyChanges,
  type Change,
  insertValues,
  removeItems,
  removeMembers,
  renameMembers,
  replace,
  setMember,
  type Value,
} from '../text/json-edit.ts'
import { findNode, type Path } from '../text/json-path.ts'
import { type JsonNode, valueAt } from '../text/json-tree.ts'
import { type Definition, type NodeModel, readDefinition, stringsAt } from './definition.ts'
import { NODE_KINDS } from './forms.ts'

/** An edit of a draft: the text afterwards. An edit that does not fit the text leaves it as it is. */
export type Edit = (definition: Definition) => string

const change = (definition: Definition, ...changes: readonly Change[]): string => applyChanges(definition.text, changes)

export const inTurn =
  (...edits: readonly Edit[]): Edit =>
  (definition) => {
    let current = definition
    for (const edit of edits) {
      const { definition: next } = readDefinition(edit(current))
      if (!next) return current.text
      current = next
    }
    return current.text
  }

/** Sets the value at a path; undefined removes it. Adds missing objects on the way. */
export const setValue =
  (path: Path, value: Value | undefined): Edit =>
  (definition) => {
    const { text, root } = definition
    const name = path.at(-1)
    const parent = findNode(root, path.slice(0, -1))
    if (typeof name === 'number') {
      const node = findNode(root, path)
      return node && value !== undefined ? change(definition, replace(text, node, value)) : text
    }
    if (name === undefined) return text
    if (parent?.kind === 'object')
      return value === undefined
        ? change(definition, ...removeMembers(parent, [name]))
        : change(definition, setMember(text, parent, name, value))
    if (value === undefined || typeof path.at(-2) !== 'string') return text
    return setValue(path.slice(0, -1), { [name]: value })(definition)
  }

/** Gives the member at a path another name. Its value and its place in the text stay. */
export const renameMember =
  (path: Path, newName: string): Edit =>
  (definition) => {
    const parent = findNode(definition.root, path.slice(0, -1))
    if (parent?.kind !== 'object') return definition.text
    return change(definition, ...renameMembers(definition.text, parent, String(path.at(-1)), newName))
  }

export const setName = (name: string): Edit => setValue(['name'], name)

export const addNode =
  (id: string, type: string): Edit =>
  (definition) => {
    const { text, root, nodeList } = definition
    const node: Value = { id, type, data: dataFor(type, definition) }
    if (!nodeList) return change(definition, setMember(text, root, 'nodes', [node]))
    return change(definition, insertValues(text, nodeList, nodeList.items.length, [node]))
  }

/** The data of a new node. */
const dataFor = (type: string, { nodes }: Definition): Value | undefined =>
  isServiceType(type) ? NODE_KINDS[type].first(nodes) : undefined

export const removeNode =
  (id: string): Edit =>
  (definition) => {
    const { nodes, edges, nodeList, edgeList } = definition
    const gone = new Set(nodes.flatMap((node) => (node.id === id ? [node.index] : [])))
    const cut = new Set(edges.flatMap(({ index, from, to }) => (from === id || to === id ? [index] : [])))
    return change(
      definition,
      ...(nodeList ? removeItems(nodeList, gone) : []),
      ...(edgeList ? removeItems(edgeList, cut) : []),
    )
  }

/** Changes the id of a node, also in edges, the start and level nodes. */
export const renameNode =
  (id: string, newId: string): Edit =>
  (definition) =>
    change(definition, ...referencesOf(definition, id).map((place) => replace(definition.text, place, newId)))

function referencesOf({ root, nodes, edgeList }: Definition, id: string): JsonNode[] {
  return [
    ...stringsAt(root, ['start'], id),
    ...nodes.flatMap(({ value, data, type }) => [
      ...stringsAt(value, ['id'], id),
      ...(type === 'battle-pass-level' ? stringsAt(data, ['passNodeId'], id) : []),
    ]),
    ...(edgeList?.items ?? []).flatMap((edge) => stringsAt(edge, ['from', 'to'], id)),
  ]
}

export const setType =
  (node: NodeModel, type: string): Edit =>
  (definition) => {
    const isBare = node.data === undefined || node.data.items.length === 0
    const data = isBare ? dataFor(type, definition) : undefined
    const set = setValue(['nodes', node.index, 'type'], type)
    return data === undefined ? set(definition) : inTurn(set, setValue(['nodes', node.index, 'data'], data))(definition)
  }

/** Says who may cross a handle of a client node; undefined for the default, without what only said otherwise. */
export const setCrossedBy =
  ({ index, value }: NodeModel, handle: string, from: string | undefined): Edit =>
  (definition) => {
    const path: Path = ['nodes', index, 'handles']
    if (from !== undefined) return setValue([...path, handle, 'from'], from)(definition)
    const handles = valueAt(value, 'handles')
    if (!hasOnly(valueAt(handles, handle), 'from')) return setValue([...path, handle, 'from'], undefined)(definition)
    return setValue(hasOnly(handles, handle) ? path : [...path, handle], undefined)(definition)
  }

const hasOnly = (node: JsonNode | undefined, name: string): boolean =>
  node?.kind === 'object' && node.items.every((member) => member.name === name)

export const addEdge =
  (edge: { readonly from: string; readonly handle: string; readonly to: string }): Edit =>
  (definition) => {
    const { text, root, edgeList } = definition
    const { from, handle, to } = edge
    if (!edgeList) return change(definition, setMember(text, root, 'edges', [{ from, handle, to }]))
    return change(definition, insertValues(text, edgeList, edgeList.items.length, [{ from, handle, to }]))
  }

export const removeEdges =
  (indexes: ReadonlySet<number>): Edit =>
  (definition) =>
    definition.edgeList ? change(definition, ...removeItems(definition.edgeList, indexes)) : definition.text

/** A free id for a new node of a type, such as `reward-2`. */
export function freeId({ byId }: Definition, type: string): string {
  const base = type === 'battle-pass' ? 'pass' : type === 'battle-pass-level' ? 'level' : type
  for (let count = 1; ; count += 1) {
    const id = count === 1 ? base : `${base}-${count}`
    if (!byId.has(id)) return id
  }
}

/** The members of a node's data, but those that fields of its type show. */
export const furtherMembers = ({ data }: NodeModel, shown: readonly string[]): readonly string[] =>
  [...new Set((data?.items ?? []).map(({ name }) => name))].filter((name) => !shown.includes(name))
