import type { Fault } from '../../base/errors.ts'
import { depthExceeds, isCleanText, syntaxFault } from '../../base/json.ts'
import { MAX_DEPTH, MAX_EDGES, MAX_ID, MAX_NAME, MAX_NODES } from '../../base/limits.ts'
import { answer, out } from '../../declare/answer.ts'
import { open, optional, places, text } from '../../declare/document/parts.ts'
import { Reader } from '../../declare/document/reader.ts'
import type { Definition, Node } from './definition.ts'
import { displayParts, noticeLanguages, readDisplay } from './display.ts'
import { type Brought, edge, node, readEdges, readNode } from './nodes.ts'
import { addTiers, checkCycles, checkLevelNode, checkNext, checkServerHandles, setRepeats } from './rules.ts'

export type ParsedDefinition =
  | { readonly ok: true; readonly definition: Definition; readonly notices: readonly Fault[] }
  | { readonly ok: false; readonly faults: readonly Fault[] }

export const scenarioFault = answer(
  'A fault or notice of a definition, with its place, such as `nodes[2].data.levels[0].xp`.',
  { path: out.text('Its place.'), message: out.text('The text of the fault or notice.') },
)

export interface Validation {
  /** Every reason why publishing would refuse the text. */
  readonly faults: readonly Fault[]
  /** Notes for the designer about a text without faults. */
  readonly notices: readonly Fault[]
}

/** `now` is the game's time, by which seasons lie in the past. Without its id, a scenario may name itself. */
export function validateDefinition(text: string, now = new Date(), scenarioId: string | null = null): Validation {
  const parsed = parseDefinition(text, { scenarioId })
  return parsed.ok
    ? { faults: [], notices: [...parsed.notices, ...pastSeasons(parsed.definition, now)] }
    : { faults: parsed.faults, notices: [] }
}

/**
 * Parses and validates a definition's text. A stored text was published under the rules of its time, so later rules do
 * not apply to it.
 */
export function parseDefinition(
  text: string,
  { isStored = false, scenarioId = null }: { readonly isStored?: boolean; readonly scenarioId?: string | null } = {},
): ParsedDefinition {
  if (depthExceeds(text, MAX_DEPTH))
    return { ok: false, faults: [{ path: '', message: `must not nest deeper than ${MAX_DEPTH}` }] }
  const syntax = syntaxFault(text)
  if (syntax !== undefined) return { ok: false, faults: [{ path: '', message: `must be JSON: ${syntax}` }] }
  // A string of a client's data may contain a lone surrogate: that is valid JSON, but cannot be stored.
  if (!isCleanText(text))
    return { ok: false, faults: [{ path: '', message: 'must not contain NUL or a lone surrogate' }] }
  const reader = new Reader(isStored)
  const definition = readDefinition(reader, text.trim(), scenarioId)
  if (reader.faults.length > 0) return { ok: false, faults: reader.reported }
  return { ok: true, definition, notices: reader.reportedNotices }
}

/** A definition as it is declared. */
export const scenarioData = open(
  'A graph of nodes that players walk through. Null counts as absent, unknown members are ignored, and integers are written as integers: 1.0 and 1e3 are refused.',
  {
    name: text(MAX_NAME, 'The display name.'),
    start: text(MAX_ID, 'The id of the node where runs begin.'),
    nodes: places(node, { min: 1, max: MAX_NODES }, 'Their ids are unique.'),
    edges: optional(
      places(edge, { max: MAX_EDGES }, 'The edges from handles to nodes. Nodes are entered in this order.'),
      'Default: none.',
      [],
    ),
    ...displayParts,
  },
  { isShared: true },
)

function readDefinition(reader: Reader, text: string, scenarioId: string | null): Definition {
  const scenario = scenarioData.read(reader, { path: '', raw: text })
  const name = scenario.read('name')
  const start = scenario.read('start')
  const display = readDisplay(scenario)
  const nodePlaces = scenario.read('nodes')
  const edgePlaces = scenario.read('edges')

  const nodes = new Map<string, Node>()
  const paths = new Map<string, string>()
  const brought: Brought = { tiers: [], openRepeats: new Set() }
  for (const place of nodePlaces) {
    const node = readNode(reader, place, brought)
    if (node.id === '') continue
    if (nodes.has(node.id)) reader.fault(`${place.path}.id`, `repeats the id of ${paths.get(node.id)}`)
    else paths.set(node.id, place.path)
    nodes.set(node.id, node)
  }
  const edges = readEdges(reader, edgePlaces, nodes)
  addTiers(reader, nodes, brought.tiers)

  const definition = {
    name,
    start,
    nodes,
    edges,
    ...display,
  }
  if (start !== '' && !nodes.has(start)) reader.fault('start', `names no node: "${start}"`)
  for (const node of nodes.values()) {
    const path = paths.get(node.id) ?? ''
    if (node.type === 'start' && start !== '' && node.id !== start)
      reader.fault(path, 'has type start, but is not where the scenario starts')
    checkServerHandles(reader, path, node, edges)
    if (node.type === 'battle-pass-level') checkLevelNode(reader, path, node, nodes)
  }
  checkNext(reader, nodes, paths, scenarioId)
  checkCycles(reader, definition, paths)
  setRepeats(reader, definition, { paths, open: brought.openRepeats })
  noticeLanguages(reader)
  return definition
}

/** Notices about seasons that are over when they are published. */
export function pastSeasons({ nodes }: Definition, now: Date): Fault[] {
  return [...nodes.values()].flatMap((node, index) => {
    const end = node.type === 'battle-pass' ? node.claimUntil : null
    if (!end || end > now) return []
    return [
      {
        path: `nodes[${index}].data`,
        message: `is a season that lies in the past: its claims ended at ${end.toISOString()}`,
      },
    ]
  })
}
