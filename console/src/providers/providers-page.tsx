import { useState } from 'react'
import { useQuery } from 'urql'
import type { Json, ResultOf } from '../graphql.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { LoginLog } from './login-log.tsx'
import { LoginStatistics } from './login-statistics.tsx'
import { providersQuery } from './operations.ts'
import { EditProvider, RemoveProvider, RotateSecret } from './provider-dialogs.tsx'
import { TestProvider } from './test-provider.tsx'

export type CustomProvider = ResultOf<typeof providersQuery>['authProviders'][number]['custom'][number]

type Opened =
  | { readonly kind: 'add' }
  | { readonly kind: 'edit' | 'remove' | 'rotate' | 'test'; readonly provider: CustomProvider }

export default function ProvidersPage() {
  const environment = useEnvironment()
  const [opened, setOpened] = useState<Opened>()
  const [result, read] = useQuery({
    query: providersQuery,
    variables: { environment },
    requestPolicy: 'cache-and-network',
  })
  const close = () => setOpened(undefined)
  return (
    <Page
      title="Providers"
      actions={
        <RoleButton needs="ADMIN" tone="primary" onClick={() => setOpened({ kind: 'add' })}>
          New provider
        </RoleButton>
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ authProviders: [found] }) => (
          <>
            <Panel title="Custom login">
              <p className="muted">
                A login calls the studio’s webhook, which names the player. Changes count from the next login on.
              </p>
              {(found?.custom.length ?? 0) === 0 ? (
                <Empty title={`No provider in ${environment} yet`}>Players cannot log in before one is set.</Empty>
              ) : (
                <Table
                  whole
                  caption="Custom providers"
                  rows={found?.custom ?? []}
                  keyOf={({ name }) => name}
                  columns={[
                    { title: 'Name', cell: ({ name }) => name },
                    {
                      title: 'State',
                      cell: ({ enabled }) => (
                        <span className={enabled ? 'badge good' : 'badge warn'}>
                          {enabled ? 'enabled' : 'disabled'}
                        </span>
                      ),
                    },
                    { title: 'Webhook', cell: ({ url }) => <code>{url}</code> },
                    { title: 'Secret', cell: (provider) => <Secret provider={provider} /> },
                    { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} parts="minute" /> },
                    {
                      title: 'Actions',
                      cell: (provider) => (
                        <span className="actions">
                          {(['test', 'edit', 'rotate', 'remove'] as const).map((kind) => (
                            <RoleButton
                              key={kind}
                              needs="ADMIN"
                              tone="quiet"
                              label={`${NAMES[kind]} ${provider.name}`}
                              onClick={() => setOpened({ kind, provider })}
                            >
                              {NAMES[kind]}
                            </RoleButton>
                          ))}
                        </span>
                      ),
                    },
                  ]}
                />
              )}
              <Stored name="Google" value={found?.google} />
              <Stored name="Apple" value={found?.apple} />
            </Panel>
            {opened?.kind === 'add' && <EditProvider all={found?.custom ?? []} onClose={close} />}
            {opened?.kind === 'edit' && (
              <EditProvider all={found?.custom ?? []} provider={opened.provider} onClose={close} />
            )}
            {opened?.kind === 'remove' && (
              <RemoveProvider all={found?.custom ?? []} provider={opened.provider} onClose={close} />
            )}
          </>
        )}
      </Answer>
      {opened?.kind === 'rotate' && <RotateSecret provider={opened.provider} onClose={close} />}
      {opened?.kind === 'test' && <TestProvider provider={opened.provider} onClose={close} />}
      <LoginStatistics />
      <LoginLog />
    </Page>
  )
}

const NAMES = { test: 'Test', edit: 'Edit', rotate: 'Rotate secret', remove: 'Remove' } as const

function Secret({ provider: { hasSecret, replacedSecretsExpireAt } }: { provider: CustomProvider }) {
  if (!hasSecret) return <span className="badge bad">none</span>
  return (
    <>
      stored
      {replacedSecretsExpireAt.map((at) => (
        <div key={at} className="muted">
          the old one signs until <Time at={at} parts="minute" />
        </div>
      ))}
    </>
  )
}

/** Settings that the service keeps for the studio, and does not use. */
const Stored = ({ name, value }: { name: string; value: Json | undefined }) =>
  value === null || value === undefined ? null : (
    <p className="muted">
      {name} has settings. They are only stored: the service logs nobody in through {name}.
    </p>
  )
