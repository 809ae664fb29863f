import { Link } from 'wouter'
import { actionTitle, isDenied } from './actions.ts'

export const AuditAction = (props: { readonly href: string; readonly action: string; readonly attempts: number }) => (
  <>
    <Link href={props.href} title={props.action}>
      {actionTitle(props.action)}
    </Link>{' '}
    {isDenied(props.action) && (
      <span className="badge bad">{props.attempts > 1 ? `denied ${props.attempts} times` : 'denied'}</span>
    )}
  </>
)
