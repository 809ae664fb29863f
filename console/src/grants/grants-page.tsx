import { Link, useLocation } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Ago } from '../ui/time.tsx'
import { jobHref, newGrantHref } from './addresses.ts'
import { jobText, targetText } from './gift.ts'
import { jobsQuery } from './operations.ts'
import { ApprovalPolicy } from './policy.tsx'
import { Progress, StateBadge } from './progress.tsx'
import { useJobEvents } from './use-job-events.ts'

/** The grants of an environment to many players, live. */
export default function GrantsPage() {
  const environment = useEnvironment()
  const [, navigate] = useLocation()
  const pages = usePages({
    query: jobsQuery,
    variables: { environment },
    connectionOf: (data) => data.grantJobs,
    additionalTypenames: ['GrantJob'],
  })
  const { jobs, status } = useJobEvents(environment, pages.rows, pages.reload)
  return (
    <Page
      title="Grants"
      actions={
        <RoleButton needs="jobs" tone="primary" onClick={() => navigate(newGrantHref(environment))}>
          New grant
        </RoleButton>
      }
    >
      <p className="muted" role="status">
        {status === 'live' ? 'The list follows live.' : 'The list is not live now: it catches up once connected.'}
      </p>
      <PagedTable
        caption={`Grants of ${environment}`}
        pages={{ ...pages, rows: jobs }}
        keyOf={({ id }) => id}
        empty={
          <Empty title={`No grant in ${environment} yet`}>
            A grant gives currencies, items, xp, levels or premium to many players, each of them once.
          </Empty>
        }
        columns={[
          {
            title: 'What',
            cell: (job) => (
              <>
                <Link href={jobHref(environment, job.jobId)}>{jobText(job)}</Link>
                {job.give.rewards && job.message[0] && <span className="muted"> with a message</span>}
              </>
            ),
          },
          { title: 'To', cell: ({ target }) => targetText(target) },
          { title: 'State', cell: ({ state }) => <StateBadge state={state} /> },
          { title: 'Players', cell: (job) => <Progress {...job} /> },
          { title: 'Who', cell: ({ operator }) => operator ?? '–' },
          { title: 'When', cell: ({ createdAt }) => <Ago at={createdAt} /> },
          { title: 'Reason', cell: ({ reason }) => reason },
        ]}
      />
      <ApprovalPolicy />
    </Page>
  )
}
