import { useState } from 'react'
import { useClient } from 'urql'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { readAmount } from '../ui/amount.ts'
import { CheckField, TextField } from '../ui/form.tsx'
import { setRoleLimitsMutation } from './operations.ts'
import { LIMIT_LABELS, LIMITS_OF, type LimitName, limitsText, type RoleLimits } from './words.ts'

const readLimit = (text: string): string | null => (text.trim() === '0' ? '0' : readAmount(text, navigator.language))

/** Sets the limits of a role in an environment. */
export function SetLimits(props: {
  readonly environment: string
  readonly before: RoleLimits
  readonly onClose: () => void
}) {
  const { environment, before, onClose } = props
  const client = useClient()
  const names = LIMITS_OF[before.role]
  const role = before.role.toLowerCase()
  const [readsOnly, setReadsOnly] = useState(before.readsOnly)
  const [texts, setTexts] = useState<Readonly<Partial<Record<LimitName, string>>>>(
    Object.fromEntries(names.map((name) => [name, String(before[name] ?? '')])),
  )
  const most = (name: LimitName): string | null => readLimit(texts[name] ?? '')
  const count = (name: LimitName): number | null => (most(name) === null ? null : Number(most(name)))
  const isComplete = names.every((name) => (texts[name] ?? '').trim() === '' || most(name) !== null)
  const after = {
    readsOnly,
    maxCredit: most('maxCredit'),
    maxXp: most('maxXp'),
    maxGiftsPerDay: count('maxGiftsPerDay'),
    maxJobPlayers: count('maxJobPlayers'),
  }
  return (
    <ActionDialog
      title={`Limits of the role ${role} in ${environment}`}
      effect={
        isComplete
          ? `The role ${role} in ${environment}: ${limitsText({ role: before.role, ...after })} It applies to the next call.`
          : 'Enter whole numbers, or leave a field empty.'
      }
      confirm="Save"
      disabled={!isComplete}
      run={async (reason) => {
        const input = { environment, role: before.role, ...after, reason }
        const { data, error } = await client.mutation(setRoleLimitsMutation, { input })
        if (!data?.setRoleLimits) return { error }
        return { done: limitsText(data.setRoleLimits.limits), auditEntry: data.setRoleLimits.auditEntry }
      }}
      onClose={onClose}
    >
      <CheckField
        label="Only reads"
        name="readsOnly"
        hint="The role changes nothing in this environment."
        value={readsOnly}
        onChange={setReadsOnly}
      />
      {!readsOnly &&
        names.map((name) => (
          <TextField
            key={name}
            label={LIMIT_LABELS[name][0]}
            name={name}
            hint="Empty: no limit."
            inputMode="numeric"
            value={texts[name] ?? ''}
            onChange={(text) => setTexts((now) => ({ ...now, [name]: text }))}
          />
        ))}
    </ActionDialog>
  )
}
