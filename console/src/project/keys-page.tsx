import { useState } from 'react'
import { useQuery } from 'urql'
import { useDenial, useOperator } from '../session/permission.tsx'
import { ROLES } from '../session/roles.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { projectQuery } from '../shell/operations.ts'
import { RoleButton } from '../ui/button.tsx'
import { FilterSelect, useFilters } from '../ui/filters.tsx'
import { CheckField } from '../ui/form.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { type KeyKind, NewKey, type Revoked, RevokeKey } from './key-dialogs.tsx'
import { KeyTable } from './key-table.tsx'
import { platformKeysQuery, sdkKeysQuery, serverKeysQuery } from './operations.ts'

export default function KeysPage() {
  const denial = useDenial('manage')
  return (
    <Page title="Keys">
      {denial === undefined ? (
        <Keys />
      ) : (
        <Empty title="Not allowed">
          {denial} Ask an admin for the SDK key of a game client, the server key of a game server or the platform key of
          a tool.
        </Empty>
      )}
    </Page>
  )
}

function Keys() {
  const [opened, setOpened] = useState<KeyKind | Revoked>()
  const { keyId: ownKeyId } = useOperator()
  const current = useEnvironment()
  const filters = useFilters()
  const [{ data }] = useQuery({ query: projectQuery })
  const environments = data?.project.environments.map(({ name }) => name) ?? []
  const environment = filters.value('environment')
  const role = ROLES.find((one) => one === filters.value('role').toUpperCase())
  const isAll = filters.value('revoked') === 'yes'
  const sdkKeys = usePages({
    query: sdkKeysQuery,
    variables: { environment: environment || undefined },
    connectionOf: (answer) => answer.sdkKeys,
    additionalTypenames: ['SdkKey'],
  })
  const serverKeys = usePages({
    query: serverKeysQuery,
    variables: { environment: environment || undefined },
    connectionOf: (answer) => answer.serverKeys,
    additionalTypenames: ['ServerKey'],
  })
  const platformKeys = usePages({
    query: platformKeysQuery,
    variables: { role },
    connectionOf: (answer) => answer.platformKeys,
    additionalTypenames: ['PlatformKey'],
  })
  const close = () => setOpened(undefined)
  const first = environment || (environments.includes(current) ? current : (environments[0] ?? ''))
  const table = { isAll, makers: platformKeys.rows, ownKeyId }
  return (
    <>
      <p className="muted">
        A key is shown once, when it is made: only its hash is stored. SDK keys are in game clients and are no secret:
        they name the environment. Server keys are secrets of game servers, platform keys those of tools and people.
      </p>
      <CheckField
        label="Show revoked keys"
        name="revoked"
        value={isAll}
        onChange={(isOn) => filters.set('revoked', isOn ? 'yes' : '')}
      />
      <div className="filters">
        <FilterSelect
          label="Keys of the environment"
          name="environment"
          filters={filters}
          options={[['', 'all'], ...environments]}
        />
      </div>
      <Panel
        title="SDK keys"
        actions={
          <RoleButton needs="manage" onClick={() => setOpened('sdk')} disabled={environments.length === 0}>
            New SDK key
          </RoleButton>
        }
      >
        <KeyTable
          {...table}
          caption="SDK keys"
          pages={sdkKeys}
          first={{ title: 'Environment', cell: (key) => key.environment }}
          empty={{
            title: environment === '' ? 'There is no valid SDK key' : `${environment} has no valid SDK key`,
            text: 'Game clients cannot log in without one.',
          }}
          onRevoke={(key) => setOpened({ kind: 'sdk', key, environment: key.environment })}
        />
      </Panel>
      <Panel
        title="Server keys"
        actions={
          <RoleButton needs="manage" onClick={() => setOpened('server')} disabled={environments.length === 0}>
            New server key
          </RoleButton>
        }
      >
        <KeyTable
          {...table}
          caption="Server keys"
          pages={serverKeys}
          first={{ title: 'Environment', cell: (key) => key.environment }}
          empty={{
            title: environment === '' ? 'There is no valid server key' : `${environment} has no valid server key`,
            text: 'Game servers need one to call.',
          }}
          onRevoke={(key) => setOpened({ kind: 'server', key, environment: key.environment })}
        />
      </Panel>
      <Panel
        title="Platform keys"
        actions={
          <RoleButton needs="manage" onClick={() => setOpened('platform')}>
            New platform key
          </RoleButton>
        }
      >
        <div className="filters">
          <FilterSelect
            label="Keys with the role"
            name="role"
            filters={filters}
            options={[['', 'all'], ...ROLES.map((one) => one.toLowerCase())]}
          />
        </div>
        <KeyTable
          {...table}
          caption="Platform keys"
          pages={platformKeys}
          first={{ title: 'Role', cell: (key) => key.role.toLowerCase() }}
          empty={{
            title: role
              ? `There is no valid key with the role ${role.toLowerCase()}`
              : 'There is no valid platform key',
            text: 'Tools and people need one to work with the project.',
          }}
          onRevoke={(key) => setOpened({ kind: 'platform', key, role: key.role })}
        />
      </Panel>
      {typeof opened === 'string' && (
        <NewKey
          kind={opened}
          environments={environments}
          environment={first}
          onMade={{ sdk: sdkKeys, server: serverKeys, platform: platformKeys }[opened].reload}
          onClose={close}
        />
      )}
      {typeof opened === 'object' && <RevokeKey of={opened} onClose={close} />}
    </>
  )
}
