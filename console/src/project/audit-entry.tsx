import { useQuery } from 'urql'
import { Link } from 'wouter'
import { useDenial } from '../session/permission.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Facts } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Moment } from '../ui/time.tsx'
import { actionTitle, isDenied } from './actions.ts'
import css from './audit.module.css'
import { ChangesTable } from './changes-table.tsx'
import { auditEntryQuery } from './operations.ts'
import { Target } from './target.tsx'
import { Who } from './who.tsx'

type Entry = Parameters<typeof Who>[0] & {
  readonly action: string
  readonly target: string
  readonly environment: string | null
  readonly reason: string | null
  readonly occurredAt: string
  readonly beforeText: string | null
  readonly afterText: string | null
}

/** One entry of the audit log, with the state before and after beside each other. */
export function AuditEntry({ id, onClose }: { id: string; onClose: () => void }) {
  const denial = useDenial('manage')
  const [result, read] = useQuery({ query: auditEntryQuery, variables: { id }, pause: denial !== undefined })
  return (
    <Dialog title="Entry of the audit log" onClose={onClose} wide>
      {denial !== undefined ? (
        <Empty title="Not allowed">{denial}</Empty>
      ) : (
        <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
          {({ node }) =>
            node === null || !('action' in node) ? <Empty title="There is no such entry" /> : <EntryFacts of={node} />
          }
        </Answer>
      )}
    </Dialog>
  )
}

/** The facts of an entry, with the state before and after beside each other. */
export function EntryFacts({ of }: { of: Entry }) {
  const { action, target, operator, actor, environment, reason, occurredAt, beforeText, afterText } = of
  const isAdmin = useDenial('manage') === undefined
  return (
    <>
      <Facts
        of={{
          Action: (
            <>
              {actionTitle(action)} <code className="muted">{action}</code>{' '}
              {isDenied(action) && <span className="badge bad">denied</span>}
            </>
          ),
          Who: (
            <>
              <Who {...of} /> <code className="muted">{actor}</code>
            </>
          ),
          Time: <Moment at={occurredAt} />,
          Environment: environment ?? '–',
          Target: <Target of={of} />,
          Reason: reason ?? '–',
          'See also': isAdmin && (
            <span className={css.links}>
              {target !== '' && <Link href={auditHref('target', target)}>All of this target</Link>}
              {operator === null ? (
                <Link href={auditHref('actor', actor)}>All with this key</Link>
              ) : (
                <Link href={auditHref('operator', operator)}>All of this person</Link>
              )}
            </span>
          ),
        }}
      />
      <ChangesTable before={beforeText} after={afterText} />
    </>
  )
}

const auditHref = (filter: string, value: string): string => `/project/audit?${filter}=${encodeURIComponent(value)}`
