import { RoleButton } from '../ui/button.tsx'
import { Table } from '../ui/table.tsx'
import type { SignIn } from './sign-in.ts'

export type SignInAction = 'edit' | 'test' | 'remove'

export function SignInTable(props: {
  readonly signIns: readonly SignIn[]
  readonly onAction: (action: SignInAction, signIn: SignIn) => void
}) {
  const button = (action: SignInAction, words: string, signIn: SignIn) => (
    <RoleButton
      key={action}
      needs="manage"
      tone="quiet"
      label={`${words} ${signIn.title}`}
      onClick={() => props.onAction(action, signIn)}
    >
      {words}
    </RoleButton>
  )
  return (
    <Table
      whole
      caption="Other ways to sign in"
      rows={props.signIns}
      empty={null}
      keyOf={({ provider }) => provider}
      columns={[
        { title: 'Name', cell: ({ title }) => title },
        {
          title: 'Actions',
          cell: (signIn) => (
            <span className="actions">
              {signIn.kind !== 'device' && signIn.isEnabled && button('test', 'Test', signIn)}
              {button('edit', signIn.isEnabled === null ? 'Set up' : 'Edit', signIn)}
              {signIn.kind === 'oidc' && button('remove', 'Remove', signIn)}
            </span>
          ),
        },
        { title: 'State', cell: (signIn) => <State of={signIn} /> },
        {
          title: 'Issuer',
          cell: ({ kind, issuer }) =>
            issuer ? <code>{issuer.issuer}</code> : kind === 'device' ? 'an id of the device' : 'the platform itself',
        },
        { title: 'Clients', cell: ({ clients }) => clients.map((id) => <div key={id}>{id}</div>) },
      ]}
    />
  )
}

function State({ of: { isEnabled, missing } }: { of: SignIn }) {
  if (isEnabled === null) return <span className="badge">not set up</span>
  if (missing.length > 0)
    return (
      <>
        <span className="badge warn">not usable yet</span>
        {missing.map((text) => (
          <div key={text} className="muted">
            {text}
          </div>
        ))}
      </>
    )
  return <span className={isEnabled ? 'badge good' : 'badge warn'}>{isEnabled ? 'enabled' : 'disabled'}</span>
}
