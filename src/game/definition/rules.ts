import { memberPath, type Reader } from '../../declare/document/reader.ts'
import {
  areSameOffers,
  type Definition,
  edgeKey,
  type LevelNode,
  type Node,
  nextNodes,
  type PassNode,
  type Repeat,
  type Tier,
  type TierKey,
  TRACKS,
  tierKey,
} from './definition.ts'
import { HANDLES_OF, passedBy, SERVICE_HANDLES } from './handles.ts'

const PAYS: Readonly<Record<Repeat, string>> = {
  never: 'pays each player once, over all runs and versions',
  run: 'pays once in each run',
  always: 'pays each time that it is entered',
}

/** Sets `repeat` for reward nodes where the definition does not: for those that are open. */
export function setRepeats(
  reader: Reader,
  { start, nodes, edges }: Definition & { readonly nodes: Map<string, Node> },
  { paths, open }: { readonly paths: ReadonlyMap<string, string>; readonly open: ReadonlySet<string> },
): void {
  const reached = reachedByClients({ start, nodes, edges })
  for (const node of nodes.values()) {
    if (node.type !== 'reward') continue
    const isReached = reached.has(node.id)
    const isOpen = open.has(node.id)
    const repeat = isOpen && isReached ? 'never' : node.repeat
    nodes.set(node.id, { ...node, repeat })
    const why = isReached ? 'clients can reach it by themselves' : 'only the service leads to it'
    const message = `${PAYS[repeat]}${isOpen ? '' : ', as data.repeat says'}; ${why}`
    reader.notice(paths.get(node.id) ?? '', message)
  }
}

/**
 * The nodes that the service passes and that a client can reach although the service has verified nothing: by starting a
 * run, or by a handle that clients cross, directly or through other such nodes.
 */
function reachedByClients({ start, nodes, edges }: Pick<Definition, 'start' | 'nodes' | 'edges'>): Set<string> {
  const reached = new Set<string>()
  const visit = (nodeId: string): void => {
    const handle = passedBy(nodes.get(nodeId)?.type)
    if (handle === undefined || reached.has(nodeId)) return
    reached.add(nodeId)
    for (const next of edges.get(edgeKey(nodeId, handle)) ?? []) visit(next)
  }
  visit(start)
  for (const [key, targets] of edges) {
    const [nodeId = '', handle = ''] = key.split('\0')
    const node = nodes.get(nodeId)
    const isOpen = node?.type === 'start' || (node?.type === 'client' && !node.serverHandles.has(handle))
    if (isOpen) for (const target of targets) visit(target)
  }
  return reached
}

/** A tier with rewards on a level node. */
export interface BroughtTier {
  readonly path: string
  readonly passNodeId: string
  readonly tier: Tier
}

/** Adds the tiers of level nodes to those of their passes, so that a tier has one definition. */
export function addTiers(reader: Reader, nodes: Map<string, Node>, brought: readonly BroughtTier[]): void {
  const byPass = new Map<PassNode, Map<TierKey, BroughtTier>>()
  for (const one of brought) {
    const { path, passNodeId, tier } = one
    const { level, track } = tier
    const pass = nodes.get(passNodeId)
    if (pass?.type !== 'battle-pass') continue
    if (track === 'premium' && !pass.premium) reader.fault(path, 'is for a pass without premium')
    if (!pass.levels.some((known) => known.level === level)) continue
    const tiers = byPass.get(pass) ?? new Map<TierKey, BroughtTier>()
    byPass.set(pass, tiers)
    const key = tierKey(level, track)
    const first = tiers.get(key)
    if (!first) {
      const listed = pass.tiers.get(key)
      // The pass shows the tier, whoever lists its rewards.
      tiers.set(key, listed ? { ...one, tier: shownAs(listed, tier) } : one)
      if (listed) reader.notice(path, `replaces what the pass lists for the ${track} tier of level ${level}`)
    } else if (!areSameOffers(first.tier, tier)) {
      reader.lateFault(path, `differs from ${first.path}: the ${track} tier of level ${level} has one list of rewards`)
    }
  }
  for (const [pass, added] of byPass) {
    // The definition is being read: nobody else has the pass yet.
    const tiers = pass.tiers as Map<TierKey, Tier>
    for (const [key, { tier }] of added) tiers.set(key, tier)
  }
}

