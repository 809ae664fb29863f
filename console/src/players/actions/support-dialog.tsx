import { useState } from 'react'
import { parseJson } from '../../designer/text/json-tree.ts'
import { ActionDialog, type ActionResult } from '../../ui/action-dialog.tsx'
import { amountFault, readAmount } from '../../ui/amount.ts'
import { inWords, sentence } from '../../ui/errors.ts'
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/form.tsx'
import { useSend } from '../../ui/send.ts'
import { auditHref } from '../addresses.ts'
import css from '../player.module.css'
import type { ActionField, PlayerData, SupportAction, Values } from './support-action.ts'

export function SupportDialog(props: {
  readonly player: PlayerData
  readonly action: SupportAction
  readonly onClose: () => void
}) {
  const { player, action, onClose } = props
  const { fields: shown = [] } = action
  const send = useSend()
  const [values, setValues] = useState<Values>(action.initial ?? {})
  const [typed, setTyped] = useState('')

  const read = readValues(shown, values)
  const isComplete =
    shown.every((field) => field.isOptional || field.kind === 'check' || isReady(field, read)) &&
    (action.typed === undefined || typed.trim() === action.typed)

  async function run(reason: string): Promise<ActionResult> {
    const { undoes } = action
    const input = { playerId: player.playerId, ...action.input?.(read), ...(undoes !== undefined && { undoes }) }
    const call = { mutation: action.mutation, input: input as never, isOnce: true }
    const { answer, ...failed } = await send(call, reason)
    if (!answer) return failed
    const { message, auditEntry, changed } = answer
    if (answer.error !== null) {
      const refusal = action.refusals?.[answer.error]?.(read, answer)
      return { refusal: refusal ?? sentence(inWords(message ?? answer.error)) }
    }
    if (changed === false) return { done: 'There was nothing to change.', auditEntry }
    return {
      done: action.done(read, answer),
      auditEntry,
      auditHref: auditEntry === null ? undefined : auditHref(player, auditEntry.id),
    }
  }

  return (
    <ActionDialog
      title={action.title}
      reason={action.reason}
      effect={isComplete ? action.effect(read) : 'Fill in the fields to see what this will do.'}
      confirm={action.confirm}
      tone={action.tone}
      disabled={!isComplete}
      wide={shown.some(({ kind }) => kind === 'json')}
      run={run}
      onClose={onClose}
    >
      {shown.map((field) => (
        <Control
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      {action.typed !== undefined && (
        <TextField
          label={`Type ${action.typed} to confirm`}
          name="typed"
          value={typed}
          onChange={setTyped}
          autoComplete="off"
        />
      )}
    </ActionDialog>
  )
}

/** The values, with amounts as digits alone. A text that is no amount is left out. */
const readValues = (fields: readonly ActionField[], values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (fields.find((field) => field.name === name)?.kind !== 'amount') return [name, value]
      return [name, readAmount(value, navigator.language) ?? '']
    }),
  )

function isReady({ name, kind }: ActionField, values: Values): boolean {
  const value = (values[name] ?? '').trim()
  return kind === 'json' ? jsonFault(value) === undefined : value !== ''
}

/** The first fault of a text that is not JSON, in a sentence. */
function jsonFault(text: string): string | undefined {
  const { fault } = parseJson(text)
  return fault && `Line ${text.slice(0, fault.at).split('\n').length}: ${sentence(fault.message)}`
}

export function Control(props: { field: ActionField; value: string; onChange: (value: string) => void }) {
  const { field, value, onChange } = props
  const { name, label, hint, kind, options, suggestions } = field
  if (kind === 'check')
    return (
      <CheckField
        label={label}
        name={name}
        hint={hint}
        value={value === 'true'}
        onChange={(isOn) => onChange(isOn ? 'true' : '')}
      />
    )
  if (kind === 'choice')
    return (
      <SelectField label={label} name={name} hint={hint} value={value} onChange={onChange} options={options ?? []} />
    )
  if (kind === 'json')
    return (
      <div className={css.code}>
        <TextAreaField
          label={label}
          name={name}
          hint={(value !== '' && jsonFault(value)) || hint}
          value={value}
          onChange={onChange}
          rows={14}
        />
      </div>
    )
  const fault = kind === 'amount' && value.trim() !== '' ? amountFault(value, navigator.language) : undefined
  return (
    <TextField
      label={label}
      name={name}
      hint={hint}
      faults={fault === undefined ? undefined : [fault]}
      value={value}
      onChange={onChange}
      suggestions={suggestions}
      inputMode={kind === 'amount' ? 'numeric' : 'text'}
      required={!field.isOptional}
      autoComplete="off"
    />
  )
}
