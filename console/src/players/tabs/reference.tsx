import { Link } from 'wouter'
import type { PlayerData } from '../actions/support-action.ts'
import { auditHref } from '../addresses.ts'

/** The object behind a change. For a change by support, a link to the entry of the audit log. */
export function Reference({ of, player }: { of: string; player: PlayerData }) {
  const [, entry] = /^support\/(.+)$/.exec(of) ?? []
  if (entry === undefined) return <code>{of}</code>
  return <Link href={auditHref(player, `AuditLogEntry:${entry}`)}>support</Link>
}
