import { type FormEvent, useState } from 'react'
import { MAX_ID, MAX_TYPE } from '../../../../src/base/limits.ts'
import { SERVICE_TYPES } from '../../../../src/game/definition/handles.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/form.tsx'
import type { Definition } from '../model/definition.ts'
import { addNode, type Edit, freeId } from '../model/edits.ts'

/** Adds a node of a type that the service runs, or of any type that the game client runs. */
export function AddNode({ definition, onAdd }: { definition: Definition; onAdd: (edit: Edit, id: string) => void }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>Add node</Button>
      {isOpen && (
        <AddNodeDialog
          definition={definition}
          onClose={() => setOpen(false)}
          onAdd={(edit, id) => {
            setOpen(false)
            onAdd(edit, id)
          }}
        />
      )}
    </>
  )
}

function AddNodeDialog(props: {
  readonly definition: Definition
  readonly onAdd: (edit: Edit, id: string) => void
  readonly onClose: () => void
}) {
  const { definition, onAdd, onClose } = props
  const [type, setType] = useState('reward')
  const [typedId, setId] = useState<string>()
  const id = typedId ?? freeId(definition, type || 'node')
  const isTaken = definition.byId.has(id)
  const types = new Set([...SERVICE_TYPES, ...definition.nodes.map((node) => node.type).filter(Boolean)])

  function submit(event: FormEvent): void {
    event.preventDefault()
    if (!isTaken) onAdd(addNode(id, type), id)
  }

  return (
    <Dialog title="Add node" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Type"
          name="type"
          hint={`The service runs ${SERVICE_TYPES.join(', ')}. Your game client runs any other type. There is one start.`}
          value={type}
          onChange={setType}
          suggestions={[...types]}
          maxLength={MAX_TYPE}
          required
        />
        <TextField
          label="Id"
          name="id"
          hint={
            isTaken
              ? 'Another node has this id.'
              : 'The progress of players is stored by this id, so choose one that can stay.'
          }
          value={id}
          onChange={setId}
          maxLength={MAX_ID}
          required
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" disabled={isTaken}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
