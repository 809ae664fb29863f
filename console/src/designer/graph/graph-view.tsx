import {
  applyNodeChanges,
  Background,
  type Connection,
  Controls,
  type Edge,
  type FinalConnectionState,
  MiniMap,
  type NodeChange,
  ReactFlow,
  type ReactFlowInstance,
} from '@xyflow/react'
import '@xyflow/react/dist/style.css'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { prefer } from '../../ui/preferences.ts'
import { toast } from '../../ui/toast.tsx'
import type { Draft } from '../draft/draft.ts'
import { type Definition, whyNoEdge } from '../model/definition.ts'
import { addEdge, inTurn, removeEdges, removeNode } from '../model/edits.ts'
import type { Problem } from '../problems/problems.ts'
import { AddNode } from './add-node.tsx'
import { CARD_WIDTH, type Card, cardsOf, colourOf, heightOf, keyOf } from './card.ts'
import css from './graph.module.css'
import { layOut, type Point } from './layout.ts'
import { type CardNode, NodeCard } from './node-card.tsx'
import { NodePanel } from './node-panel.tsx'
import { useFullscreen } from './use-fullscreen.ts'

/** Below this, the text of a card cannot be read. */
const READABLE_ZOOM = 0.6
const FIT = { maxZoom: 1, minZoom: 0.45, padding: 0.05 }

const nodeTypes = { card: NodeCard }

interface Gone {
  readonly nodes: readonly CardNode[]
  readonly edges: readonly Edge[]
}

