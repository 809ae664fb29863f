import { Link } from 'wouter'
import { usePages } from '../../ui/pages.ts'
import { Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { playerAuditQuery } from '../operations.ts'
import type { TabProps } from './tab.ts'

export function AuditTab({ player }: TabProps) {
  const pages = usePages({
    query: playerAuditQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.auditLog,
    additionalTypenames: ['AuditLogEntry'],
  })
  return (
    <PagedTable
      caption="What operators did to this player"
      pages={pages}
      keyOf={({ id }) => id}
      empty={<Empty title="No operator has changed this player" />}
      columns={[
        { title: 'Time', cell: ({ occurredAt }) => <Time at={occurredAt} /> },
        {
          title: 'Action',
          cell: ({ id, action }) => (
            <Link href={`~/console/project/audit/${id}`} className={action.endsWith('.denied') ? 'fault' : undefined}>
              {action}
            </Link>
          ),
        },
        { title: 'Who', cell: ({ operator, actorLabel, actor }) => operator ?? actorLabel ?? actor },
        { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
      ]}
    />
  )
}
