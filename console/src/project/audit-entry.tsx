import { useQuery } from 'urql'
import { Link } from 'wouter'
import { Dialog } from '../ui/dialog.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Id } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import css from './audit.module.css'
import { Who } from './audit-page.tsx'
import { changesOf } from './changes.ts'
import { auditEntryQuery } from './operations.ts'

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
  const [result, read] = useQuery({ query: auditEntryQuery, variables: { id } })
  return (
    <Dialog title="Entry of the audit log" onClose={onClose} wide>
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ node }) => {
          if (node === null || !('action' in node))
            return <Empty title="There is no such entry">Or your role does not let you read it: it needs admin.</Empty>
          return <EntryFacts of={node} />
        }}
      </Answer>
    </Dialog>
  )
}

/** What an entry says, with the state before and after beside each other. */
export function EntryFacts({ of }: { of: Entry }) {
  const { action, target, environment, reason, occurredAt, beforeText, afterText } = of
  return (
    <>
      <dl className={css.facts}>
        <dt>Action</dt>
        <dd>
          {action} {action.endsWith('.denied') && <span className="badge bad">denied</span>}
        </dd>
        <dt>Who</dt>
        <dd>
          <Who {...of} />
        </dd>
        <dt>Time</dt>
        <dd>
          <Time at={occurredAt} />
        </dd>
        <dt>Environment</dt>
        <dd>{environment ?? '–'}</dd>
        <dt>Target</dt>
        <dd>
          <Target action={action} target={target} environment={environment} />
        </dd>
        <dt>Reason</dt>
        <dd>{reason ?? '–'}</dd>
      </dl>
      <Changes before={beforeText} after={afterText} />
    </>
  )
}

/** The target, as a link where there is a page of it. */
function Target({ action, target, environment }: { action: string; target: string; environment: string | null }) {
  const [kind] = action.split('.')
  if (target === '') return '–'
  if (environment !== null && kind === 'player')
    return <Link href={`/env/${environment}/players/${target}`}>{target}</Link>
  if (environment !== null && kind === 'scenario')
    return <Link href={`/env/${environment}/scenarios/${encodeURIComponent(target)}`}>{target}</Link>
  if (environment !== null && kind === 'auth_providers')
    return <Link href={`/env/${environment}/providers`}>{target}</Link>
  if (kind === 'sdk_key' || kind === 'platform_key') return <Link href="/project/keys">{target}</Link>
  return <Id of={target} />
}

/** The members of both states. Those that differ are marked. */
function Changes({ before, after }: { before: string | null; after: string | null }) {
  const changes = changesOf(before, after)
  if (changes.length === 0) return <p className="muted">The entry has no state before or after.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section className="table-box" aria-label="Before and after" tabIndex={0}>
      <table className={css.changes}>
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ path, before, after, isChanged }) => (
            <tr key={path} className={isChanged ? css.changed : undefined}>
              <th scope="row">
                <code>{path}</code> {isChanged && <span className="hidden">changed</span>}
              </th>
              <td>{before === undefined ? <span className="muted">–</span> : <code>{before}</code>}</td>
              <td>{after === undefined ? <span className="muted">–</span> : <code>{after}</code>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
