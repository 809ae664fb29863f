import { usePages } from '../../ui/pages.ts'
import { Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { number, words } from '../../ui/words.ts'
import { walletLedgerQuery } from '../operations.ts'
import { Reference } from './reference.tsx'
import type { TabProps } from './tab.ts'

export function WalletTab({ player }: TabProps) {
  const pages = usePages({
    query: walletLedgerQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.walletLedger,
  })
  return (
    <PagedTable
      caption="Wallet ledger"
      pages={pages}
      keyOf={({ id }) => id}
      empty={<Empty title="No balance has ever changed" />}
      columns={[
        { title: 'Time', cell: ({ occurredAt }) => <Time at={occurredAt} /> },
        { title: 'Currency', cell: ({ currency }) => currency },
        {
          title: 'Change',
          isNumber: true,
          cell: ({ amount }) => (amount.startsWith('-') ? number(amount) : `+${number(amount)}`),
        },
        { title: 'Balance', isNumber: true, cell: ({ balance }) => number(balance) },
        { title: 'Cause', cell: ({ cause }) => words(cause) },
        { title: 'Reference', cell: ({ reference }) => <Reference of={reference} player={player} /> },
      ]}
    />
  )
}
