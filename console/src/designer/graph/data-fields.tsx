import { type FC, useState } from 'react'
import { isServiceType } from '../../../../src/game/definition/handles.ts'
import { Button } from '../../ui/button.tsx'
import { CheckField, TextField } from '../../ui/form.tsx'
import type { Draft } from '../draft/draft.ts'
import { anyText, DraftField } from '../draft/draft-field.tsx'
import { furtherMembers, setValue } from '../model/edits.ts'
import { type Field, NODE_KINDS } from '../model/forms.ts'
import { RawText } from '../text/json-edit.ts'
import type { Path } from '../text/json-path.ts'
import { type JsonNode, memberOf, parseJson, stringOf } from '../text/json-tree.ts'
import {
  ChoiceField,
  type DataProps,
  type FieldProps,
  MomentField,
  NumberField,
  PresentField,
  RewardsField,
} from './fields.tsx'
import css from './graph.module.css'
import { OWN_FIELDS } from './own-fields.tsx'

/** The fields of a node's data by its type. Members that no field shows stay untouched. */
export function DataFields({ onOpenTable, ...props }: DataProps & { readonly onOpenTable: (passId: string) => void }) {
  const { node } = props
  const form = isServiceType(node.type) ? NODE_KINDS[node.type].form : null
  if (form === null) return <ClientFields {...props} />
  return (
    <>
      {Object.entries(form).map(
        ([name, field]) => field && <DataField key={name} {...props} name={name} field={field} />,
      )}
      {node.type === 'battle-pass' && (
        <div className="actions">
          <Button onClick={() => onOpenTable(node.id)}>Edit levels and tiers</Button>
        </div>
      )}
      <Further {...props} shown={Object.keys(form)} />
    </>
  )
}

/** The field of a member of a node's data. */
function DataField({ field, ...props }: FieldProps<Field>) {
  switch (field.kind) {
    case 'moment':
      return <MomentField {...props} field={field} />
    case 'number':
      return <NumberField {...props} field={field} />
    case 'rewards':
      return <RewardsField {...props} field={field} />
    case 'choice':
      return <ChoiceField {...props} field={field} />
    case 'check':
      return <PresentField {...props} field={field} />
    case 'own': {
      const Own: FC<DataProps> = OWN_FIELDS[field.of]
      return <Own {...props} />
    }
  }
}

/** The data of a node that the game client runs: any members. Plain values have a field each. */
function ClientFields({ draft, node, onOpenJson }: DataProps) {
  const { index, data } = node
  const path: Path = ['nodes', index, 'data']
  const [name, setName] = useState('')
  return (
    <>
      <h3>Data for the game client</h3>
      {furtherMembers(node, []).map((member) => (
        <ClientField
          key={member}
          draft={draft}
          path={[...path, member]}
          name={member}
          value={memberOf(data, member)?.value}
          onOpenJson={() => onOpenJson(`nodes[${index}].data.${member}`)}
        />
      ))}
      <div className={css.pair}>
        <TextField label="New member" name="member" value={name} onChange={setName} placeholder="Such as title" />
        <div className="actions">
          <Button
            disabled={name === '' || memberOf(data, name) !== undefined}
            onClick={() => {
              draft.edit(setValue([...path, name], ''))
              setName('')
            }}
          >
            Add
          </Button>
        </div>
      </div>
    </>
  )
}

function ClientField(props: {
  readonly draft: Draft
  readonly path: Path
  readonly name: string
  readonly value: JsonNode | undefined
  readonly onOpenJson: () => void
}) {
  const { draft, path, name, value, onOpenJson } = props
  const kind = `data ${path.join()}`
  if (value?.kind === 'string')
    return (
      <DraftField
        label={name}
        value={stringOf(value) ?? ''}
        normalise={anyText}
        onChange={(text) => draft.edit(setValue(path, text), kind)}
      />
    )
  if (value?.kind === 'number')
    return (
      <DraftField
        label={name}
        fault="Enter a number."
        value={value.raw}
        normalise={(text) => (parseJson(text).root?.kind === 'number' ? text.trim() : undefined)}
        onChange={(text) => draft.edit(setValue(path, new RawText(text.trim())), kind)}
      />
    )
  if (value?.kind === 'boolean')
    return (
      <CheckField
        label={name}
        name={name}
        value={value.raw === 'true'}
        onChange={(isTrue) => draft.edit(setValue(path, isTrue))}
      />
    )
  return (
    <div className="field">
      <span>
        <strong>{name}</strong>{' '}
        <span className="muted">
          {value?.kind === 'array' || value?.kind === 'object' ? `${value.items.length} entries` : 'null'}
        </span>{' '}
        <Button tone="quiet" label={`Edit ${name} in JSON`} onClick={onOpenJson}>
          Edit in JSON
        </Button>
      </span>
    </div>
  )
}

/** Members that no field shows, which the game client receives as they are. */
function Further({ node, shown, onOpenJson }: DataProps & { readonly shown: readonly string[] }) {
  const names = furtherMembers(node, shown)
  if (names.length === 0) return null
  return (
    <p>
      <span className="muted">Also in its data: </span>
      {names.map((name) => (
        <Button
          key={name}
          tone="quiet"
          label={`Edit ${name} in JSON`}
          onClick={() => onOpenJson(`nodes[${node.index}].data.${name}`)}
        >
          {name}
        </Button>
      ))}
    </p>
  )
}
