import { Link } from 'wouter'
import { Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import type { Entry } from './entries.ts'

export const EntryTable = ({ caption, entries }: { caption: string; entries: readonly Entry[] }) => (
  <Table
    caption={caption}
    rows={entries}
    keyOf={({ at, what }) => `${at} ${what}`}
    columns={[
      { title: 'At', cell: ({ at }) => <Time at={at} parts="minute" /> },
      { title: 'What', cell: ({ what, href }) => (href ? <Link href={href}>{what}</Link> : what) },
    ]}
  />
)
