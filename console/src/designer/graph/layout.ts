import { Graph, layout } from '@dagrejs/dagre'

export interface Box {
  readonly id: string
  readonly width: number
  readonly height: number
}

export interface Link {
  readonly from: string
  readonly to: string
}

export interface Point {
  readonly x: number
  readonly y: number
}

const COLUMN_GAP = 90
const ROW_GAP = 28

/** Dagre takes seconds for a thousand nodes. Above these numbers, boxes are placed in simple columns. */
const MANY_BOXES = 150
const MANY_LINKS = 400

/** Places boxes from the left to the right, in the direction of their links. */
export function layOut(boxes: readonly Box[], links: readonly Link[]): Map<string, Point> {
  const known = new Set(boxes.map(({ id }) => id))
  const usable = links.filter(({ from, to }) => from !== to && known.has(from) && known.has(to))
  return boxes.length > MANY_BOXES || usable.length > MANY_LINKS ? inColumns(boxes, usable) : withDagre(boxes, usable)
}

function withDagre(boxes: readonly Box[], links: readonly Link[]): Map<string, Point> {
  const graph = new Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: ROW_GAP, ranksep: COLUMN_GAP })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height })
  for (const { from, to } of links) graph.setEdge(from, to)
  layout(graph)
  return new Map(
    boxes.map(({ id, width, height }) => {
      const { x = 0, y = 0 } = graph.node(id)
      return [id, { x: x - width / 2, y: y - height / 2 }]
    }),
  )
}

/** Each box is one column after the first box that leads to it, near the middle of all boxes that lead to it. */
function inColumns(boxes: readonly Box[], links: readonly Link[]): Map<string, Point> {
  const next = new Map<string, string[]>()
  const before = new Map<string, string[]>()
  for (const { from, to } of links) {
    push(next, from, to)
    push(before, to, from)
  }
  const columnOf = new Map<string, number>()
  const visit = (first: string) => {
    const open = [first]
    for (let at = 0; at < open.length; at += 1) {
      const id = open[at] ?? ''
      for (const to of next.get(id) ?? []) {
        if (columnOf.has(to)) continue
        columnOf.set(to, (columnOf.get(id) ?? 0) + 1)
        open.push(to)
      }
    }
  }
  const begin = (id: string) => {
    if (columnOf.has(id)) return
    columnOf.set(id, 0)
    visit(id)
  }
  for (const { id } of boxes) if (!before.has(id)) begin(id)
  for (const { id } of boxes) begin(id)

  const columns: Box[][] = []
  for (const box of boxes) {
    const column = columnOf.get(box.id) ?? 0
    columns[column] = [...(columns[column] ?? []), box]
  }
  const places = new Map<string, Point>()
  let x = 0
  for (const column of columns) {
    const wanted = (id: string) => {
      const ys = (before.get(id) ?? []).flatMap((from) => places.get(from)?.y ?? [])
      return ys.length === 0 ? 0 : ys.reduce((sum, y) => sum + y, 0) / ys.length
    }
    const order = (column ?? []).map((box) => ({ box, y: wanted(box.id) })).sort((a, b) => a.y - b.y)
    let y = 0
    for (const { box } of order) {
      places.set(box.id, { x, y })
      y += box.height + ROW_GAP
    }
    x += Math.max(0, ...(column ?? []).map(({ width }) => width)) + COLUMN_GAP
  }
  return places
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
