import { useQuery } from 'urql'
import { Link } from 'wouter'
import { seasonHref, versionsHref } from '../calendar/entries.ts'
import { jobHref } from '../grants/addresses.ts'
import type { ResultOf } from '../graphql.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Panel } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Ago } from '../ui/time.tsx'
import { problemsQuery } from './operations.ts'
import css from './today.module.css'
import { useFresh } from './use-fresh.ts'

type Problem = ResultOf<typeof problemsQuery>['problems'][number]

/** A problem that somebody may decide on at leisure. The others cost players something now. */
const CALM: ReadonlySet<Problem['kind']> = new Set(['GRANT_JOB_AWAITS_APPROVAL', 'GRANT_JOB_PAUSED'])

/** What needs a person. `at` is the time of the page's figures: with another one it is read again. */
export function Problems({ at }: { at: number }) {
  const environment = useEnvironment()
  const [result, read] = useQuery({
    query: problemsQuery,
    variables: { environment },
    requestPolicy: 'cache-and-network',
    context: useFresh(at),
  })
  return (
    <Panel
      title="Needs a person"
      about="Logins that fail, seasons that are not settled, grants that failed or wait, publications that were refused, xp that limits hold back. Alert webhooks report the same."
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ problems }) =>
          problems.length === 0 ? (
            <Empty title="All is well">No login fails, and no job, season or publication waits for a person.</Empty>
          ) : (
            <ul className={css.problems}>
              {problems.map((problem) => (
                <li key={JSON.stringify(problem)} className={CALM.has(problem.kind) ? css.calm : css.urgent}>
                  <Link href={hrefOf(problem, environment)}>{problem.text}</Link> <Ago at={problem.at} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}

/** The page that shows a problem. */
function hrefOf({ kind, scenarioId, nodeId, grantJobId }: Problem, environment: string): string {
  const base = `/env/${encodeURIComponent(environment)}`
  if (grantJobId !== null) return jobHref(environment, grantJobId)
  if (kind === 'LOGINS_FAIL' || kind === 'SECRETS_UNREADABLE') return `${base}/providers`
  if (kind === 'ALERTS_FAIL') return `${base}/alerts`
  if (scenarioId === null) return `${base}/battle-pass`
  if (nodeId !== null) return seasonHref(environment, scenarioId, nodeId)
  return versionsHref(environment, scenarioId)
}
