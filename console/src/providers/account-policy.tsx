import { useState } from 'react'
import { useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, useFields } from '../ui/fields.tsx'
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

const FIELDS = [
  {
    name: 'maxSessions',
    label: 'Most sessions of a player',
    hint: '1 to 100. Empty for any number.',
    inputMode: 'numeric',
  },
  { kind: 'choice', name: 'whenFull', label: 'A login above the limit', options: WHEN_FULL },
  {
    name: 'deletionDays',
    label: 'Days until a deletion',
    hint: '0 to 90. A login before then cancels the deletion.',
    inputMode: 'numeric',
    required: true,
  },
  {
    kind: 'choice',
    name: 'identitiesAtDeletion',
    label: 'Identities of a player that deletes itself',
    options: IDENTITIES,
  },
  {
    kind: 'choice',
    name: 'linkTickets',
    label: 'A link that meets another player',
    options: TICKETS,
    hint: 'The webhook is asked for the link, and not for that login.',
  },
  { kind: 'choice', name: 'clientProfile', label: 'Clients change nickname, region and language', options: PROFILES },
] as const

function EditPolicy({ policy, onClose }: { policy: Policy; onClose: () => void }) {
  // The policy with which the dialog was opened: the page may read it again meanwhile.
  const [before] = useState(policy)
  const environment = useEnvironment()
  const fields = useFields({
    maxSessions: String(before.maxSessions ?? ''),
    whenFull: before.whenFull,
    deletionDays: String(before.deletionDays),
    identitiesAtDeletion: before.identitiesAtDeletion,
    clientProfile: before.clientProfile,
    linkTickets: before.linkTickets ? 'yes' : 'no',
  })
  const { maxSessions, deletionDays, linkTickets, ...chosen } = fields.values
  const wanted: Policy = {
    ...chosen,
    maxSessions: maxSessions.trim() === '' ? null : Number(maxSessions),
    deletionDays: Number(deletionDays),
    linkTickets: linkTickets === 'yes',
  }
  const old: Readonly<Record<string, string>> = factsOf(before)
  const changed = Object.entries(factsOf(wanted)).filter(([name, words]) => words !== old[name])
  const isSame = changed.length === 0
  return (
    <ChangeDialog
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
      mutation={setAccountPolicyMutation}
      input={{ environment, ...wanted }}
      done="The policy is saved."
      onClose={onClose}
    >
      <Fields of={fields} list={FIELDS} />
    </ChangeDialog>
  )
}
