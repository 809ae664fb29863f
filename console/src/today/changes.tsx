import { useQuery } from 'urql'
import { Link } from 'wouter'
import { isDenied } from '../project/actions.ts'
import { AuditAction } from '../project/audit-action.tsx'
import { Target } from '../project/target.tsx'
import { Who } from '../project/who.tsx'
import { useDenial } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Panel } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Ago } from '../ui/time.tsx'
import { changesQuery } from './operations.ts'
import css from './today.module.css'
import { useFresh } from './use-fresh.ts'

const MOST = 8
const SIGN_IN = 'operator_token.create'

/** What people changed lately, but for what was done to single players. */
export function Changes({ from, at }: { from: string; at: number }) {
  const denial = useDenial('manage')
  return (
    <Panel title="What changed" actions={denial === undefined && <Link href="/project/audit">Audit log</Link>}>
      {denial === undefined ? <Entries from={from} at={at} /> : <Empty title="Not shown">{denial}</Empty>}
    </Panel>
  )
}

function Entries({ from, at }: { from: string; at: number }) {
  const environment = useEnvironment()
  const [result, read] = useQuery({
    query: changesQuery,
    variables: { from },
    requestPolicy: 'cache-and-network',
    context: useFresh(at),
  })
  return (
    <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
      {({ auditLog }) => {
        const entries = (auditLog?.nodes ?? [])
          .filter(({ action }) => !isDenied(action) && action !== SIGN_IN)
          .filter((entry) => entry.environment === null || entry.environment === environment)
        if (entries.length === 0) return <Empty title="Nothing changed in the last 7 days" />
        return (
          <ul className={css.log} aria-label="What changed, the latest first">
            {entries.slice(0, MOST).map(({ id, ...entry }) => (
              <li key={id}>
                <AuditAction href={`/project/audit?entry=${encodeURIComponent(id)}`} {...entry} />
                <Target of={entry} isClipped />
                <div className="muted">
                  <Who {...entry} />, <Ago at={entry.occurredAt} />
                  {entry.reason !== null && `: ${entry.reason}`}
                </div>
              </li>
            ))}
          </ul>
        )
      }}
    </Answer>
  )
}
