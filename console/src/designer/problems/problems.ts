import { type Definition, type ReadDefinition, readDefinition } from '../model/definition.ts'
import { placeText } from '../model/words.ts'
import { nearestNode, type Path, readPath } from '../text/json-path.ts'
import { itemsOf, numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'

export interface Problem {
  readonly kind: 'fault' | 'notice'
  readonly message: string
  /** As the service writes it. */
  readonly pathText: string
  readonly path: Path
  readonly place: string
  /** The offset in the text that was checked. */
  readonly from: number
  readonly to: number
  /** The node of the problem. For an edge: the node that it leaves. */
  readonly nodeId: string | undefined
  /** The row and the column of the problem in a pass. */
  readonly cell: { readonly level: string; readonly column: 'level' | 'xp' | 'free' | 'premium' } | undefined
}

interface ServiceFault {
  readonly path: string
  readonly message: string
}

export function problemsOf(
  text: string,
  { faults, notices }: { readonly faults: readonly ServiceFault[]; readonly notices: readonly ServiceFault[] },
): Problem[] {
  const { definition } = readDefinition(text)
  const locate =
    (kind: Problem['kind']) =>
    (fault: ServiceFault): Problem =>
      locateFault(definition, kind, fault)
  return [...faults.map(locate('fault')), ...notices.map(locate('notice'))]
}

export const noticesOf = (definition: Definition, notices: readonly ServiceFault[]): Problem[] =>
  notices.map((notice) => locateFault(definition, 'notice', notice))

export function syntaxProblem(text: string, { fault }: ReadDefinition): Problem[] {
  if (!fault) return []
  const before = text.slice(0, fault.at).split('\n')
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
  const { at: from, message } = fault
  return [{ kind: 'fault', message, pathText: '', path: [], place, from, to: from, nodeId: undefined, cell: undefined }]
}

function locateFault(definition: Definition | undefined, kind: Problem['kind'], fault: ServiceFault): Problem {
  const path = readPath(fault.path)
  if (!definition) {
    const { message, path: pathText } = fault
    return { kind, message, pathText, path, place: pathText, from: 0, to: 0, nodeId: undefined, cell: undefined }
  }
  const { from, to } = nearestNode(definition.root, path)
  return {
    kind,
    message: fault.message,
    pathText: fault.path,
    path,
    place: placeText(definition, path),
    from,
    to: path.length === 0 ? from : to,
    nodeId: nodeOf(definition, path),
    cell: cellOf(definition, path),
  }
}

export function nodeOf({ nodes, edges }: Definition, [list, index]: Path): string | undefined {
  if (list === 'nodes') return nodes.find((node) => node.index === index)?.id
  if (list === 'edges' && typeof index === 'number') return edges[index]?.from
  return undefined
}

export function cellOf({ nodes }: Definition, path: Path): Problem['cell'] {
  const [list, index, , part, at, member] = path
  const node = list === 'nodes' ? nodes.find((one) => one.index === index) : undefined
  if (node?.type !== 'battle-pass' || typeof at !== 'number') return undefined
  const entry = itemsOf(valueAt(node.data, String(part)))[at]
  const level = valueAt(entry, 'level')
  const number = numberTextOf(level) ?? stringOf(level) ?? ''
  if (part === 'levels') return { level: number, column: member === 'xp' ? 'xp' : 'level' }
  if (part !== 'tiers') return undefined
  return { level: number, column: stringOf(valueAt(entry, 'track')) === 'premium' ? 'premium' : 'free' }
}