export default function GraphView(props: {
  readonly draft: Draft
  readonly definition: Definition
  readonly problems: readonly Problem[]
  readonly selected: string | undefined
  readonly onSelect: (id: string | undefined) => void
  readonly onOpenTable: (passId: string) => void
  readonly onOpenJson: (path: string) => void
  /** Shown in place of the fields. */
  readonly json: ReactNode | undefined
}) {
  const { draft, definition, problems, selected, onSelect, json } = props
  const cards = useMemo(() => cardsOf(definition, problems), [definition, problems])
  const edges = useMemo(() => edgesOf(definition), [definition])
  const places = usePlaces(cards, edges)
  const [moved, setMoved] = useState<ReadonlyMap<string, Point>>(new Map())
  const [nodes, setNodes] = useState<CardNode[]>([])
  const [asked, setAsked] = useState<Gone>()
  const flow = useRef<ReactFlowInstance<CardNode>>(null)
  const canvas = useRef<HTMLDivElement>(null)
  // The graph knows new places and its own new size a frame later.
  const showAll = () => requestAnimationFrame(() => requestAnimationFrame(() => void flow.current?.fitView(FIT)))
  const fullscreen = useFullscreen(showAll)

  useEffect(() => {
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]))
      return cards.map((card): CardNode => {
        const old = known.get(card.key)
        return {
          ...old,
          id: card.key,
          type: 'card',
          data: old && isSame(old.data.card, card) ? old.data : { card },
          position: moved.get(card.key) ?? places.get(card.key) ?? { x: 0, y: 0 },
          width: CARD_WIDTH,
          height: heightOf(card),
          selected: card.key === selected,
          ariaLabel: `${card.type} node ${card.id}`,
        }
      })
    })
  }, [cards, places, moved, selected])

  // A jump from the list of problems or from another view, and a new layout, bring the selected node into sight.
  const isThere = selected !== undefined && nodes.some(({ id }) => id === selected)
  // biome-ignore lint/correctness/useExhaustiveDependencies: also for each new layout
  useEffect(() => {
    const instance = flow.current
    const node = selected === undefined ? undefined : instance?.getInternalNode(selected)
    const box = canvas.current?.getBoundingClientRect()
    if (!instance || !node || !box) return
    const { x, y } = places.get(node.id) ?? node.internals.positionAbsolute
    const [width, height] = [CARD_WIDTH, node.height ?? 0]
    const from = instance.flowToScreenPosition({ x, y })
    const to = instance.flowToScreenPosition({ x: x + width, y: y + height })
    if (from.x >= box.left && from.y >= box.top && to.x <= box.right && to.y <= box.bottom) return
    void instance.setCenter(x + width / 2, y + height / 2, { zoom: Math.max(instance.getZoom(), READABLE_ZOOM) })
  }, [selected, isThere, places])

  function onNodesChange(changes: NodeChange<CardNode>[]): void {
    setNodes((before) => applyNodeChanges(changes, before))
    for (const change of changes) {
      if (change.type === 'position' && change.position && change.dragging === false) {
        const { id, position } = change
        setMoved((before) => new Map(before).set(id, position))
      }
      if (change.type === 'select' && change.selected) onSelect(change.id)
    }
  }

  /** An edge goes at once. A key removes no node before the person agrees. */
  async function onBeforeDelete(gone: Gone): Promise<boolean> {
    if (gone.nodes.length > 0) setAsked(gone)
    else remove(gone)
    return false
  }

  function remove(gone: Gone): void {
    setAsked(undefined)
    const indexes = new Set(gone.edges.map(({ id }) => Number(id)))
    draft.edit(inTurn(removeEdges(indexes), ...gone.nodes.map(({ data }) => removeNode(data.card.id))))
    if (gone.nodes.length > 0) onSelect(undefined)
  }

  const edgeOf = ({ source, sourceHandle, target }: Connection | Edge) => ({
    from: source,
    handle: sourceHandle ?? '',
    to: target,
  })

  function onConnectEnd(
    _event: unknown,
    { isValid, fromNode, fromHandle, toNode, toHandle }: FinalConnectionState,
  ): void {
    if (isValid || !fromNode || !toNode || fromHandle?.type !== 'source') return
    if (toHandle === null && fromNode.id === toNode.id) return
    const why = whyNoEdge(definition, { from: fromNode.id, handle: fromHandle.id ?? '', to: toNode.id })
    if (why) toast(why, 'error')
  }

  const node = selected === undefined ? undefined : definition.nodes.find((one) => keyOf(definition, one) === selected)
  return (
    <div ref={fullscreen.ref} className={json ? `${css.layout} ${css.withJson}` : css.layout}>
      <div className={`panel ${css.main}`}>
        <div className={css.tools}>
          <AddNode
            definition={definition}
            onAdd={(edit, id) => {
              draft.edit(edit)
              onSelect(id)
            }}
          />
          <Button
            onClick={() => {
              setMoved(new Map())
              showAll()
            }}
          >
            Arrange
          </Button>
          <Button onClick={() => prefer({ besideGraph: json ? 'fields' : 'json' })}>
            {json ? 'Show fields' : 'Show JSON'}
          </Button>
          {document.fullscreenEnabled && (
            <Button onClick={fullscreen.toggle} pressed={fullscreen.isOn}>
              Full screen
            </Button>
          )}
        </div>
        <div ref={canvas} className={css.canvas}>
          <ReactFlow<CardNode>
            nodes={nodes}
            edges={edges}
            nodeTypes={nodeTypes}
            onInit={(instance) => {
              flow.current = instance
            }}
            onNodesChange={onNodesChange}
            onPaneClick={() => onSelect(undefined)}
            onBeforeDelete={onBeforeDelete}
            onConnect={(connection) => draft.edit(addEdge(edgeOf(connection)))}
            onConnectEnd={onConnectEnd}
            isValidConnection={(connection) => whyNoEdge(definition, edgeOf(connection)) === undefined}
            deleteKeyCode={['Delete', 'Backspace']}
            multiSelectionKeyCode={null}
            selectionKeyCode={null}
            onlyRenderVisibleElements={nodes.length > 100}
            fitView
            fitViewOptions={FIT}
            minZoom={0.05}
            connectionRadius={30}
            nodesDraggable
            elevateNodesOnSelect
          >
            <Background />
            <Controls showInteractive={false} />
            {nodes.length > 12 && (
              <MiniMap<CardNode>
                pannable
                zoomable
                ariaLabel="Map of the graph"
                nodeColor={({ data }) => colourOf(data.card.type)}
              />
            )}
          </ReactFlow>
        </div>
        {asked && (
          <Dialog
            title={`Delete ${asked.nodes.map(({ data }) => data.card.id).join(', ')}?`}
            onClose={() => setAsked(undefined)}
          >
            <p>Its edges go with it. Undo brings both back.</p>
            <div className="actions">
              <Button onClick={() => setAsked(undefined)}>Keep it</Button>
              <Button tone="danger" onClick={() => remove(asked)}>
                Delete
              </Button>
            </div>
          </Dialog>
        )}
        <p className="hint">
          Drag from a handle at the right of a node to another node to connect them. Tab and Enter select a node, Delete
          removes it after a question. The places of nodes are not stored.
        </p>
      </div>
      {json ?? (
        <NodePanel
          key={node?.index ?? 'none'}
          draft={draft}
          definition={definition}
          node={node}
          onSelect={onSelect}
          onOpenTable={props.onOpenTable}
          onOpenJson={props.onOpenJson}
        />
      )}
    </div>
  )
}

const edgesOf = (definition: Definition): Edge[] =>
  definition.edges.flatMap(({ index, from, handle, to }) =>
    definition.byId.has(from) && definition.byId.has(to)
      ? [
          {
            id: String(index),
            source: from,
            sourceHandle: handle,
            target: to,
            targetHandle: 'in',
            ariaLabel: `Edge from ${from}, ${handle}, to ${to}`,
          },
        ]
      : [],
  )

/** The layout, computed again only when nodes, handles or edges change. */
function usePlaces(cards: readonly Card[], edges: readonly Edge[]): ReadonlyMap<string, Point> {
  const shape = `${cards.map(({ key, handles }) => `${key}:${handles.length}`).join()}|${edges.map(({ source, target }) => `${source}>${target}`).join()}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: compared by their shape
  return useMemo(
    () =>
      layOut(
        cards.map((card) => ({ id: card.key, width: CARD_WIDTH, height: heightOf(card) })),
        edges.map(({ source, target }) => ({ from: source, to: target })),
      ),
    [shape],
  )
}

const isSame = (a: Card, b: Card): boolean =>
  a.title === b.title &&
  a.id === b.id &&
  a.type === b.type &&
  a.summary === b.summary &&
  a.faults === b.faults &&
  a.notices === b.notices &&
  a.isStart === b.isStart &&
  a.index === b.index &&
  a.handles.join() === b.handles.join() &&
  a.serverHandles.join() === b.serverHandles.join()
