import { useState } from 'react'
import { useClient } from 'urql'
import { parseJson } from '../../designer/text/json-tree.ts'
import { ActionDialog, type ActionResult } from '../../ui/action-dialog.tsx'
import { amountFault, readAmount } from '../../ui/amount.ts'
import { codeOf, inWords, isOutcomeOpen, sentence } from '../../ui/errors.ts'
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/form.tsx'
import { auditHref } from '../addresses.ts'
import css from '../player.module.css'
import { ActionKey } from './action-key.ts'
import type { ActionField, PlayerData, SupportAction, Values } from './support-action.ts'

const TOOK_EFFECT =
  'Your first press took effect, with the values that the fields held then, although its answer was lost. Nothing was done now. Look at the ledger before you act again.'

export function SupportDialog(props: {
  readonly player: PlayerData
  readonly action: SupportAction
  readonly onClose: () => void
}) {
  const { player, action, onClose } = props
  const { fields: shown = [] } = action
  const client = useClient()
  const [values, setValues] = useState<Values>(action.initial ?? {})
  const [typed, setTyped] = useState('')
  const [key] = useState(() => new ActionKey())

  const read = readValues(shown, values)
  const isComplete =
    shown.every((field) => field.isOptional || field.kind === 'check' || isReady(field, read)) &&
    (action.typed === undefined || typed.trim() === action.typed)

  async function run(reason: string): Promise<ActionResult> {
    const { undoes } = action
    const request = { playerId: player.playerId, ...action.input?.(read), ...(undoes !== undefined && { undoes }) }
    const fields = JSON.stringify(request)
    const input = { ...request, reason, idempotencyKey: key.keyOf(fields) }
    const { data, error } = await client.mutation(action.mutation, { input: input as never })
    if (error && !isOutcomeOpen(error)) key.onAnswer(fields)
    if (codeOf(error) === 'IDEMPOTENCY_KEY_REUSED') return { refusal: TOOK_EFFECT }
    // An answer with neither a result nor an error does not say how the action ended: the dialog says so.
    if (!data?.result && !error) throw new Error('the answer has no result')
    if (!data?.result) return { error }
    const { message, auditEntry, changed } = data.result
    key.onAnswer(fields)
    if (data.result.error !== null) {
      const refusal = action.refusals?.[data.result.error]?.(read, data.result)
      return { refusal: refusal ?? sentence(inWords(message ?? data.result.error)) }
    }
    if (changed === false) return { done: 'There was nothing to change.', auditEntry }
    return {
      done: action.done(read, data.result),
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
