import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import { type CSSProperties, memo } from 'react'
import { type Card, colourOf } from './card.ts'
import css from './graph.module.css'

export type CardNode = Node<{ readonly card: Card }, 'card'>

/** A node of the graph: its type and title, a port for incoming edges, and one for each of its handles. */
export const NodeCard = memo(function NodeCard({ data: { card }, selected }: NodeProps<CardNode>) {
  const { type, title, id, summary, handles, serverHandles, faults, notices, isStart } = card
  return (
    <div
      className={`${css.card} ${selected ? css.selected : ''} ${faults > 0 ? css.faulty : ''}`}
      style={{ '--type': colourOf(type) } as CSSProperties}
    >
      {type !== 'start' && <Handle type="target" position={Position.Left} id="in" className={css.port} />}
      <div className={css.head}>
        <span className={css.type}>
          <span className={css.typeName}>{type === '' ? 'no type' : type}</span>
          {isStart && type !== 'start' && <span className="badge">start</span>}
          {faults > 0 && <span className="badge bad">{faults === 1 ? '1 fault' : `${faults} faults`}</span>}
          {faults === 0 && notices > 0 && (
            <span className="badge">{notices === 1 ? '1 notice' : `${notices} notices`}</span>
          )}
        </span>
        <strong className={css.title}>{title}</strong>
        <span className={css.summary}>
          {title === id || id === '' ? summary : [id, summary].filter(Boolean).join(' · ')}
        </span>
      </div>
      {handles.map((handle) => (
        <div key={handle} className={css.handle}>
          {serverHandles.includes(handle) && <span className="muted">servers only </span>}
          {handle}
          <Handle type="source" position={Position.Right} id={handle} className={css.port} />
        </div>
      ))}
    </div>
  )
})
