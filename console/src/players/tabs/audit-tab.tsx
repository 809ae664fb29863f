import { actionTitle } from '../../project/actions.ts'
import { AuditAction } from '../../project/audit-action.tsx'
import { AuditEntry, EntryFacts } from '../../project/audit-entry.tsx'
import { Who } from '../../project/who.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { usePages } from '../../ui/pages.ts'
import { Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Ago } from '../../ui/time.tsx'
import { auditHref } from '../addresses.ts'
import { playerAuditQuery } from '../operations.ts'
import { UndoButton, undoneBy } from '../undo-button.tsx'
import { useParameter } from '../use-parameter.ts'
import type { TabProps } from './tab.ts'

export function AuditTab(props: TabProps) {
  const { player } = props
  const [entryId, setEntry] = useParameter('entry')
  const pages = usePages({
    query: playerAuditQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.auditLog,
    additionalTypenames: ['AuditLogEntry'],
  })
  const undone = undoneBy(pages.rows)
  const entry = pages.rows.find(({ id }) => id === entryId)
  return (
    <>
      <PagedTable
        caption="Actions of operators on this player"
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty title="No operator has changed this player" />}
        columns={[
          { title: 'Time', cell: ({ occurredAt }) => <Ago at={occurredAt} /> },
          {
            title: 'Action',
            cell: ({ id, ...entry }) => <AuditAction href={auditHref(player, id)} {...entry} />,
          },
          { title: 'Who', cell: (entry) => <Who {...entry} /> },
          { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
          {
            title: 'Undo',
            cell: (entry) => <UndoButton entry={entry} undone={undone} title={actionTitle(entry.action)} {...props} />,
          },
        ]}
      />
      {entry ? (
        <Dialog title="Entry of the audit log" onClose={() => setEntry(null)} wide>
          <EntryFacts of={entry} />
        </Dialog>
      ) : (
        // An older entry is read by its id, which needs the role admin.
        entryId !== null && !pages.isLoading && <AuditEntry id={entryId} onClose={() => setEntry(null)} />
      )}
    </>
  )
}
