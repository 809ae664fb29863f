import { actionTitle } from '../project/actions.ts'
import { AuditAction } from '../project/audit-action.tsx'
import { Who } from '../project/who.tsx'
import { useDenial } from '../session/permission.tsx'
import { Button } from '../ui/button.tsx'
import { useFilters } from '../ui/filters.tsx'
import { Panel } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Ago } from '../ui/time.tsx'
import { deleteNoteAction } from './actions/note-actions.ts'
import { ActionButton } from './actions/use-action.tsx'
import { auditHref } from './addresses.ts'
import { NoteForm } from './note-form.tsx'
import { timelineQuery } from './operations.ts'
import css from './player.module.css'
import type { TabProps } from './tabs/tab.ts'
import { describeEntry, KINDS, keyOfEntry, kindsOf, nameOfKind, type TimelineEntry, toggled } from './timeline-words.ts'
import { UndoButton, undoneBy } from './undo-button.tsx'

/** What happened to a player, the latest first. The kinds that are shown are kept in the address. */
export function Timeline(props: TabProps) {
  const { player } = props
  const filters = useFilters()
  const filter = filters.value('kinds')
  const kinds = kindsOf(filter)
  // Viewers must not read what operators did.
  const isViewer = useDenial('act') !== undefined
  const offered = KINDS.filter(({ kind }) => kind !== 'SUPPORT' || !isViewer)
  const asked = kinds.filter((kind) => offered.some((one) => one.kind === kind))
  const pages = usePages({
    query: timelineQuery,
    variables: { id: player.playerId, kinds: asked.length === 0 ? null : asked },
    connectionOf: (data) => data.player?.timeline,
    additionalTypenames: ['AuditLogEntry', 'PlayerNote', 'InboxMessage', 'TierClaim'],
  })
  const undone = undoneBy(pages.rows.map(({ auditEntry }) => auditEntry))
  return (
    <Panel
      title="Timeline"
      actions={
        <fieldset className={css.kinds}>
          <legend className="hidden">Only these kinds</legend>
          {offered.map(({ kind, name }) => (
            <Button
              key={kind}
              pressed={asked.includes(kind)}
              onClick={() => filters.set('kinds', toggled(filter, kind))}
            >
              {name}
            </Button>
          ))}
        </fieldset>
      }
    >
      {player.status !== 'DELETED' && <NoteForm playerId={player.playerId} />}
      <PagedTable
        caption="Timeline"
        pages={pages}
        keyOf={keyOfEntry}
        empty={<Empty title="Nothing has happened">Or all of it is older than the logs are kept.</Empty>}
        columns={[
          { title: 'Time', cell: ({ occurredAt }) => <Ago at={occurredAt} /> },
          { title: 'Kind', cell: ({ kind }) => <span className="badge">{nameOfKind(kind)}</span> },
          { title: 'What', cell: (entry) => <What entry={entry} {...props} /> },
          {
            title: 'Who',
            cell: ({ auditEntry, note }) => <Author of={auditEntry ?? note} environment={player.environment} />,
          },
          { title: 'Action', cell: (entry) => <Action entry={entry} undone={undone} {...props} /> },
        ]}
      />
    </Panel>
  )
}

type EntryProps = TabProps & { readonly entry: TimelineEntry }

function What({ entry, player }: EntryProps) {
  const { auditEntry } = entry
  if (!auditEntry) return <span className={css.what}>{describeEntry(entry)}</span>
  const { id, action, attempts, reason } = auditEntry
  return (
    <span className={css.what}>
      <AuditAction href={auditHref(player, id)} action={action} attempts={attempts} />
      {reason !== null && ` “${reason}”`}
    </span>
  )
}

const Author = (props: { of: Omit<Parameters<typeof Who>[0], 'environment'> | null; environment: string }) =>
  props.of && <Who {...props.of} environment={props.environment} />

function Action({ entry: { note, auditEntry }, undone, ...props }: EntryProps & { undone: ReadonlySet<string> }) {
  const { player, open } = props
  if (auditEntry)
    return <UndoButton entry={auditEntry} undone={undone} title={actionTitle(auditEntry.action)} {...props} />
  if (!note || player.status === 'DELETED') return null
  return (
    <ActionButton tone="quiet" label="Delete the note" onClick={() => open(deleteNoteAction(note.noteId))}>
      Delete
    </ActionButton>
  )
}
