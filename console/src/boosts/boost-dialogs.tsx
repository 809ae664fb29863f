import { useState } from 'react'
import { MAX_BOOST_PERCENT, MAX_LABEL } from '../../../src/base/limits.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, useFields } from '../ui/fields.tsx'
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

const NAME = {
  name: 'name',
  label: 'Name',
  hint: 'Players do not see it.',
  maxLength: MAX_LABEL,
  required: true,
} as const
const ENDS = { name: 'endsAt', label: 'Ends', isMoment: true, required: true } as const
const NEW: BoostFields & { readonly days: string } = {
  name: '',
  percent: '100',
  startsAt: '',
  endsAt: '',
  scenarios: '',
  sources: '',
  audience: 'EVERYBODY',
  days: '1',
}

export function CreateBoost({ onClose }: { onClose: () => void }) {
  const environment = useEnvironment()
  const fields = useFields(NEW)
  const { values } = fields
  const name = values.name.trim()
  const effect = effectOf(values)
  const [startsAt, endsAt] = [momentOf(values.startsAt), momentOf(values.endsAt)]
  const preview = useBoostPreview(environment, effect, Number(values.days))
  return (
    <ChangeDialog
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
      wide
      mutation={createBoostMutation}
      input={
        effect && startsAt && endsAt && name !== '' ? { environment, ...effect, name, startsAt, endsAt } : undefined
      }
      isOnce
      done="The boost is created."
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          NAME,
          {
            name: 'percent',
            label: 'Percent more xp',
            inputMode: 'numeric',
            hint: `1 to ${MAX_BOOST_PERCENT}. 100 doubles xp.`,
            required: true,
          },
          { name: 'startsAt', label: 'Starts', isMoment: true, required: true },
          ENDS,
          { kind: 'choice', name: 'audience', label: 'For', options: AUDIENCES },
          {
            kind: 'lines',
            name: 'scenarios',
            label: 'Scenarios',
            hint: 'Their ids, one a line. Empty for all.',
            rows: 2,
          },
          { kind: 'lines', name: 'sources', label: 'Sources of xp', hint: 'One a line. Empty for all.', rows: 2 },
          { kind: 'choice', name: 'days', label: 'Preview with the xp of', options: DAYS },
        ]}
      />
    </ChangeDialog>
  )
}

export function EditBoost({ boost, onClose }: { boost: Boost; onClose: () => void }) {
  const environment = useEnvironment()
  const [before] = useState(boost)
  const fields = useFields({ name: before.name, endsAt: fieldOf(before.endsAt) })
  const { name, endsAt: end } = fields.values
  const endsAt = end === fieldOf(before.endsAt) ? before.endsAt : momentOf(end)
  const isSame = name.trim() === before.name && endsAt === before.endsAt
  return (
    <ChangeDialog
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
      mutation={updateBoostMutation}
      input={{ environment, boostId: before.boostId, name: name.trim(), endsAt }}
      done="The boost is changed."
      onClose={onClose}
    >
      <Fields of={fields} list={[NAME, ENDS]} />
    </ChangeDialog>
  )
}

export function EndBoost({ boost, onClose }: { boost: Boost; onClose: () => void }) {
  const environment = useEnvironment()
  const [{ boostId, name, state }] = useState(boost)
  const isPlanned = state === 'PLANNED'
  return (
    <ChangeDialog
      title={isPlanned ? `Cancel ${name}` : `End ${name}`}
      tone="danger"
      effect={
        isPlanned
          ? 'It will not start. It cannot be planned again: create another one.'
          : 'Calls from now on get no bonus of it. Xp that it has given stays. It cannot go on: create another one.'
      }
      confirm={isPlanned ? 'Cancel the boost' : 'End the boost'}
      mutation={endBoostMutation}
      input={{ environment, boostId }}
      done="The boost has ended."
      onClose={onClose}
    />
  )
}
