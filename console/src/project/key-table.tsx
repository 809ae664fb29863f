import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { RoleButton } from '../ui/button.tsx'
import { Panel } from '../ui/page.tsx'
import type { Pages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { type Column, PagedTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { type KeyRow, keyName } from './keys.ts'

interface KeyTableProps<Row extends KeyRow> {
  readonly caption: string
  readonly pages: Pages<Row>
  /** The column that only this kind has: the environment or the role. */
  readonly first: Column<Row>
  /** Whether revoked keys are shown. */
  readonly isAll: boolean
  readonly empty: { readonly title: string; readonly text: string }
  /** Keys that made or revoked others, as far as they are known. */
  readonly makers: readonly KeyRow[]
  readonly ownKeyId: string
  readonly onRevoke: (key: Row) => void
}

/** A panel with the keys of one kind, and a button for a new one. */
export function KeyPanel<Row extends KeyRow>(
  props: Omit<KeyTableProps<Row>, 'caption'> & {
    /** Such as `SDK key`. */
    readonly name: string
    readonly disabled?: boolean
    readonly onNew: () => void
    readonly filter?: ReactNode
  },
) {
  const { name, disabled, onNew, filter, ...table } = props
  return (
    <Panel
      title={`${name}s`}
      actions={
        <RoleButton needs="manage" onClick={onNew} disabled={disabled}>
          {`New ${name}`}
        </RoleButton>
      }
    >
      {filter}
      <KeyTable {...table} caption={`${name}s`} />
    </Panel>
  )
}

/** Keys of one kind: their owners, their state and their actions. */
function KeyTable<Row extends KeyRow>(props: KeyTableProps<Row>) {
  const { caption, first, isAll, empty, makers, ownKeyId, onRevoke } = props
  const rows = isAll ? props.pages.rows : props.pages.rows.filter(({ revokedAt }) => revokedAt === null)
  return (
    <PagedTable
      caption={caption}
      pages={{ ...props.pages, rows }}
      keyOf={({ id }) => id}
      empty={<Empty title={empty.title}>{empty.text}</Empty>}
      columns={[
        first,
        {
          title: 'Key',
          cell: ({ keyId, prefix }) => (
            <>
              <code>{prefix}…</code> {keyId === ownKeyId && <span className="badge">your session</span>}
            </>
          ),
        },
        { title: 'Purpose', cell: ({ label }) => label ?? '–' },
        { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} parts="minute" /> },
        {
          title: 'Created with',
          cell: ({ createdBy }) => <span title={createdBy ?? ''}>{keyName(createdBy, makers)}</span>,
        },
        {
          title: 'State',
          cell: ({ revokedAt, revokedBy }) =>
            revokedAt === null ? (
              <span className="badge good">valid</span>
            ) : (
              <>
                <span className="badge bad">revoked</span> <Time at={revokedAt} parts="minute" />{' '}
                <span title={revokedBy ?? ''}>{keyName(revokedBy, makers)}</span>
              </>
            ),
        },
        {
          title: 'Actions',
          cell: (key) => (
            <span className="actions">
              <Link href={`/project/audit?target=${key.keyId}`}>History</Link>
              {key.revokedAt === null && (
                <RoleButton needs="manage" tone="quiet" label={`Revoke ${key.prefix}`} onClick={() => onRevoke(key)}>
                  Revoke
                </RoleButton>
              )}
            </span>
          ),
        },
      ]}
    />
  )
}
