import { useState } from 'react'
import { isServiceType, SERVICE_TYPES } from '../../../../src/game/definition/handles.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import type { Draft } from '../draft/draft.ts'
import { anyText, DraftField, someText } from '../draft/draft-field.tsx'
import { type Definition, handlesOf, type NodeModel, whyNoEdge } from '../model/definition.ts'
import { addEdge, removeEdges, removeNode, renameNode, setName, setType, setValue } from '../model/edits.ts'
import { DataFields } from './data-fields.tsx'
import css from './graph.module.css'
import { HandleFields } from './handle-fields.tsx'

interface Links {
  readonly onSelect: (id: string | undefined) => void
  readonly onOpenTable: (passId: string) => void
  readonly onOpenJson: (path: string) => void
}

/** The fields of the selected node. While none is selected: the fields of the scenario, and a list of its nodes. */
export function NodePanel({
  draft,
  definition,
  node,
  ...links
}: { readonly draft: Draft; readonly definition: Definition; readonly node: NodeModel | undefined } & Links) {
  return (
    <div>
      {node ? (
        <NodeFields draft={draft} definition={definition} node={node} {...links} />
      ) : (
        <ScenarioFields draft={draft} definition={definition} onSelect={links.onSelect} />
      )}
    </div>
  )
}

function ScenarioFields(props: {
  readonly draft: Draft
  readonly definition: Definition
  readonly onSelect: (id: string) => void
}) {
  const { draft, definition, onSelect } = props
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const found = definition.nodes.filter(({ id, type }) => `${id} ${type}`.toLowerCase().includes(wanted))
  return (
    <Panel title="Scenario">
      <DraftField
        label="Name"
        place="name"
        hint="The display name."
        value={definition.name}
        normalise={anyText}
        onChange={(name) => draft.edit(setName(name), 'name')}
      />
      <SelectField
        label="Runs begin at"
        name="start"
        value={definition.start}
        onChange={(id) => draft.edit(setValue(['start'], id))}
        options={[
          ...(definition.byId.has(definition.start)
            ? []
            : [[definition.start, `${definition.start} (missing)`] as const]),
          ...definition.byId.keys(),
        ]}
      />
      <TextField label="Find a node" name="find" value={search} onChange={setSearch} placeholder="Id or type" />
      <ul className={css.edges} aria-label="Nodes">
        {found.slice(0, 50).map(({ id, type, index }) => (
          <li key={index}>
            <Button tone="quiet" onClick={() => onSelect(id)}>
              {id}
            </Button>
            <span className="muted">{type}</span>
          </li>
        ))}
      </ul>
      {found.length > 50 && <p className="muted">and {found.length - 50} more: search for them</p>}
    </Panel>
  )
}

function NodeFields({
  draft,
  definition,
  node,
  onSelect,
  onOpenTable,
  onOpenJson,
}: { readonly draft: Draft; readonly definition: Definition; readonly node: NodeModel } & Links) {
  const { id, type, index } = node
  const place = `nodes[${index}]`
  const types = [...new Set([...SERVICE_TYPES, ...definition.nodes.map((one) => one.type).filter(Boolean)])]
  return (
    <Panel
      title={id === '' ? 'Node' : id}
      actions={
        <Button tone="quiet" label="Close the node" onClick={() => onSelect(undefined)}>
          ×
        </Button>
      }
    >
      <DraftField
        label="Id"
        place={`${place}.id`}
        hint="The progress of players is stored by the id. With another id, players begin again."
        fault="It is empty, or another node has it."
        value={id}
        normalise={(text) => (text !== id && (text === '' || definition.byId.has(text)) ? undefined : text)}
        onChange={(newId) => {
          draft.edit(renameNode(id, newId), `id ${index}`)
          onSelect(newId)
        }}
      />
      <DraftField
        label="Type"
        place={`${place}.type`}
        hint={isServiceType(type) ? 'The service runs this type.' : 'Your game client runs this type.'}
        fault="Enter a type."
        value={type}
        normalise={someText}
        suggestions={types}
        onChange={(next) => draft.edit(setType(node, next), `type ${index}`)}
      />
      <DataFields draft={draft} definition={definition} node={node} onOpenTable={onOpenTable} onOpenJson={onOpenJson} />
      <NodeEdges draft={draft} definition={definition} node={node} onSelect={onSelect} />
      <HandleFields draft={draft} definition={definition} node={node} />
      <div className="actions">
        <Button
          tone="danger"
          onClick={() => {
            draft.edit(removeNode(id))
            onSelect(undefined)
          }}
        >
          Delete node
        </Button>
        <Button onClick={() => onOpenJson(place)}>Show in JSON</Button>
      </div>
    </Panel>
  )
}

/** The edges that leave a node, and a form to add one by keyboard instead of dragging. */
function NodeEdges(props: {
  readonly draft: Draft
  readonly definition: Definition
  readonly node: NodeModel
  readonly onSelect: (id: string) => void
}) {
  const { draft, definition, node, onSelect } = props
  const handles = handlesOf(definition, node)
  const [handle, setHandle] = useState(handles[0] ?? '')
  const [to, setTo] = useState('')
  const edges = definition.edges.filter(({ from }) => from === node.id)
  const edge = { from: node.id, handle, to }
  const why = to === '' ? undefined : whyNoEdge(definition, edge)
  return (
    <>
      <h3>Leads to</h3>
      {edges.length === 0 && <p className="muted">No edge leaves this node.</p>}
      <ul className={css.edges} aria-label="Edges">
        {edges.map((one) => (
          <li key={one.index}>
            <span>
              {one.handle} →{' '}
              <button type="button" className="button quiet" onClick={() => onSelect(one.to)}>
                {one.to}
              </button>
            </span>
            <Button
              tone="quiet"
              label={`Remove the edge ${one.handle} to ${one.to}`}
              onClick={() => draft.edit(removeEdges(new Set([one.index])))}
            >
              ×
            </Button>
          </li>
        ))}
      </ul>
      <div className={css.pair}>
        <TextField label="Handle" name="handle" value={handle} onChange={setHandle} suggestions={handles} />
        <TextField
          label="To"
          name="to"
          value={to}
          onChange={setTo}
          placeholder="Id of a node"
          suggestions={[...definition.byId.keys()].filter((id) => definition.byId.get(id)?.type !== 'start')}
        />
      </div>
      {why && to !== '' && definition.byId.has(to) && <p className="fault">{why}</p>}
      <div className="actions">
        <Button
          disabled={to === '' || why !== undefined}
          onClick={() => {
            draft.edit(addEdge(edge))
            setTo('')
          }}
        >
          Add edge
        </Button>
      </div>
    </>
  )
}
