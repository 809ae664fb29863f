import { useState } from 'react'
import { useQuery } from 'urql'
import { useDenial } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { Answer } from '../ui/states.tsx'
import { AccountPolicy } from './account-policy.tsx'
import { CustomProviders, type ProviderAction } from './custom-providers.tsx'
import { LoginLog } from './login-log.tsx'
import { LoginStatistics } from './login-statistics.tsx'
import { type CustomProvider, providersQuery } from './operations.ts'
import { EditProvider, RemoveProvider } from './provider-dialogs.tsx'
import { RotateSecret } from './rotate-secret.tsx'
import { type SignIn, signInsOf } from './sign-in.ts'
import { EditIssuer, EditSignIn, RemoveIssuer } from './sign-in-dialogs.tsx'
import { type SignInAction, SignInTable } from './sign-in-table.tsx'
import { StoredSettings } from './stored-settings.tsx'
import { TestProvider } from './test-provider.tsx'
import { TestToken } from './test-token.tsx'

type Opened =
  | { readonly action: 'add'; readonly all: readonly CustomProvider[] }
  | { readonly action: 'issuer' }
  | { readonly action: SignInAction; readonly signIn: SignIn }
  | { readonly action: ProviderAction; readonly provider: CustomProvider }

export default function ProvidersPage() {
  const canReadPlayers = useDenial('players') === undefined
  const environment = useEnvironment()
  const [opened, setOpened] = useState<Opened>()
  const [result, read] = useQuery({
    query: providersQuery,
    variables: { environment },
    requestPolicy: 'cache-and-network',
  })
  const [found] = result.data?.authProviders ?? []
  const custom = found?.custom ?? []
  const signIns = found ? signInsOf(found).filter(({ isEnabled }) => isEnabled !== null) : []
  return (
    <Page
      title="Providers"
      actions={
        <RoleButton needs="manage" tone="primary" onClick={() => setOpened({ action: 'add', all: custom })}>
          New provider
        </RoleButton>
      }
    >
      <Panel
        title="Custom login"
        about="A login calls the studio’s webhook, which names the player. Changes count from the next login on."
      >
        <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
          {() => (
            <>
              <CustomProviders
                providers={custom}
                openBreakers={found?.openBreakers ?? []}
                onAction={(action, provider) => setOpened({ action, provider })}
              />
            </>
          )}
        </Answer>
      </Panel>
      <Panel
        title="Other ways to sign in"
        about="Players sign in by an ID token of Google, of Apple or of an issuer that you add, or as guests by an id of their device."
      >
        <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
          {({ authProviders: [found] }) => (
            <>
              {found && (
                <SignInTable signIns={signInsOf(found)} onAction={(action, signIn) => setOpened({ action, signIn })} />
              )}
              <div className="actions">
                <RoleButton needs="manage" onClick={() => setOpened({ action: 'issuer' })}>
                  New issuer
                </RoleButton>
              </div>
              {found?.google != null && <StoredSettings name="Google" value={found.google} />}
              {found?.apple != null && <StoredSettings name="Apple" value={found.apple} />}
            </>
          )}
        </Answer>
      </Panel>
      <AccountPolicy />
      {opened && <OpenedDialog of={opened} onClose={() => setOpened(undefined)} />}
      <LoginStatistics providers={[...custom.map(({ name }) => name), ...signIns.map(({ provider }) => provider)]} />
      {canReadPlayers && <LoginLog />}
    </Page>
  )
}

function OpenedDialog({ of, onClose }: { of: Opened; onClose: () => void }) {
  if ('signIn' in of) return <OpenedSignIn action={of.action} signIn={of.signIn} onClose={onClose} />
  switch (of.action) {
    case 'issuer':
      return <EditIssuer onClose={onClose} />
    case 'add':
      return <EditProvider all={of.all} onClose={onClose} />
    case 'edit':
      return <EditProvider all={[]} provider={of.provider} onClose={onClose} />
    case 'remove':
      return <RemoveProvider provider={of.provider} onClose={onClose} />
    case 'rotate':
      return <RotateSecret provider={of.provider} onClose={onClose} />
    case 'test':
      return <TestProvider provider={of.provider} onClose={onClose} />
  }
}

function OpenedSignIn(props: { action: SignInAction; signIn: SignIn; onClose: () => void }) {
  const { action, signIn, onClose } = props
  if (action === 'test') return <TestToken signIn={signIn} onClose={onClose} />
  if (action === 'remove') return <RemoveIssuer signIn={signIn} onClose={onClose} />
  if (signIn.kind === 'oidc') return <EditIssuer signIn={signIn} onClose={onClose} />
  return <EditSignIn signIn={signIn} onClose={onClose} />
}
