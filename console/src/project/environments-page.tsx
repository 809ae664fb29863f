import { useState } from 'react'
import { useQuery } from 'urql'
import { RoleButton } from '../ui/button.tsx'
import { Figures, Page } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Id } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import { SetClock } from './clock-dialog.tsx'
import { EnvironmentPanel } from './environment-panel.tsx'
import { environmentsQuery } from './operations.ts'
import { CreateEnvironment, RenameProject } from './project-dialogs.tsx'

export default function EnvironmentsPage() {
  const [opened, setOpened] = useState<'create' | 'rename'>()
  const [clockOf, setClockOf] = useState<string>()
  const [result, read] = useQuery({ query: environmentsQuery, requestPolicy: 'cache-and-network' })
  const close = () => setOpened(undefined)
  return (
    <Page
      title="Environments"
      actions={
        <>
          <RoleButton needs="manage" onClick={() => setOpened('rename')}>
            Rename the project
          </RoleButton>
          <RoleButton needs="manage" tone="primary" onClick={() => setOpened('create')}>
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
                ['Environments', number(project.environments.length)],
                [
                  'Platform keys',
                  number(project.platformKeys.reduce((sum, { keys }) => sum + keys, 0)),
                  project.platformKeys.map(({ role, keys }) => `${number(keys)} ${role.toLowerCase()}`).join(', '),
                ],
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
                <EnvironmentPanel
                  key={environment.id}
                  {...environment}
                  onSetClock={() => setClockOf(environment.name)}
                />
              ))}
            </div>
            {opened === 'rename' && <RenameProject name={project.name} onClose={close} />}
          </>
        )}
      </Answer>
      {clockOf !== undefined && <SetClock environment={clockOf} onClose={() => setClockOf(undefined)} />}
      {opened === 'create' && <CreateEnvironment onClose={close} />}
    </Page>
  )
}
