import type { DefinitionView } from '../scenario/read-definition.ts'

/** `entered`: an edge to the node was crossed, but the node is no longer active and crossed nothing itself. */
export type NodeState = 'active' | 'crossed' | 'entered' | 'not reached'

export interface RunNode {
  readonly id: string
  readonly type: string
  readonly state: NodeState
  /** The handles that it crossed in this run, each once, in their order. */
  readonly handles: readonly string[]
}

export interface RunEvent {
  readonly runId: string | null
  readonly nodeId: string | null
  readonly handle: string | null
}

/** Tells whether an edge leads from a handle that was crossed. */
export type IsCrossed = (edge: { readonly from: string; readonly handle: string }) => boolean

/** The states of nodes and edges in a run, as far as its events show them. */
export function readRun(
  definition: Pick<DefinitionView, 'nodes' | 'edges'>,
  run: { readonly runId: string; readonly activeNodes: readonly string[] },
  events: readonly RunEvent[],
): { readonly nodes: readonly RunNode[]; readonly isCrossed: IsCrossed } {
  const crossed = new Map<string, Set<string>>()
  for (const { runId, nodeId, handle } of events) {
    if (runId !== run.runId || nodeId === null || handle === null) continue
    crossed.set(nodeId, (crossed.get(nodeId) ?? new Set()).add(handle))
  }
  const isCrossed: IsCrossed = ({ from, handle }) => crossed.get(from)?.has(handle) ?? false
  const active = new Set(run.activeNodes)
  const entered = new Set(definition.edges.filter(isCrossed).map(({ to }) => to))
  const nodes = definition.nodes.map(({ id, type }): RunNode => {
    const handles = [...(crossed.get(id) ?? [])]
    const state = active.has(id)
      ? 'active'
      : handles.length > 0
        ? 'crossed'
        : entered.has(id)
          ? 'entered'
          : 'not reached'
    return { id, type, state, handles }
  })
  return { nodes, isCrossed }
}
