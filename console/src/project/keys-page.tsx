import { useState } from 'react'
import { useQuery } from 'urql'
import { useDenial, useOperator } from '../session/permission.tsx'
import { ROLES, type Role } from '../session/roles.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { projectQuery } from '../shell/operations.ts'
import { FilterSelect, useFilters } from '../ui/filters.tsx'
import { CheckField } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { type KeyKind, NewKey, type Revoked, RevokeKey } from './key-dialogs.tsx'
import { KeyPanel } from './key-table.tsx'
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

const ENVIRONMENT = { title: 'Environment', cell: (key: { readonly environment: string }) => key.environment }

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
  const { sdkKeys, serverKeys, platformKeys } = useKeys(environment, role)
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
      <KeyPanel
        {...table}
        name="SDK key"
        disabled={environments.length === 0}
        pages={sdkKeys}
        first={ENVIRONMENT}
        empty={{
          title: environment === '' ? 'There is no valid SDK key' : `${environment} has no valid SDK key`,
          text: 'Game clients cannot log in without one.',
        }}
        onNew={() => setOpened('sdk')}
        onRevoke={(key) => setOpened({ kind: 'sdk', key, environment: key.environment })}
      />
      <KeyPanel
        {...table}
        name="Server key"
        disabled={environments.length === 0}
        pages={serverKeys}
        first={ENVIRONMENT}
        empty={{
          title: environment === '' ? 'There is no valid server key' : `${environment} has no valid server key`,
          text: 'Game servers need one to call.',
        }}
        onNew={() => setOpened('server')}
        onRevoke={(key) => setOpened({ kind: 'server', key, environment: key.environment })}
      />
      <KeyPanel
        {...table}
        name="Platform key"
        pages={platformKeys}
        first={{ title: 'Role', cell: (key) => key.role.toLowerCase() }}
        empty={{
          title: role ? `There is no valid key with the role ${role.toLowerCase()}` : 'There is no valid platform key',
          text: 'Tools and people need one to work with the project.',
        }}
        filter={
          <div className="filters">
            <FilterSelect
              label="Keys with the role"
              name="role"
              filters={filters}
              options={[['', 'all'], ...ROLES.map((one) => one.toLowerCase())]}
            />
          </div>
        }
        onNew={() => setOpened('platform')}
        onRevoke={(key) => setOpened({ kind: 'platform', key, role: key.role })}
      />
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

function useKeys(environment: string, role: Role | undefined) {
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
  return { sdkKeys, serverKeys, platformKeys }
}
