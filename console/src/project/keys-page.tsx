import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useDenial } from '../session/permission.tsx'
import { RoleButton } from '../ui/button.tsx'
import { CheckField } from '../ui/form.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { type Pages, usePages } from '../ui/pages.ts'
import { Empty, Notice } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { NewPlatformKey, NewSdkKey, RevokeKey } from './key-dialogs.tsx'
import { platformKeysQuery, sdkKeysQuery } from './operations.ts'

type Opened =
  | { readonly kind: 'sdk' }
  | { readonly kind: 'platform' }
  | { readonly kind: 'revoke'; readonly of: 'sdk' | 'platform'; readonly keyId: string; readonly prefix: string }

interface KeyRow {
  readonly id: string
  readonly keyId: string
  readonly prefix: string
  readonly label: string | null
  readonly createdAt: string
  readonly createdBy: string | null
  readonly revokedAt: string | null
  readonly revokedBy: string | null
}

export default function KeysPage() {
  const [opened, setOpened] = useState<Opened>()
  const [search, setSearch] = useSearchParams()
  const denial = useDenial('ADMIN')
  const isAll = search.get('revoked') === 'yes'
  const sdkKeys = usePages({
    query: sdkKeysQuery,
    variables: {},
    connectionOf: (data) => data.sdkKeys,
    additionalTypenames: ['SdkKey'],
    pause: denial !== undefined,
  })
  const platformKeys = usePages({
    query: platformKeysQuery,
    variables: {},
    connectionOf: (data) => data.platformKeys,
    additionalTypenames: ['PlatformKey'],
    pause: denial !== undefined,
  })
  if (denial !== undefined)
    return (
      <Page title="Keys">
        <Empty title="Not allowed">{denial}</Empty>
      </Page>
    )
  const columns = (of: 'sdk' | 'platform') => [
    { title: 'Key', cell: ({ prefix }: KeyRow) => <code>{prefix}…</code> },
    { title: 'Purpose', cell: ({ label }: KeyRow) => label ?? '–' },
    { title: 'Created', cell: ({ createdAt }: KeyRow) => <Time at={createdAt} parts="minute" /> },
    { title: 'By', cell: ({ createdBy }: KeyRow) => createdBy ?? 'command line' },
    {
      title: 'State',
      cell: ({ revokedAt }: KeyRow) =>
        revokedAt === null ? (
          <span className="badge good">valid</span>
        ) : (
          <>
            <span className="badge bad">revoked</span> <Time at={revokedAt} parts="minute" />
          </>
        ),
    },
    {
      title: 'Action',
      cell: ({ keyId, prefix, revokedAt }: KeyRow) =>
        revokedAt === null && (
          <RoleButton
            needs="ADMIN"
            tone="quiet"
            label={`Revoke ${prefix}`}
            onClick={() => setOpened({ kind: 'revoke', of, keyId, prefix })}
          >
            Revoke
          </RoleButton>
        ),
    },
  ]
  const shown = <Row extends KeyRow>(pages: Pages<Row>): Pages<Row> => ({
    ...pages,
    rows: isAll ? pages.rows : pages.rows.filter(({ revokedAt }) => revokedAt === null),
  })
  return (
    <Page title="Keys">
      <Notice tone="info">
        A key is shown once, when it is made. Only its hash is stored. SDK keys are in game clients and are no secret:
        they name the environment. Platform keys are secrets of the studio.
      </Notice>
      <CheckField
        label="Show revoked keys"
        name="revoked"
        value={isAll}
        onChange={(isOn) => setSearch(isOn ? { revoked: 'yes' } : {}, { replace: true })}
      />
      <Panel
        title="SDK keys"
        actions={
          <RoleButton needs="ADMIN" onClick={() => setOpened({ kind: 'sdk' })}>
            New SDK key
          </RoleButton>
        }
      >
        <PagedTable
          caption="SDK keys"
          pages={shown(sdkKeys)}
          keyOf={({ id }) => id}
          empty={<Empty title="There is no valid SDK key">Game clients cannot log in without one.</Empty>}
          columns={[{ title: 'Environment', cell: ({ environment }) => environment }, ...columns('sdk')]}
        />
      </Panel>
      <Panel
        title="Platform keys"
        actions={
          <RoleButton needs="ADMIN" onClick={() => setOpened({ kind: 'platform' })}>
            New platform key
          </RoleButton>
        }
      >
        <PagedTable
          caption="Platform keys"
          pages={shown(platformKeys)}
          keyOf={({ id }) => id}
          empty={<Empty title="There is no valid platform key" />}
          columns={[{ title: 'Role', cell: ({ role }) => role.toLowerCase() }, ...columns('platform')]}
        />
      </Panel>
      {opened?.kind === 'sdk' && <NewSdkKey onClose={() => setOpened(undefined)} />}
      {opened?.kind === 'platform' && (
        <NewPlatformKey onMade={platformKeys.reload} onClose={() => setOpened(undefined)} />
      )}
      {opened?.kind === 'revoke' && <RevokeKey {...opened} onClose={() => setOpened(undefined)} />}
    </Page>
  )
}
