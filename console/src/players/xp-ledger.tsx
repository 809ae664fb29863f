import { limitText } from '../scenario/xp-words.ts'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { number, words } from '../ui/words.ts'
import { xpLedgerQuery } from './operations.ts'

const NONE = <span className="muted">none</span>

/** Every grant of xp on a pass, the latest first. */
export function XpLedger({ passId }: { passId: string }) {
  const pages = usePages({
    query: xpLedgerQuery,
    variables: { passId },
    connectionOf: ({ node }) => (node !== null && 'xpLedger' in node ? node.xpLedger : null),
  })
  return (
    <PagedTable
      caption="Xp ledger"
      pages={pages}
      keyOf={({ id }) => id}
      empty={<Empty title="No xp was granted" />}
      columns={[
        { title: 'Time', cell: ({ occurredAt }) => <Time at={occurredAt} /> },
        { title: 'Xp', isNumber: true, cell: ({ amount }) => number(amount) },
        { title: 'Of it bonus', isNumber: true, cell: ({ bonus }) => (bonus === '0' ? NONE : number(bonus)) },
        {
          title: 'Limit',
          cell: ({ limitedBy, asked }) =>
            limitedBy === null ? NONE : `${limitText(limitedBy)}: ${number(asked)} was sent`,
        },
        { title: 'Source', cell: ({ source }) => source || NONE },
        { title: 'From', cell: ({ origin }) => words(origin) },
        { title: 'Reference', cell: ({ reference }) => reference ?? NONE },
        { title: 'Run', cell: ({ runId }) => <code>{runId}</code> },
      ]}
    />
  )
}
