import { useState } from 'react'
import { useClient, useQuery } from 'urql'
import type { ResultOf } from '../graphql.ts'
import { useLastWayIn } from '../project/last-way-in.tsx'
import { clientOf, OwnKey, refusalOf } from '../project/own-key.tsx'
import { useDenial, useOperator } from '../session/permission.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { RoleButton } from '../ui/button.tsx'
import { SelectField, TextAreaField, TextField } from '../ui/form.tsx'
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
  const [own, setOwn] = useState('')
  const [title, setTitle] = useState(before?.title ?? '')
  const [issuer, setIssuer] = useState(before?.issuer ?? '')
  const [clientId, setClientId] = useState(before?.clientId ?? '')
  const [clientSecret, setClientSecret] = useState('')
  const [groupsClaim, setGroupsClaim] = useState(before?.groupsClaim ?? 'groups')
  const [groupsText, setGroupsText] = useState(textOfGroups(before?.groups ?? []))
  const [scopes, setScopes] = useState((before?.scopes ?? ['openid', 'profile', 'email']).join(' '))
  const [hours, setHours] = useState(String(before?.sessionHours ?? 8))
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
    <ActionDialog
      title={before ? 'Change single sign-on' : 'Set up single sign-on'}
      effect={
        typeof groups === 'string'
          ? groups
          : `People of ${groups.length === 1 ? 'one group' : `${groups.length} groups`} sign in with their own accounts.${before ? ' People of a group sign in again if its role may change: it has another one, is gone, or now comes after a group with fewer rights. With another issuer, client or claim, everybody does.' : ''} Let the issuer send people back to ${consoleUrl}/sign-on/callback/${projectId}.`
      }
      confirm="Save"
      disabled={!isFilled || typeof groups === 'string'}
      wide
      run={async (reason) => {
        const client = await clientOf(own, projectId)
        if (!('mutation' in client)) return client
        const input = {
          ...settings,
          title: title.trim(),
          reason,
          sessionHours: Number(hours),
          groups: typeof groups === 'string' ? [] : [...groups],
        }
        const { data, error } = await client.mutation(setSignOnMutation, { input })
        if (!data?.setSingleSignOn) return refusalOf(error)
        onSet()
        setOwn('')
        return {
          done: 'Saved. Try it: sign out, and sign in with the new button.',
          auditEntry: data.setSingleSignOn.auditEntry,
        }
      }}
      onClose={onClose}
    >
      <OwnKey value={own} onChange={setOwn} />
      <TextField
        label="Name of the accounts"
        name="title"
        hint="On the button, such as “Studio account”."
        value={title}
        onChange={setTitle}
        required
      />
      <TextField
        label="Issuer"
        name="issuer"
        hint="Its address, such as https://accounts.google.com."
        value={issuer}
        onChange={setIssuer}
        required
      />
      <TextField
        label="Client id"
        name="clientId"
        hint="Of a client that the issuer has for the console."
        value={clientId}
        onChange={setClientId}
        autoComplete="off"
        required
      />
      <TextField
        label="Client secret"
        name="clientSecret"
        type="password"
        hint={before?.hasClientSecret ? 'Empty: the stored one stays.' : 'Empty for a public client.'}
        value={clientSecret}
        onChange={setClientSecret}
        autoComplete="off"
      />
      <TextField
        label="Claim with the groups"
        name="groupsClaim"
        hint="Most issuers call it groups or roles."
        value={groupsClaim}
        onChange={setGroupsClaim}
        required
      />
      <TextField
        label="Scopes"
        name="scopes"
        hint="Some issuers send groups only where a scope asks for them, such as groups."
        value={scopes}
        onChange={setScopes}
        required
      />
      <TestSignOn
        key={JSON.stringify(settings)}
        settings={settings}
        disabled={settings.issuer === '' || settings.clientId === ''}
      />
      <TextAreaField
        label="Groups and their roles"
        name="groups"
        hint="One in a line, such as live-ops: support. A person has the role of the first line with one of its groups."
        value={groupsText}
        onChange={setGroupsText}
        rows={6}
      />
      <SelectField
        label="Sign out after"
        name="sessionHours"
        value={hours}
        onChange={setHours}
        options={HOURS.map((one) => [String(one), one === 1 ? '1 hour' : `${one} hours`])}
      />
    </ActionDialog>
  )
}

function DeleteSignOn({ title, onClose }: { title: string; onClose: () => void }) {
  const client = useClient()
  const last = useLastWayIn()
  return (
    <ActionDialog
      title="Delete single sign-on"
      effect={`Nobody signs in with ${title} any more, and everybody who is signed in so is signed out within two seconds.`}
      confirm="Delete"
      tone="danger"
      run={async (reason) => {
        const input = { reason, allowLast: last.allowLast }
        const { data, error } = await client.mutation(deleteSignOnMutation, { input }, SIGN_ON)
        last.noteRefusal(error)
        if (!data?.deleteSingleSignOn) return { error }
        return { done: 'Single sign-on is deleted.', auditEntry: data.deleteSingleSignOn.auditEntry }
      }}
      onClose={onClose}
    >
      {last.field}
    </ActionDialog>
  )
}
