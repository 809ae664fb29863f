import { useState } from 'react'
import { useQuery } from 'urql'
import type { ResultOf } from '../graphql.ts'
import { useLastWayIn } from '../project/last-way-in.tsx'
import { clientOf, OWN_KEY, refusalOf } from '../project/own-key.ts'
import { useDenial, useOperator } from '../session/permission.tsx'
import { RoleButton } from '../ui/button.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, type FormField, useFields } from '../ui/fields.tsx'
import { Panel } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Id } from '../ui/text.tsx'
import { Ago } from '../ui/time.tsx'
import { readGroups, textOfGroups } from './groups-text.ts'
import { deleteSignOnMutation, setSignOnMutation, type signOnFragment, signOnQuery } from './operations.ts'
import { TestSignOn } from './test-sign-on.tsx'

type SignOn = ResultOf<typeof signOnFragment>

const SIGN_ON = { additionalTypenames: ['SingleSignOn'] }
const HOURS = [1, 2, 4, 8, 12]

/** How people sign in with the studio's own accounts, and which groups have which role. */
export function SingleSignOn() {
  const denial = useDenial('manage')
  if (denial === undefined) return <Settings />
  return (
    <Panel title="Single sign-on">
      <Empty title="Not shown">{denial}</Empty>
    </Panel>
  )
}

function Settings() {
  const [open, setOpen] = useState<'set' | { readonly deleted: string }>()
  const [result, read] = useQuery({ query: signOnQuery, requestPolicy: 'cache-and-network', context: SIGN_ON })
  const again = () => read({ requestPolicy: 'network-only' })
  const signOn = result.data?.singleSignOn ?? null
  const close = () => setOpen(undefined)
  return (
    <Panel
      title="Single sign-on"
      about="A session ends after its hours, and at once when a change may take its role, or single sign-on is deleted. A person has the role of the first group of the list that it is in."
      actions={
        <>
          {signOn && (
            <RoleButton
              needs="manage"
              tone="quiet"
              label="Delete single sign-on"
              onClick={() => setOpen({ deleted: signOn.title })}
            >
              Delete
            </RoleButton>
          )}
          <RoleButton
            needs="manage"
            label={signOn ? 'Change single sign-on' : 'Set up single sign-on'}
            onClick={() => setOpen('set')}
          >
            {signOn ? 'Change' : 'Set up'}
          </RoleButton>
        </>
      }
    >
      <Answer of={result} onRetry={again}>
        {({ singleSignOn }) =>
          singleSignOn === null ? (
            <Empty title="People sign in with platform keys">
              With an OpenID Connect issuer, such as Google Workspace, Entra ID, Okta or Keycloak, they sign in with
              their own accounts, and their groups decide their roles.
            </Empty>
          ) : (
            <Shown of={singleSignOn} />
          )
        }
      </Answer>
      {open === 'set' && <SetSignOn before={signOn} onSet={again} onClose={close} />}
      {typeof open === 'object' && <DeleteSignOn title={open.deleted} onClose={close} />}
    </Panel>
  )
}

const Shown = ({
  of: { title, issuer, redirectUri, sessionHours, groups, groupsClaim, isOn, updatedAt },
}: {
  of: SignOn
}) => (
  <>
    <p>
      {isOn ? (
        <span className="badge good">on</span>
      ) : (
        <span className="badge bad">off: the keys of its groups were revoked</span>
      )}{' '}
      People sign in with {title}, by {issuer}, for {sessionHours} {sessionHours === 1 ? 'hour' : 'hours'}. Changed{' '}
      <Ago at={updatedAt} />.
    </p>
    <p className="muted">
      The issuer must send people back to <Id of={redirectUri} />
    </p>
    <Table
      caption={`The roles of groups in ${groupsClaim}`}
      rows={groups}
      keyOf={({ group }) => group}
      columns={[
        { title: `Group (claim ${groupsClaim})`, cell: ({ group }) => group },
        {
          title: 'Role',
          cell: ({ role, isOn }) => (
            <>
              {role.toLowerCase()} {!isOn && <span className="badge bad">off: its key was revoked</span>}
            </>
          ),
        },
      ]}
    />
  </>
)