const shownAs = ({ display }: Tier, tier: Tier): Tier => (display ? { ...tier, display } : tier)

export function checkLevelNode(reader: Reader, path: string, node: LevelNode, nodes: ReadonlyMap<string, Node>): void {
  const pass = nodes.get(node.passNodeId)
  if (pass?.type !== 'battle-pass') {
    if (node.passNodeId !== '')
      reader.fault(`${path}.data.passNodeId`, `names no battle-pass node: "${node.passNodeId}"`)
    return
  }
  const { levelNumber } = node
  if (levelNumber === 0 || pass.levels.length === 0) return
  if (!pass.levels.some(({ level }) => level === levelNumber)) {
    reader.fault(`${path}.data.levelNumber`, `names no level of the pass: ${levelNumber}`)
  } else if (!TRACKS.some((track) => pass.tiers.has(tierKey(levelNumber, track)))) {
    reader.fault(
      `${path}.data.levelNumber`,
      `names a level without a tier, and the node has no rewards of its own: ${levelNumber}`,
    )
  }
}

/** An edge that is never crossed is a mistake of the designer. */
export function checkHandle(reader: Reader, path: string, node: Node, handle: string): void {
  if (node.type === 'client') {
    if (SERVICE_HANDLES.includes(handle)) reader.fault(path, `is crossed by the service only: ${handle}`)
    return
  }
  const handles: readonly string[] = HANDLES_OF[node.type]
  if (!handles.includes(handle))
    reader.fault(path, `is never crossed by a ${node.type} node, which has ${handles.join(', ')}`)
}

/** A misspelt handle of servers would stay open to clients. */
export function checkServerHandles(reader: Reader, path: string, node: Node, edges: Definition['edges']): void {
  if (node.type !== 'client') return
  for (const handle of node.serverHandles)
    if (handle !== 'onComplete' && !edges.has(edgeKey(node.id, handle)))
      reader.lateFault(memberPath(`${path}.handles`, handle), 'must be `onComplete`, or stand on an edge of the node')
}

/** A cycle of nodes that run by themselves would never end. */
export function checkCycles(reader: Reader, definition: Definition, paths: ReadonlyMap<string, string>): void {
  const done = new Set<string>()
  const trail: string[] = []
  const visit = (nodeId: string): void => {
    const handle = passedBy(definition.nodes.get(nodeId)?.type)
    if (handle === undefined || done.has(nodeId)) return
    const loop = trail.indexOf(nodeId)
    if (loop >= 0) {
      reader.fault(
        paths.get(nodeId) ?? '',
        `is part of a cycle of nodes that run by themselves: ${[...trail.slice(loop), nodeId].join(' → ')}`,
      )
      return
    }
    trail.push(nodeId)
    for (const next of nextNodes(definition, nodeId, handle)) visit(next)
    trail.pop()
    done.add(nodeId)
  }
  for (const nodeId of definition.nodes.keys()) visit(nodeId)
}
/** A player is led on to one season: another scenario, and the same one from each pass. */
export function checkNext(
  reader: Reader,
  nodes: ReadonlyMap<string, Node>,
  paths: ReadonlyMap<string, string>,
  scenarioId: string | null,
): void {
  let first: { readonly path: string; readonly next: string } | undefined
  for (const node of nodes.values()) {
    const next = node.type === 'battle-pass' ? node.next?.scenarioId : null
    if (!next) continue
    const path = `${paths.get(node.id)}.data.next.scenarioId`
    if (next === scenarioId) reader.lateFault(path, 'must be another scenario: a season does not follow itself')
    first ??= { path, next }
    if (next !== first.next) reader.lateFault(path, `must be the same as ${first.path}: ${JSON.stringify(first.next)}`)
  }
}
