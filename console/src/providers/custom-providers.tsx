import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Id } from '../ui/text.tsx'
import { Ago, Time } from '../ui/time.tsx'
import type { CustomProvider } from './operations.ts'

const ACTIONS = { test: 'Test', edit: 'Edit', rotate: 'Rotate secret', remove: 'Remove' } as const
const KINDS = ['test', 'edit', 'rotate', 'remove'] as const

export type ProviderAction = (typeof KINDS)[number]

export function CustomProviders(props: {
  readonly providers: readonly CustomProvider[]
  /** Names of providers whose breaker is open. */
  readonly openBreakers: readonly string[]
  readonly onAction: (action: ProviderAction, provider: CustomProvider) => void
}) {
  const environment = useEnvironment()
  return (
    <Table
      whole
      caption="Custom providers"
      rows={props.providers}
      empty={<Empty title={`No provider in ${environment} yet`}>Custom logins fail before one is set.</Empty>}
      keyOf={({ name }) => name}
      columns={[
        { title: 'Name', cell: ({ name }) => name },
        {
          title: 'Actions',
          cell: (provider) => (
            <span className="actions">
              {KINDS.map((kind) => (
                <RoleButton
                  key={kind}
                  needs="manage"
                  tone="quiet"
                  label={`${ACTIONS[kind]} ${provider.name}`}
                  onClick={() => props.onAction(kind, provider)}
                >
                  {ACTIONS[kind]}
                </RoleButton>
              ))}
            </span>
          ),
        },
        {
          title: 'State',
          cell: ({ name, enabled }) => (
            <>
              <span className={enabled ? 'badge good' : 'badge warn'}>{enabled ? 'enabled' : 'disabled'}</span>
              {enabled && props.openBreakers.includes(name) && <span className="badge bad">webhook fails</span>}
            </>
          ),
        },
        {
          title: 'Webhook',
          cell: ({ url, certificatesExpireAt: expiry }) => (
            <>
              <code>{url}</code>
              {expiry && <Expiry at={expiry} />}
            </>
          ),
        },
        { title: 'Secret', cell: (provider) => <Secret of={provider} /> },
        { title: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
      ]}
    />
  )
}

/** How long before the end of a certificate the page warns. */
const WARN_DAYS = 30

function Expiry({ at }: { at: string }) {
  const leftMs = Date.parse(at) - Date.now()
  const isSoon = leftMs < WARN_DAYS * 86_400_000
  return (
    <div className={isSoon ? undefined : 'muted'}>
      {isSoon && (
        <span className={leftMs < 0 ? 'badge bad' : 'badge warn'}>{leftMs < 0 ? 'expired' : 'expires soon'}</span>
      )}{' '}
      certificates until <Time at={at} parts="minute" />
    </div>
  )
}

function Secret({ of: { hasSecret, replacedSecretsExpireAt, publicKey } }: { of: CustomProvider }) {
  if (!hasSecret) return <span className="badge bad">none</span>
  return (
    <>
      stored
      {publicKey && (
        <div>
          public key <Id of={publicKey} />
        </div>
      )}
      {replacedSecretsExpireAt.map((at) => (
        <div key={at} className="muted">
          a replaced one signs until <Time at={at} parts="minute" />
        </div>
      ))}
    </>
  )
}
