import { useState } from 'react'
import { useQuery } from 'urql'
import type { ResultOf } from '../graphql.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { Answer } from '../ui/states.tsx'
import { CustomProviders, type ProviderAction } from './custom-providers.tsx'
import { LoginLog } from './login-log.tsx'
import { LoginStatistics } from './login-statistics.tsx'
import { providersQuery } from './operations.ts'
import { EditProvider, RemoveProvider } from './provider-dialogs.tsx'
import { RotateSecret } from './rotate-secret.tsx'
import { StoredSettings } from './stored-settings.tsx'
import { TestProvider } from './test-provider.tsx'

export type CustomProvider = ResultOf<typeof providersQuery>['authProviders'][number]['custom'][number]

type Opened =
  | { readonly action: 'add'; readonly all: readonly CustomProvider[] }
  | { readonly action: ProviderAction; readonly provider: CustomProvider }

export default function ProvidersPage() {
  const environment = useEnvironment()
  const [opened, setOpened] = useState<Opened>()
  const [result, read] = useQuery({
    query: providersQuery,
    variables: { environment },
    requestPolicy: 'cache-and-network',
  })
  const custom = result.data?.authProviders[0]?.custom ?? []
  return (
    <Page
      title="Providers"
      actions={
        <RoleButton needs="ADMIN" tone="primary" onClick={() => setOpened({ action: 'add', all: custom })}>
          New provider
        </RoleButton>
      }
    >
      <Panel title="Custom login">
        <p className="muted">
          A login calls the studio’s webhook, which names the player. Changes count from the next login on.
        </p>
        <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
          {({ authProviders: [found] }) => (
            <>
              <CustomProviders providers={custom} onAction={(action, provider) => setOpened({ action, provider })} />
              {found?.google != null && <StoredSettings name="Google" value={found.google} />}
              {found?.apple != null && <StoredSettings name="Apple" value={found.apple} />}
            </>
          )}
        </Answer>
      </Panel>
      {opened && <OpenedDialog of={opened} onClose={() => setOpened(undefined)} />}
      <LoginStatistics providers={custom.map(({ name }) => name)} />
      <LoginLog />
    </Page>
  )
}

function OpenedDialog({ of, onClose }: { of: Opened; onClose: () => void }) {
  switch (of.action) {
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
