import { useState } from 'react'
import { useQuery } from 'urql'
import { useOperator } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { Answer } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { SetLimits } from './limits-dialog.tsx'
import { roleLimitsQuery } from './operations.ts'
import { Publications } from './publications.tsx'
import { SingleSignOn } from './sign-on.tsx'
import { limitsText, ROLE_WORDS, type RoleLimits } from './words.ts'

/** Who may do what: the roles, and the limits of each in this environment. */
export default function RolesPage() {
  const { role: own } = useOperator()
  return (
    <Page title="Roles">
      <Panel title="What each role does">
        <Table
          caption="What each role does"
          rows={ROLE_WORDS}
          keyOf={([role]) => role}
          columns={[
            {
              title: 'Role',
              cell: ([role]) => (
                <>
                  {role.toLowerCase()}
                  {role === own && (
                    <>
                      &nbsp;<span className="badge">you</span>
                    </>
                  )}
                </>
              ),
            },
            { title: 'Reads', cell: ([, reads]) => reads },
            { title: 'Changes', cell: ([, , changes]) => changes },
          ]}
        />
      </Panel>
      <Limits />
      <Publications />
      <SingleSignOn />
    </Page>
  )
}

function Limits() {
  const environment = useEnvironment()
  const [changed, setChanged] = useState<RoleLimits>()
  const [result, read] = useQuery({ query: roleLimitsQuery, requestPolicy: 'cache-and-network' })
  return (
    <Panel
      title={`Limits in ${environment}`}
      about="A gift is a credit, xp, a tier, premium, a boost, a message with rewards or a grant. People are distinguished by their sign-ins. Admins have no limits."
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ project }) => (
          <Table
            caption={`Limits in ${environment}`}
            rows={project.environments.find(({ name }) => name === environment)?.roleLimits ?? []}
            keyOf={({ role }) => role}
            columns={[
              { title: 'Role', cell: ({ role }) => role.toLowerCase() },
              { title: 'Limits', cell: (limits) => limitsText(limits) },
              {
                title: 'Actions',
                cell: (limits) => (
                  <RoleButton
                    needs="manage"
                    tone="quiet"
                    label={`Change the limits of ${limits.role.toLowerCase()}`}
                    onClick={() => setChanged(limits)}
                  >
                    Change
                  </RoleButton>
                ),
              },
            ]}
          />
        )}
      </Answer>
      {changed && <SetLimits environment={environment} before={changed} onClose={() => setChanged(undefined)} />}
    </Panel>
  )
}
