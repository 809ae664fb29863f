import { Ago } from '../../ui/time.tsx'
import type { SharedDraft } from './exchange.ts'

/** Whether a second person has approved the text of a shared draft as it is. */
export const Approval = ({ draft: { approval, revision, changedBy } }: { readonly draft: SharedDraft }) => (
  <p>
    {approval?.isCurrent ? (
      <>
        <span className="badge good">approved</span> Revision {approval.revision} by {approval.by},{' '}
        <Ago at={approval.at} />.
      </>
    ) : approval ? (
      <>
        <span className="badge warn">changed since</span> {approval.by} approved revision {approval.revision}, and this
        is revision {revision}.
      </>
    ) : (
      <>
        <span className="badge">not approved</span> Revision {revision}, written by {changedBy}.
      </>
    )}
  </p>
)
