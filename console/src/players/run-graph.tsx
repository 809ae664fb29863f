import { Background, Controls, type Edge, MarkerType, type Node, Position, ReactFlow } from '@xyflow/react'
import '@xyflow/react/dist/style.css'
import { useMemo } from 'react'
import { layOut } from '../designer/graph/layout.ts'
import type { EdgeView } from '../scenario/read-definition.ts'
import { usePreferences } from '../ui/preferences.ts'
import css from './run-graph.module.css'
import type { IsCrossed, RunNode } from './run-nodes.ts'

const SIZE = { width: 170, height: 56 }
/** Names of handles are between the columns. */
const PLACE = { width: SIZE.width + 50, height: SIZE.height }
const CLASSES = { active: css.active, crossed: css.crossed, entered: css.crossed, 'not reached': css.open }

export default function RunGraph(props: {
  readonly nodes: readonly RunNode[]
  readonly edges: readonly EdgeView[]
  readonly isCrossed: IsCrossed
}) {
  const { theme } = usePreferences()
  const shape = JSON.stringify([props.nodes.map(({ id }) => id), props.edges])
  // biome-ignore lint/correctness/useExhaustiveDependencies: places depend on the shape of the graph alone
  const places = useMemo(
    () =>
      layOut(
        props.nodes.map(({ id }) => ({ id, ...PLACE })),
        props.edges,
      ),
    [shape],
  )
  const nodes = props.nodes.map(
    ({ id, type, state }): Node => ({
      id,
      position: places.get(id) ?? { x: 0, y: 0 },
      data: {
        label: (
          <>
            <strong>{id}</strong>
            <small>
              {type}
              {state === 'not reached' ? '' : ` · ${state}`}
            </small>
          </>
        ),
      },
      className: `${css.node} ${CLASSES[state]}`,
      sourcePosition: Position.Right,
      targetPosition: Position.Left,
      ...SIZE,
      ariaLabel: `${id}, ${type}, ${state}`,
    }),
  )
  const edges = props.edges.map(
    (edge, index): Edge => ({
      id: `${edge.from} ${edge.handle} ${edge.to} ${index}`,
      source: edge.from,
      target: edge.to,
      label: edge.handle,
      className: props.isCrossed(edge) ? css.crossedEdge : undefined,
      markerEnd: { type: MarkerType.ArrowClosed },
    }),
  )
  return (
    <div className={css.graph}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        colorMode={theme}
        fitView
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        // The list beside the graph has the nodes for the keyboard and for screen readers.
        nodesFocusable={false}
        edgesFocusable={false}
        onlyRenderVisibleElements={nodes.length > 200}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  )
}
