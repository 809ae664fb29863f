import { useEffect, useRef, useState } from 'react'
import { MAX_LISTED_SOURCES, MAX_SOURCE } from '../../../../src/base/limits.ts'
import { LIMITS, SENDERS } from '../../scenario/xp-words.ts'
import { Button } from '../../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../../ui/form.tsx'
import type { Draft } from '../draft/draft.ts'
import { anyText, DraftField, integerText } from '../draft/draft-field.tsx'
import type { NodeModel } from '../model/definition.ts'
import { renameMember, setValue } from '../model/edits.ts'
import { summaryOf } from '../model/rule-words.ts'
import { useProblemsUnder } from '../problems/use-problems.ts'
import { RawText } from '../text/json-edit.ts'
import { type Path, printPath } from '../text/json-path.ts'
import { type JsonNode, numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'
import css from './graph.module.css'

const OVER = [
  ['clip', 'grants what is left of the limit'],
  ['refuse', 'is refused'],
] as const

interface XpProps {
  readonly draft: Draft
  readonly node: NodeModel
  readonly onOpenJson: (path: string) => void
}

/** Who may give the xp of a pass, and how much: `data.xp`. */
export function XpFields({ draft, node, onOpenJson }: XpProps) {
  const path: Path = ['nodes', node.index, 'data', 'xp']
  const xp = valueAt(node.data, 'xp')
  if (xp === undefined)
    return (
      <>
        <h3>Xp</h3>
        <p className="muted">Clients may send xp of any source, without a limit.</p>
        <div className="actions">
          <Button onClick={() => draft.edit(setValue(path, { from: 'client' }))}>Limit xp</Button>
        </div>
      </>
    )
  return (
    <>
      <h3>Xp</h3>
      {xp.kind === 'object' ? (
        <Rules draft={draft} path={path} xp={xp} />
      ) : (
        <p className="fault">The rules of xp must be an object.</p>
      )}
      <div className="actions">
        <Button onClick={() => draft.edit(setValue(path, undefined))}>Remove the rules of xp</Button>
        <Button tone="quiet" onClick={() => onOpenJson(printPath(path))}>
          Edit xp in JSON
        </Button>
      </div>
    </>
  )
}

interface PartProps {
  readonly draft: Draft
  readonly path: Path
}

function Rules({ draft, path, xp }: PartProps & { readonly xp: JsonNode }) {
  const others = valueAt(xp, 'others')
  return (
    <>
      <ChoiceField draft={draft} path={path} of={xp} name="from" label="Xp may come from" choices={SENDERS} />
      <CheckField
        label="Sources that are not listed may be sent"
        name="others"
        value={others?.kind !== 'boolean' || others.raw === 'true'}
        onChange={(may) => draft.edit(setValue([...path, 'others'], may))}
      />
      <ChoiceField draft={draft} path={path} of={xp} name="over" label="Xp over a limit" choices={OVER} />
      <LimitFields draft={draft} path={path} of={xp} title="all sources" />
      <div className={css.pair}>
        <MemberField
          draft={draft}
          path={path}
          of={xp}
          name="dayStartsAt"
          label="A day begins at"
          placeholder="00:00"
          hint="A local time. A week begins with its Monday."
        />
        <MemberField
          draft={draft}
          path={path}
          of={xp}
          name="timeZone"
          label="Time zone"
          placeholder="UTC"
          hint="By its name, such as Europe/Berlin."
        />
      </div>
      <Sources draft={draft} path={[...path, 'sources']} sources={valueAt(xp, 'sources')} />
    </>
  )
}

function Sources({ draft, path, sources }: PartProps & { readonly sources: JsonNode | undefined }) {
  const [typed, setTyped] = useState('')
  const [added, setAdded] = useState<string>()
  const names = sources?.kind === 'object' ? [...new Set(sources.items.map(({ name }) => name))] : []
  const listed = names.filter((name) => valueAt(sources, name) !== undefined)
  return (
    <>
      <h3>Sources of xp</h3>
      {listed.length === 0 && <p className="muted">No source has rules of its own.</p>}
      {listed.map((name) => (
        <Source
          key={name}
          draft={draft}
          path={[...path, name]}
          name={name}
          source={valueAt(sources, name)}
          isNew={name === added}
          taken={names}
          onRename={(newName) => {
            draft.edit(renameMember([...path, name], newName))
            setAdded(newName)
          }}
        />
      ))}
      <div className={css.pair}>
        <TextField
          label="New source"
          name="source"
          value={typed}
          onChange={setTyped}
          placeholder="Such as match"
          maxLength={MAX_SOURCE}
        />
        <div className="actions">
          <Button
            disabled={typed === '' || listed.includes(typed) || listed.length >= MAX_LISTED_SOURCES}
            onClick={() => {
              draft.edit(setValue([...path, typed], {}))
              setAdded(typed)
              setTyped('')
            }}
          >
            Add source
          </Button>
        </div>
      </div>
    </>
  )
}

interface SourceProps extends PartProps {
  readonly name: string
  readonly source: JsonNode | undefined
  readonly isNew: boolean
  /** Names that another one cannot have. */
  readonly taken: readonly string[]
  readonly onRename: (newName: string) => void
}

/** The rules of a source, closed to a summary. It is open while it has a fault. */
function Source({ draft, path, name, source, isNew, taken, onRename }: SourceProps) {
  const [isOpen, setOpen] = useState(isNew)
  const [typed, setTyped] = useState(name)
  const summary = useRef<HTMLElement>(null)
  // The button that was pressed is gone.
  useEffect(() => {
    if (isNew) summary.current?.focus()
  }, [isNew])
  const hasFault = useProblemsUnder(printPath(path)).some(({ kind }) => kind === 'fault')
  return (
    <details
      className={css.source}
      open={isOpen || hasFault}
      onToggle={({ currentTarget }) => {
        if (hasFault) currentTarget.open = true
        setOpen(currentTarget.open)
      }}
    >
      <summary ref={summary}>
        <strong>{name}</strong> <span className="muted">{summaryOf(source)}</span>
      </summary>
      <ChoiceField
        draft={draft}
        path={path}
        of={source}
        name="from"
        label={`${name} may come from`}
        choices={[['', 'as the pass says'], ...SENDERS]}
      />
      <LimitFields draft={draft} path={path} of={source} title={name} />
      <TextField
        label={`Name of ${name}`}
        name="source"
        hint="Limits count xp by the name: another name begins at 0."
        value={typed}
        onChange={setTyped}
        maxLength={MAX_SOURCE}
      />
      <div className="actions">
        <Button
          label={`Rename the source ${name}`}
          disabled={typed === '' || taken.includes(typed)}
          onClick={() => onRename(typed)}
        >
          Rename
        </Button>
        <Button tone="quiet" label={`Remove the source ${name}`} onClick={() => draft.edit(setValue(path, undefined))}>
          Remove
        </Button>
      </div>
    </details>
  )
}

/** Four fields for the limits of a source or of the pass. Empty for no limit. */
function LimitFields({ draft, path, of, title }: PartProps & { readonly of: JsonNode | undefined; title: string }) {
  return (
    <div className={css.pair}>
      {LIMITS.map(([name, label]) => (
        <DraftField
          key={name}
          label={`Most xp ${label}, ${title}`}
          place={printPath([...path, name])}
          fault="Enter a whole number, or nothing for no limit."
          inputMode="numeric"
          placeholder="no limit"
          value={numberTextOf(valueAt(of, name)) ?? stringOf(valueAt(of, name)) ?? ''}
          normalise={(text) => (text === '' ? '' : integerText(text))}
          onChange={(text) =>
            draft.edit(
              setValue([...path, name], text === '' ? undefined : new RawText(text)),
              `xp ${printPath([...path, name])}`,
            )
          }
        />
      ))}
    </div>
  )
}

/** A member with one of a few values. Another value is shown as it is. */
function ChoiceField(
  props: PartProps & {
    readonly of: JsonNode | undefined
    readonly name: string
    readonly label: string
    readonly choices: readonly (readonly [value: string, text: string])[]
  },
) {
  const { draft, path, of, name, label, choices } = props
  const value = stringOf(valueAt(of, name)) ?? choices[0]?.[0] ?? ''
  const isKnown = choices.some(([one]) => one === value)
  return (
    <SelectField
      label={label}
      name={name}
      value={value}
      onChange={(chosen) => draft.edit(setValue([...path, name], chosen === '' ? undefined : chosen))}
      options={isKnown ? choices : [...choices, [value, `${value} (unknown)`]]}
    />
  )
}

/** A member with a text. Empty for its default. */
function MemberField(
  props: PartProps & {
    readonly of: JsonNode | undefined
    readonly name: string
    readonly label: string
    readonly placeholder: string
    readonly hint: string
  },
) {
  const { draft, path, of, name, ...field } = props
  return (
    <DraftField
      {...field}
      place={printPath([...path, name])}
      value={stringOf(valueAt(of, name)) ?? ''}
      normalise={anyText}
      onChange={(text) =>
        draft.edit(setValue([...path, name], text === '' ? undefined : text), `xp ${printPath([...path, name])}`)
      }
    />
  )
}
