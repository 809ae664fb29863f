import { useRef } from 'react'
import { isProduction, MAX_NAME, MAX_SLUG } from '../../../src/base/limits.ts'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { codeOf, isOutcomeOpen } from '../ui/errors.ts'
import { Fields, useFields } from '../ui/fields.tsx'
import { createEnvironmentMutation, renameProjectMutation } from './operations.ts'

export function CreateEnvironment({ onClose }: { onClose: () => void }) {
  const fields = useFields({ name: '' })
  const { name } = fields.values
  /** The name in a request whose answer was lost. */
  const lost = useRef<string>(undefined)
  const done = `${name} is created. Next, publish a scenario, set a provider and make an SDK key.`
  return (
    <ChangeDialog
      title="New environment"
      effect={`Makes ${name || 'an environment'} without keys, providers, scenarios and players. ${isProduction(name) ? 'Its name marks it in red as an environment of real players. ' : ''}Environments cannot be removed or renamed.`}
      confirm="Create"
      disabled={name === ''}
      mutation={createEnvironmentMutation}
      input={{ name }}
      // The cached answer of a project without environments contains no `Environment`, so `Project` makes it expire.
      context={{ additionalTypenames: ['Project'] }}
      done={done}
      refused={(error) => {
        if (isOutcomeOpen(error)) lost.current = name
        if (codeOf(error) !== 'ENVIRONMENT_ALREADY_EXISTS') return undefined
        return lost.current === name
          ? { done: `${done} The audit log has the earlier request, whose answer was lost.` }
          : { refusal: `There is already an environment ${name}.` }
      }}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          {
            name: 'name',
            label: 'Name',
            hint: `Letters a to z, digits, _ and -, at most ${MAX_SLUG}. Names that begin with prod or live are marked in red.`,
            isTrimmed: true,
            required: true,
          },
        ]}
      />
    </ChangeDialog>
  )
}

export function RenameProject({ name: before, onClose }: { name: string; onClose: () => void }) {
  const fields = useFields({ name: before })
  const name = fields.values.name.trim()
  return (
    <ChangeDialog
      title="Rename the project"
      effect={name === before ? 'Enter another name.' : `${before} becomes ${name}. Keys, links and ids stay.`}
      confirm="Rename"
      disabled={name === '' || name === before}
      mutation={renameProjectMutation}
      input={{ name }}
      done={`The project is called ${name}.`}
      onClose={onClose}
    >
      <Fields of={fields} list={[{ name: 'name', label: 'Name', maxLength: MAX_NAME, required: true }]} />
    </ChangeDialog>
  )
}
