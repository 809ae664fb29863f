import { useRef, useState } from 'react'
import { useClient } from 'urql'
import { ActionDialog, type ActionResult } from '../../ui/action-dialog.tsx'
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/form.tsx'
import { newKey } from '../../ui/keys.ts'
import type { ActionField, SupportAction, Values } from './support-action.ts'

/** The dialog of an action of support. */
export function SupportDialog({ action, onClose }: { action: SupportAction; onClose: () => void }) {
  const client = useClient()
  const [values, setValues] = useState<Values>(action.initial ?? {})
  const [typed, setTyped] = useState('')
  // A repeated press sends the same key, and so acts once. Other values are another action.
  const key = useRef({ of: '', key: '' })

  const isComplete =
    action.fields.every((field) => field.isOptional || field.kind === 'check' || isReady(field, values)) &&
    (action.typed === undefined || typed.trim() === action.typed)

  async function run(reason: string): Promise<ActionResult> {
    const request = { ...action.input(values), reason }
    const of = JSON.stringify(request)
    if (key.current.of !== of) key.current = { of, key: newKey() }
    const input = action.isKeyed ? { ...request, idempotencyKey: key.current.key } : request
    const { data, error } = await client.mutation(action.mutation, { input: input as never })
    if (!data) return { error }
    const { message, auditEntry, changed } = data.result
    if (data.result.error !== null) return { refusal: message ?? data.result.error }
    if (changed === false) return { done: 'There was nothing to change.', auditEntry }
    return { done: action.done(values), auditEntry }
  }

  return (
    <ActionDialog
      title={action.title}
      effect={isComplete ? action.effect(values) : 'Fill in the fields to see what this will do.'}
      confirm={action.confirm}
      tone={action.tone}
      disabled={!isComplete}
      run={run}
      onClose={onClose}
    >
      {action.fields.map((field) => (
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

function isReady({ name, kind }: ActionField, values: Values): boolean {
  const value = (values[name] ?? '').trim()
  if (kind === 'amount') return /^[1-9]\d*$/.test(value)
  return kind === 'json' ? isJson(value) : value !== ''
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function Control({ field, value, onChange }: { field: ActionField; value: string; onChange: (value: string) => void }) {
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
      <TextAreaField
        label={label}
        name={name}
        hint={value === '' || isJson(value) ? hint : 'This is not JSON yet.'}
        value={value}
        onChange={onChange}
        rows={8}
      />
    )
  return (
    <TextField
      label={label}
      name={name}
      hint={hint}
      value={value}
      onChange={onChange}
      suggestions={suggestions}
      inputMode={kind === 'amount' ? 'numeric' : 'text'}
      pattern={kind === 'amount' ? '[1-9][0-9]*' : undefined}
      required={!field.isOptional}
      autoComplete="off"
    />
  )
}
