import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_BOOST_PERCENT, MAX_LABEL } from '../../../src/base/limits.ts'
import { ActionKey } from '../players/actions/action-key.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { codeOf, isOutcomeOpen } from '../ui/errors.ts'
import { SelectField, TextAreaField, TextField } from '../ui/form.tsx'
import { fieldOf, momentOf } from '../ui/moment-field.ts'
import { Time } from '../ui/time.tsx'
import { type Audience, type Boost, type BoostFields, effectOf } from './boost-fields.ts'
import { createBoostMutation, endBoostMutation, updateBoostMutation } from './operations.ts'
import { useBoostPreview } from './use-boost-preview.ts'

const DAYS = [
  ['1', 'The last day'],
  ['3', 'The last 3 days'],
  ['7', 'The last 7 days'],
  ['14', 'The last 14 days'],
] as const
const AUDIENCES: readonly (readonly [Audience, string])[] = [
  ['EVERYBODY', 'Everybody'],
  ['PREMIUM', 'Owners of premium'],
]

export function CreateBoost({ onClose }: { onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [key] = useState(() => new ActionKey())
  const [days, setDays] = useState('1')
  const [fields, setFields] = useState<BoostFields>({
    name: '',
    percent: '100',
    startsAt: '',
    endsAt: '',
    scenarios: '',
    sources: '',
    audience: 'EVERYBODY',
  })
  const set = (change: Partial<BoostFields>): void => setFields((before) => ({ ...before, ...change }))
  const effect = effectOf(fields)
  const [startsAt, endsAt] = [momentOf(fields.startsAt), momentOf(fields.endsAt)]
  const preview = useBoostPreview(environment, effect, Number(days))
  return (
    <ActionDialog
      title={`New boost in ${environment}`}
      effect={
        <>
          <p>
            {effect ? `Each xp brings ${effect.percent}% more` : 'Enter a percentage'}
            {startsAt && endsAt && (
              <>
                {' '}
                from <Time at={startsAt} parts="minute" /> up to <Time at={endsAt} parts="minute" />
              </>
            )}
            . Other boosts at the same time are added.
          </p>
          {effect && <p role="status">{preview ?? 'Counting what it would have done…'}</p>}
        </>
      }
      confirm="Create"
      disabled={!effect || !startsAt || !endsAt || fields.name.trim() === ''}
      wide
      run={async (reason) => {
        if (!effect || !startsAt || !endsAt) return {}
        const request = { environment, ...effect, name: fields.name.trim(), startsAt, endsAt }
        const text = JSON.stringify(request)
        const input = { ...request, reason, idempotencyKey: key.keyOf(text) }
        const { data, error } = await client.mutation(createBoostMutation, { input })
        if (!isOutcomeOpen(error)) key.onAnswer(text)
        if (codeOf(error) === 'IDEMPOTENCY_KEY_REUSED')
          return { refusal: 'Your first press took effect, with the fields as they were then. Nothing was done now.' }
        if (!data?.createBoost) return { error }
        return { done: 'The boost is created.', auditEntry: data.createBoost.auditEntry }
      }}
      onClose={onClose}
    >
      <NameField value={fields.name} onChange={(name) => set({ name })} />
      <TextField
        label="Percent more xp"
        name="percent"
        inputMode="numeric"
        hint={`1 to ${MAX_BOOST_PERCENT}. 100 doubles xp.`}
        value={fields.percent}
        onChange={(percent) => set({ percent })}
        required
      />
      <MomentField label="Starts" name="startsAt" value={fields.startsAt} onChange={(at) => set({ startsAt: at })} />
      <MomentField label="Ends" name="endsAt" value={fields.endsAt} onChange={(at) => set({ endsAt: at })} />
      <SelectField
        label="For"
        name="audience"
        value={fields.audience}
        onChange={(audience) => set({ audience: audience as Audience })}
        options={AUDIENCES}
      />
      <TextAreaField
        label="Scenarios"
        name="scenarios"
        hint="Their ids, one a line. Empty for all."
        value={fields.scenarios}
        onChange={(scenarios) => set({ scenarios })}
        rows={2}
      />
      <TextAreaField
        label="Sources of xp"
        name="sources"
        hint="One a line. Empty for all."
        value={fields.sources}
        onChange={(sources) => set({ sources })}
        rows={2}
      />
      <SelectField label="Preview with the xp of" name="days" value={days} onChange={setDays} options={DAYS} />
    </ActionDialog>
  )
}

export function EditBoost({ boost, onClose }: { boost: Boost; onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [before] = useState(boost)
  const [name, setName] = useState(before.name)
  const [end, setEnd] = useState(fieldOf(before.endsAt))
  const endsAt = end === fieldOf(before.endsAt) ? before.endsAt : momentOf(end)
  const isSame = name.trim() === before.name && endsAt === before.endsAt
  return (
    <ActionDialog
      title={`Change ${before.name}`}
      effect={
        isSame || !endsAt ? (
          'Nothing is changed yet.'
        ) : (
          <>
            It ends <Time at={endsAt} parts="minute" />. Xp that it has given stays.
          </>
        )
      }
      confirm="Save"
      disabled={isSame || !endsAt || name.trim() === ''}
      run={async (reason) => {
        const input = { environment, boostId: before.boostId, name: name.trim(), endsAt, reason }
        const { data, error } = await client.mutation(updateBoostMutation, { input })
        if (!data?.updateBoost) return { error }
        return { done: 'The boost is changed.', auditEntry: data.updateBoost.auditEntry }
      }}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <MomentField label="Ends" name="endsAt" value={end} onChange={setEnd} />
    </ActionDialog>
  )
}

export function EndBoost({ boost, onClose }: { boost: Boost; onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [{ boostId, name, state }] = useState(boost)
  const isPlanned = state === 'PLANNED'
  return (
    <ActionDialog
      title={isPlanned ? `Cancel ${name}` : `End ${name}`}
      tone="danger"
      effect={
        isPlanned
          ? 'It will not start. It cannot be planned again: create another one.'
          : 'Calls from now on get no bonus of it. Xp that it has given stays. It cannot go on: create another one.'
      }
      confirm={isPlanned ? 'Cancel the boost' : 'End the boost'}
      run={async (reason) => {
        const { data, error } = await client.mutation(endBoostMutation, { input: { environment, boostId, reason } })
        if (!data?.endBoost) return { error }
        return { done: 'The boost has ended.', auditEntry: data.endBoost.auditEntry }
      }}
      onClose={onClose}
    />
  )
}

interface FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

const NameField = (props: FieldProps) => (
  <TextField label="Name" name="name" hint="Players do not see it." maxLength={MAX_LABEL} required {...props} />
)

const MomentField = (props: FieldProps & { readonly label: string; readonly name: string }) => (
  <TextField isMoment required {...props} />
)
