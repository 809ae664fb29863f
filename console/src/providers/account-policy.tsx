import { useState } from 'react'
import { useClient, useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { RoleButton } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import { Facts, Panel } from '../ui/page.tsx'
import { Answer } from '../ui/states.tsx'
import { accountPolicyQuery, setAccountPolicyMutation } from './operations.ts'

// What the environment decides about the accounts of its players: their sessions, and the delay of deletions.

type WhenFull = 'END_OLDEST' | 'REFUSE'

interface Policy {
  readonly maxSessions: number | null
  readonly whenFull: WhenFull
  readonly deletionDays: number
}

const WHEN_FULL: readonly (readonly [WhenFull, string])[] = [
  ['END_OLDEST', 'ends the oldest session'],
  ['REFUSE', 'is refused'],
]

function sessionsOf({ maxSessions, whenFull }: Policy): string {
  if (maxSessions === null) return 'any number'
  const then = whenFull === 'REFUSE' ? 'a further login is refused' : 'a further login ends the oldest'
  return `${maxSessions} at once; ${then}`
}

const deletionOf = ({ deletionDays: days }: Policy): string =>
  days === 0
    ? 'at once'
    : `${days} ${days === 1 ? 'day' : 'days'} after the player asked for it, unless the player logs in`

export function AccountPolicy() {
  const environment = useEnvironment()
  const [isOpen, setOpen] = useState(false)
  const [result, read] = useQuery({ query: accountPolicyQuery, requestPolicy: 'cache-and-network' })
  const policy = result.data?.environments.find(({ name }) => name === environment)?.accountPolicy
  return (
    <Panel
      title="Accounts of players"
      actions={
        <RoleButton needs="manage" disabled={!policy} onClick={() => setOpen(true)}>
          Change
        </RoleButton>
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {() => policy && <Facts of={{ Sessions: sessionsOf(policy), 'Deletion by the player': deletionOf(policy) }} />}
      </Answer>
      {isOpen && policy && <EditPolicy policy={policy} onClose={() => setOpen(false)} />}
    </Panel>
  )
}

function EditPolicy({ policy, onClose }: { policy: Policy; onClose: () => void }) {
  // The policy with which the dialog was opened: the page may read it again meanwhile.
  const [before] = useState(policy)
  const environment = useEnvironment()
  const client = useClient()
  const [maxSessions, setMaxSessions] = useState(String(before.maxSessions ?? ''))
  const [whenFull, setWhenFull] = useState<WhenFull>(before.whenFull)
  const [deletionDays, setDeletionDays] = useState(String(before.deletionDays))
  const wanted: Policy = {
    maxSessions: maxSessions.trim() === '' ? null : Number(maxSessions),
    whenFull,
    deletionDays: Number(deletionDays),
  }
  const isSame = sessionsOf(wanted) === sessionsOf(before) && deletionOf(wanted) === deletionOf(before)
  return (
    <ActionDialog
      title={`Accounts in ${environment}`}
      effect={
        isSame ? (
          'Nothing is changed yet.'
        ) : (
          <>
            <p>Sessions of a player, from the next login on: {sessionsOf(wanted)}.</p>
            <p>Deletion: {deletionOf(wanted)}. Deletions that are planned keep their time.</p>
          </>
        )
      }
      confirm="Save"
      disabled={isSame}
      run={async (reason) => {
        const { data, error } = await client.mutation(setAccountPolicyMutation, {
          input: { environment, reason, ...wanted },
        })
        if (!data?.setAccountPolicy) return { error }
        return { done: 'The policy is saved.', auditEntry: data.setAccountPolicy.auditEntry }
      }}
      onClose={onClose}
    >
      <TextField
        label="Most sessions of a player"
        name="maxSessions"
        inputMode="numeric"
        hint="1 to 100. Empty for any number."
        value={maxSessions}
        onChange={setMaxSessions}
      />
      <SelectField
        label="A login that would be one too many"
        name="whenFull"
        value={whenFull}
        onChange={(chosen) => setWhenFull(chosen as WhenFull)}
        options={WHEN_FULL}
      />
      <TextField
        label="Days until a deletion"
        name="deletionDays"
        inputMode="numeric"
        hint="0 to 90. A login before then cancels the deletion."
        value={deletionDays}
        onChange={setDeletionDays}
        required
      />
    </ActionDialog>
  )
}
