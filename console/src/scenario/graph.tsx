import { Graph as Dagre, layout } from '@dagrejs/dagre'
import { Background, Controls, type Edge, MarkerType, type Node, ReactFlow } from '@xyflow/react'
import '@xyflow/react/dist/style.css'
import { useMemo } from 'react'
import { usePreferences } from '../ui/preferences.ts'
import css from './graph.module.css'
import type { DefinitionView } from './read-definition.ts'

const WIDTH = 170
const HEIGHT = 56

export interface GraphProps {
  readonly definition: Pick<DefinitionView, 'nodes' | 'edges'>
  /** Nodes that are marked, such as the active ones of a run. */
  readonly marked?: ReadonlySet<string>
  readonly faulty?: ReadonlySet<string>
  readonly selected?: string | null
  readonly onSelect?: (nodeId: string | null) => void
}

/** The graph of a scenario, laid out from left to right. */
export default function ScenarioGraph({ definition, marked, faulty, selected, onSelect }: GraphProps) {
  const { theme } = usePreferences()
  const places = useMemo(() => place(definition), [definition])
  const nodes = definition.nodes.map(
    ({ id, type }): Node => ({
      id,
      position: places.get(id) ?? { x: 0, y: 0 },
      data: {
        label: (
          <>
            <strong>{id}</strong>
            <small>{type}</small>
          </>
        ),
      },
      className: [css.node, marked?.has(id) && css.marked, faulty?.has(id) && css.faulty].filter(Boolean).join(' '),
      selected: id === selected,
      sourcePosition: 'right' as Node['sourcePosition'],
      targetPosition: 'left' as Node['targetPosition'],
      width: WIDTH,
      height: HEIGHT,
      ariaLabel: `${id}, ${type}${marked?.has(id) ? ', active' : ''}`,
    }),
  )
  const edges = definition.edges.map(
    ({ from, handle, to }, index): Edge => ({
      id: `${from} ${handle} ${to} ${index}`,
      source: from,
      target: to,
      label: handle,
      markerEnd: { type: MarkerType.ArrowClosed },
    }),
  )
  return (
    <div className={css.graph}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        colorMode={theme === 'system' ? 'system' : theme}
        fitView
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        onNodeClick={(_event, { id }) => onSelect?.(id)}
        onPaneClick={() => onSelect?.(null)}
        onlyRenderVisibleElements={nodes.length > 200}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  )
}

/** The place of each node. Nodes stand in the order in which they are entered. */
function place({
  nodes,
  edges,
}: Pick<DefinitionView, 'nodes' | 'edges'>): ReadonlyMap<string, { x: number; y: number }> {
  const graph = new Dagre({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 24, ranksep: 110 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id } of nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT })
  for (const [index, { from, to }] of edges.entries())
    if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to, {}, String(index))
  layout(graph)
  return new Map(
    nodes.map(({ id }) => {
      const { x = 0, y = 0 } = graph.node(id)
      return [id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }]
    }),
  )
}
