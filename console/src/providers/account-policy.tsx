import { useState } from 'react'
import { useClient, useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { RoleButton } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import { Facts, Panel } from '../ui/page.tsx'
import { Answer } from '../ui/states.tsx'
import { accountPolicyQuery, setAccountPolicyMutation } from './operations.ts'

// What the environment decides about the accounts of its players: their sessions, deletions, links and profiles.

type WhenFull = 'END_OLDEST' | 'REFUSE'

type IdentitiesAtDeletion = 'KEEP' | 'FREE'
type ClientProfile = 'AUTO' | 'ALLOW' | 'REFUSE'

interface Policy {
  readonly maxSessions: number | null
  readonly whenFull: WhenFull
  readonly deletionDays: number
  readonly linkTickets: boolean
  readonly identitiesAtDeletion: IdentitiesAtDeletion
  readonly clientProfile: ClientProfile
}

const WHEN_FULL: readonly (readonly [WhenFull, string])[] = [
  ['END_OLDEST', 'ends the oldest session'],
  ['REFUSE', 'is refused'],
]

const IDENTITIES: readonly (readonly [IdentitiesAtDeletion, string])[] = [
  ['KEEP', 'stay bound: a login is refused'],
  ['FREE', 'become free: a login creates a new player'],
]

const PROFILES: readonly (readonly [ClientProfile, string])[] = [
  ['AUTO', 'where a provider without a webhook is enabled'],
  ['ALLOW', 'always'],
  ['REFUSE', 'never'],
]

const TICKETS: readonly (readonly ['no' | 'yes', string])[] = [
  ['no', 'is refused'],
  ['yes', 'is refused, and lets the client sign in to that player'],
]

const wordsOf = <K extends string>(words: readonly (readonly [K, string])[], key: K): string =>
  words.find(([one]) => one === key)?.[1] ?? key

/** The facts of a policy, by their names on the page. */
const factsOf = (policy: Policy) => ({
  Sessions: sessionsOf(policy),
  'Deletion by the player': deletionOf(policy),
  'Its identities then': wordsOf(IDENTITIES, policy.identitiesAtDeletion),
  'A link that meets another player': wordsOf(TICKETS, policy.linkTickets ? 'yes' : 'no'),
  'Clients change profiles': wordsOf(PROFILES, policy.clientProfile),
})

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
        {() => policy && <Facts of={factsOf(policy)} />}
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
  const [identitiesAtDeletion, setIdentities] = useState<IdentitiesAtDeletion>(before.identitiesAtDeletion)
  const [linkTickets, setLinkTickets] = useState(before.linkTickets)
  const [clientProfile, setClientProfile] = useState<ClientProfile>(before.clientProfile)
  const wanted: Policy = {
    maxSessions: maxSessions.trim() === '' ? null : Number(maxSessions),
    whenFull,
    deletionDays: Number(deletionDays),
    identitiesAtDeletion,
    linkTickets,
    clientProfile,
  }
  const old: Readonly<Record<string, string>> = factsOf(before)
  const changed = Object.entries(factsOf(wanted)).filter(([name, words]) => words !== old[name])
  const isSame = changed.length === 0
  return (
    <ActionDialog
      title={`Accounts in ${environment}`}
      effect={
        isSame ? (
          'Nothing is changed yet.'
        ) : (
          <>
            {changed.map(([name, words]) => (
              <p key={name}>
                {name}: {words}.
              </p>
            ))}
            <p>Sessions that are too many end with the next login. Deletions that are planned keep their time.</p>
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
        label="A login above the limit"
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
      <SelectField
        label="Identities of a player that deletes itself"
        name="identitiesAtDeletion"
        value={identitiesAtDeletion}
        onChange={(chosen) => setIdentities(chosen as IdentitiesAtDeletion)}
        options={IDENTITIES}
      />
      <SelectField
        label="A link that meets another player"
        name="linkTickets"
        value={linkTickets ? 'yes' : 'no'}
        onChange={(chosen) => setLinkTickets(chosen === 'yes')}
        options={TICKETS}
        hint="The webhook is asked for the link, and not for that login."
      />
      <SelectField
        label="Clients change nickname, region and language"
        name="clientProfile"
        value={clientProfile}
        onChange={(chosen) => setClientProfile(chosen as ClientProfile)}
        options={PROFILES}
      />
    </ActionDialog>
  )
}
