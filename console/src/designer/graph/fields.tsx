import { CheckField, SelectField } from '../../ui/form.tsx'
import type { Draft } from '../draft/draft.ts'
import { DraftField, integerText } from '../draft/draft-field.tsx'
import { type Definition, type NodeModel, rewardsOf } from '../model/definition.ts'
import { inTurn, setValue } from '../model/edits.ts'
import type * as Forms from '../model/forms.ts'
import { setRewards } from '../model/node-rewards.ts'
import { readRewards, rewardsText } from '../model/rewards.ts'
import { RawText, type Value } from '../text/json-edit.ts'
import { type Path, printPath } from '../text/json-path.ts'
import { type JsonNode, numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'
import { momentText, momentValue } from './moments.ts'

export interface DataProps {
  readonly draft: Draft
  readonly definition: Definition
  readonly node: NodeModel
  readonly onOpenJson: (path: string) => void
}

/** A field of the member with this name. */
export type FieldProps<F> = DataProps & { readonly name: string; readonly field: F }

export const pathOf = (node: NodeModel, name: string, within: readonly string[] = []): Path => [
  'nodes',
  node.index,
  'data',
  name,
  ...within,
]

const memberOf = (node: NodeModel, name: string, within: readonly string[] = []): JsonNode | undefined =>
  [name, ...within].reduce<JsonNode | undefined>(valueAt, node.data)

export function NumberField({ draft, node, name, field }: FieldProps<Omit<Forms.NumberField, 'kind'>>) {
  const { label, hint, isRequired = false, mayBeText = false, within } = field
  const path = pathOf(node, name, within)
  const value = memberOf(node, name, within)
  const isText = mayBeText && value?.kind === 'string'
  const numberOf = (text: string): Value => (isText ? text : new RawText(text))
  return (
    <DraftField
      label={label}
      hint={hint}
      place={printPath(path)}
      fault="Enter a whole number."
      inputMode="numeric"
      value={(isText ? stringOf(value) : numberTextOf(value)) ?? ''}
      normalise={(typed) => (typed.trim() === '' && !isRequired ? '' : integerText(typed))}
      onChange={(text) => draft.edit(setValue(path, text === '' ? undefined : numberOf(text)), path.join())}
    />
  )
}

export function ChoiceField({ draft, node, name, field }: FieldProps<Forms.ChoiceField>) {
  const { label, hint, options, only } = field
  const value = stringOf(memberOf(node, name)) ?? ''
  const choose = (chosen: string) => {
    const set = setValue(pathOf(node, name), chosen === '' ? undefined : chosen)
    draft.edit(only && only.value !== chosen ? inTurn(set, setValue(pathOf(node, only.member), undefined)) : set)
  }
  return (
    <SelectField
      label={label}
      name={name}
      hint={hint}
      value={options.some(([known]) => known === value) ? value : ''}
      onChange={choose}
      options={options}
    />
  )
}

export function PresentField({ draft, node, name, field: { label, value } }: FieldProps<Forms.CheckField>) {
  return (
    <CheckField
      label={label}
      name={name}
      value={stringOf(memberOf(node, name)) === value}
      onChange={(isOn) => draft.edit(setValue(pathOf(node, name), isOn ? value : undefined))}
    />
  )
}

const stringAt = (value: JsonNode | undefined, name: string): string => stringOf(valueAt(value, name)) ?? ''

/** A moment as text: with its offset, or a local time and its zone, such as `2027-03-28T02:30 Europe/Berlin`. */
const timeText = (value: JsonNode | undefined): string =>
  value?.kind === 'object' ? `${stringAt(value, 'at')} ${stringAt(value, 'timeZone')}`.trim() : (stringOf(value) ?? '')

/** The value of such a text; undefined for an empty one. */
function timeOf(text: string): Value | undefined {
  const [, at, timeZone] = /^(\S+)\s+(\S+)$/.exec(text.trim()) ?? []
  if (at !== undefined && timeZone !== undefined) return { at, timeZone }
  return text === '' ? undefined : text
}

/** A moment in UTC. Any other text is shown as it is. */
export function MomentField({ draft, node, name, field: { label, hint } }: FieldProps<Forms.MomentField>) {
  const path = pathOf(node, name)
  const text = timeText(memberOf(node, name))
  const value = momentValue(text)
  const edit = (typed: string) => draft.edit(setValue(path, timeOf(typed)), path.join())
  return (
    <DraftField
      label={value === undefined ? `${label} (UTC)` : label}
      hint={hint}
      place={printPath(path)}
      isMoment={value !== undefined}
      step={1}
      value={value ?? text}
      normalise={(typed) => typed}
      onChange={(typed) => edit(value === undefined ? typed : momentText(typed))}
    />
  )
}

export function RewardsField({ draft, node, name, field }: FieldProps<Omit<Forms.RewardsField, 'kind'>>) {
  const { label, hint, isOptional = false, within } = field
  const path = pathOf(node, name, within)
  const list = memberOf(node, name, within)
  return (
    <DraftField
      label={label}
      hint={hint}
      fault="Write rewards as 50 gold, 1 item:sword."
      value={list ? rewardsText(rewardsOf(list)) : ''}
      normalise={(text) => {
        if (text.trim() === '') return isOptional ? '' : undefined
        const rewards = readRewards(text)
        return rewards && rewardsText(rewards)
      }}
      onChange={(text) =>
        draft.edit(setRewards(path, text.trim() === '' ? undefined : (readRewards(text) ?? [])), path.join())
      }
    />
  )
}
