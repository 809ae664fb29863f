import { useState } from 'react'
import { useClient, useQuery } from 'urql'
import { Link } from 'wouter'
import { isProduction } from '../shell/environment.tsx'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { RoleButton } from '../ui/button.tsx'
import { TextField } from '../ui/form.tsx'
import { Figures, Page, Panel } from '../ui/page.tsx'
import { Answer, Empty, Loading } from '../ui/states.tsx'
import { Id, number } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import {
  createEnvironmentMutation,
  environmentStepsQuery,
  environmentsQuery,
  renameProjectMutation,
} from './operations.ts'

export default function EnvironmentsPage() {
  const [opened, setOpened] = useState<'create' | 'rename'>()
  const [result, read] = useQuery({ query: environmentsQuery, requestPolicy: 'cache-and-network' })
  return (
    <Page
      title="Environments"
      actions={
        <>
          <RoleButton needs="ADMIN" onClick={() => setOpened('rename')}>
            Rename the project
          </RoleButton>
          <RoleButton needs="ADMIN" tone="primary" onClick={() => setOpened('create')}>
            New environment
          </RoleButton>
        </>
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ project }) => (
          <>
            <Figures
              of={[
                ['Project', project.name],
                ['Created', <Time key="created" at={project.createdAt} parts="day" />],
                ...project.platformKeys.map(
                  ({ role, keys }) => [`Platform keys: ${role.toLowerCase()}`, number(keys)] as const,
                ),
              ]}
            />
            <p className="muted">
              Project id <Id of={project.projectId} />
            </p>
            {project.environments.length === 0 && (
              <Empty title="The project has no environment yet">
                Create one: most games have production and staging.
              </Empty>
            )}
            <div className="columns">
              {project.environments.map((environment) => (
                <Environment key={environment.id} {...environment} />
              ))}
            </div>
            {opened === 'rename' && <Rename name={project.name} onClose={() => setOpened(undefined)} />}
          </>
        )}
      </Answer>
      {opened === 'create' && <Create onClose={() => setOpened(undefined)} />}
    </Page>
  )
}

function Environment({ name, createdAt, sdkKeys }: { name: string; createdAt: string; sdkKeys: number }) {
  return (
    <Panel title={name} actions={isProduction(name) ? <span className="badge production">production</span> : undefined}>
      <p className="muted">
        Created <Time at={createdAt} parts="minute" />
      </p>
      <Steps name={name} sdkKeys={sdkKeys} />
    </Panel>
  )
}

/** What an environment needs before players can play. */
function Steps({ name, sdkKeys }: { name: string; sdkKeys: number }) {
  const [{ data, error, fetching }] = useQuery({
    query: environmentStepsQuery,
    variables: { environment: name },
    requestPolicy: 'cache-and-network',
  })
  if (!data) return fetching ? <Loading /> : <p className="fault">{error ? 'Its state could not be read.' : ''}</p>
  const steps = [
    [sdkKeys > 0, 'an SDK key for game clients', '/project/keys'],
    [(data.authProviders[0]?.custom.length ?? 0) > 0, 'a login provider', `/env/${name}/providers`],
    [data.scenarios.nodes.length > 0, 'a scenario', `/env/${name}/scenarios`],
    [data.players.nodes.length > 0, 'a first player', `/env/${name}/players`],
  ] as const
  return (
    <ul className="steps">
      {steps.map(([isDone, what, href]) => (
        <li key={what}>
          <span className={isDone ? 'badge good' : 'badge warn'}>{isDone ? 'done' : 'to do'}</span>{' '}
          <Link href={href}>{what}</Link>
        </li>
      ))}
    </ul>
  )
}

function Create({ onClose }: { onClose: () => void }) {
  const client = useClient()
  const [name, setName] = useState('')
  async function run(reason: string): Promise<ActionResult> {
    const { data, error } = await client.mutation(createEnvironmentMutation, { input: { name, reason } })
    if (!data) return { error }
    return {
      done: `${name} is there. Next, make an SDK key, and set a provider and a scenario.`,
      auditEntry: data.createEnvironment.auditEntry,
    }
  }
  return (
    <ActionDialog
      title="New environment"
      effect={`Makes ${name || 'an environment'} without keys, providers, scenarios and players. Environments cannot be removed.`}
      confirm="Create"
      disabled={name === ''}
      run={run}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        hint="Letters a to z, digits, _ and -, at most 32. Names that begin with prod or live are marked in red."
        value={name}
        onChange={(value) => setName(value.trim())}
        required
      />
    </ActionDialog>
  )
}

function Rename({ name: before, onClose }: { name: string; onClose: () => void }) {
  const client = useClient()
  const [name, setName] = useState(before)
  async function run(reason: string): Promise<ActionResult> {
    const { data, error } = await client.mutation(renameProjectMutation, { input: { name, reason } })
    return data ? { done: `The project is called ${name}.`, auditEntry: data.renameProject.auditEntry } : { error }
  }
  return (
    <ActionDialog
      title="Rename the project"
      effect={`${before} becomes ${name}. Keys, links and ids stay.`}
      confirm="Rename"
      disabled={name.trim() === '' || name === before}
      run={run}
      onClose={onClose}
    >
      <TextField label="Name" name="name" value={name} onChange={setName} maxLength={128} required />
    </ActionDialog>
  )
}
