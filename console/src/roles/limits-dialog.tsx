import { readAmount } from '../ui/amount.ts'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, useFields } from '../ui/fields.tsx'
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
  const names = LIMITS_OF[before.role]
  const role = before.role.toLowerCase()
  const textOf = (name: LimitName): string => String(before[name] ?? '')
  const fields = useFields({
    readsOnly: before.readsOnly,
    maxCredit: textOf('maxCredit'),
    maxXp: textOf('maxXp'),
    maxGiftsPerDay: textOf('maxGiftsPerDay'),
    maxJobPlayers: textOf('maxJobPlayers'),
  })
  const { readsOnly } = fields.values
  const most = (name: LimitName): string | null => readLimit(fields.values[name])
  const count = (name: LimitName): number | null => (most(name) === null ? null : Number(most(name)))
  const isComplete = names.every((name) => fields.values[name].trim() === '' || most(name) !== null)
  const after = {
    readsOnly,
    maxCredit: most('maxCredit'),
    maxXp: most('maxXp'),
    maxGiftsPerDay: count('maxGiftsPerDay'),
    maxJobPlayers: count('maxJobPlayers'),
  }
  return (
    <ChangeDialog
      title={`Limits of the role ${role} in ${environment}`}
      effect={
        isComplete
          ? `The role ${role} in ${environment}: ${limitsText({ role: before.role, ...after })} It applies to the next call.`
          : 'Enter whole numbers, or leave a field empty.'
      }
      confirm="Save"
      disabled={!isComplete}
      mutation={setRoleLimitsMutation}
      input={{ environment, role: before.role, ...after }}
      done={({ limits }) => ({ done: limitsText(limits) })}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          {
            kind: 'check',
            name: 'readsOnly',
            label: 'Only reads',
            hint: 'The role changes nothing in this environment.',
          },
          ...(readsOnly ? [] : names).map(
            (name) => ({ name, label: LIMIT_LABELS[name][0], hint: 'Empty: no limit.', inputMode: 'numeric' }) as const,
          ),
        ]}
      />
    </ChangeDialog>
  )
}