function SetSignOn(props: {
  readonly before: SignOn | null
  /** Lists of this session do not know of a call with another key. */
  readonly onSet: () => void
  readonly onClose: () => void
}) {
  const { before, onSet, onClose } = props
  const { projectId } = useOperator()
  const fields = useFields(() => valuesOf(before))
  const { own, title, issuer, clientId, clientSecret, groupsClaim, groups: groupsText, scopes } = fields.values
  const consoleUrl = before?.consoleUrl ?? `${location.origin}/console`
  const groups = readGroups(groupsText)
  const settings = {
    issuer: issuer.trim(),
    clientId: clientId.trim(),
    consoleUrl,
    groupsClaim: groupsClaim.trim(),
    clientSecret: clientSecret.trim() || undefined,
    scopes: scopes.split(' ').filter((scope) => scope !== ''),
  }
  const isFilled = [own, title, issuer, clientId].every((text) => text.trim() !== '')
  return (
    <ChangeDialog
      title={before ? 'Change single sign-on' : 'Set up single sign-on'}
      effect={
        typeof groups === 'string'
          ? groups
          : `People of ${groups.length === 1 ? 'one group' : `${groups.length} groups`} sign in with their own accounts.${before ? ' People of a group sign in again if its role may change: it has another one, is gone, or now comes after a group with fewer rights. With another issuer, client or claim, everybody does.' : ''} Let the issuer send people back to ${consoleUrl}/sign-on/callback/${projectId}.`
      }
      confirm="Save"
      disabled={!isFilled}
      wide
      mutation={setSignOnMutation}
      input={
        typeof groups === 'string'
          ? undefined
          : { ...settings, title: title.trim(), sessionHours: Number(fields.values.sessionHours), groups: [...groups] }
      }
      via={() => clientOf(own, projectId)}
      done={() => {
        onSet()
        fields.set({ own: '' })
        return { done: 'Saved. Try it: sign out, and sign in with the new button.' }
      }}
      refused={refusalOf}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          OWN_KEY,
          ...issuerFields(before?.hasClientSecret === true),
          <TestSignOn
            key={JSON.stringify(settings)}
            settings={settings}
            disabled={settings.issuer === '' || settings.clientId === ''}
          />,
          {
            kind: 'lines',
            name: 'groups',
            label: 'Groups and their roles',
            hint: 'One in a line, such as live-ops: support. A person has the role of the first line with one of its groups.',
            rows: 6,
          },
          {
            kind: 'choice',
            name: 'sessionHours',
            label: 'Sign out after',
            options: HOURS.map((one) => [String(one), one === 1 ? '1 hour' : `${one} hours`]),
          },
        ]}
      />
    </ChangeDialog>
  )
}

const valuesOf = (before: SignOn | null) => ({
  own: '',
  title: before?.title ?? '',
  issuer: before?.issuer ?? '',
  clientId: before?.clientId ?? '',
  clientSecret: '',
  groupsClaim: before?.groupsClaim ?? 'groups',
  groups: textOfGroups(before?.groups ?? []),
  scopes: (before?.scopes ?? ['openid', 'profile', 'email']).join(' '),
  sessionHours: String(before?.sessionHours ?? 8),
})

const issuerFields = (hasSecret: boolean): readonly FormField<ReturnType<typeof valuesOf>>[] => [
  {
    name: 'title',
    label: 'Name of the accounts',
    hint: 'On the button, such as “Studio account”.',
    required: true,
  },
  { name: 'issuer', label: 'Issuer', hint: 'Its address, such as https://accounts.google.com.', required: true },
  {
    name: 'clientId',
    label: 'Client id',
    hint: 'Of a client that the issuer has for the console.',
    autoComplete: 'off',
    required: true,
  },
  {
    name: 'clientSecret',
    label: 'Client secret',
    type: 'password',
    hint: hasSecret ? 'Empty: the stored one stays.' : 'Empty for a public client.',
    autoComplete: 'off',
  },
  {
    name: 'groupsClaim',
    label: 'Claim with the groups',
    hint: 'Most issuers call it groups or roles.',
    required: true,
  },
  {
    name: 'scopes',
    label: 'Scopes',
    hint: 'Some issuers send groups only where a scope asks for them, such as groups.',
    required: true,
  },
]

function DeleteSignOn({ title, onClose }: { title: string; onClose: () => void }) {
  const last = useLastWayIn()
  return (
    <ChangeDialog
      title="Delete single sign-on"
      effect={`Nobody signs in with ${title} any more, and everybody who is signed in so is signed out within two seconds.`}
      confirm="Delete"
      tone="danger"
      mutation={deleteSignOnMutation}
      input={{ allowLast: last.allowLast }}
      context={SIGN_ON}
      done="Single sign-on is deleted."
      refused={last.noteRefusal}
      onClose={onClose}
    >
      {last.field}
    </ChangeDialog>
  )
}
