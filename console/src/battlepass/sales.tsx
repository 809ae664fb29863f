import { Panel } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { number } from '../ui/words.ts'
import type { InsightData } from './operations.ts'

/** What was sold in the range, by currency. */
export const Sales = ({ data }: { data: InsightData }) => (
  <Panel title="Sales of premium">
    <Table
      whole
      caption="Sales of premium, by currency"
      rows={data.sales}
      keyOf={({ currency }) => currency}
      empty={<Empty title="No premium was sold in this time" />}
      columns={[
        { title: 'Currency', cell: ({ currency }) => currency },
        { title: 'Purchases', isNumber: true, cell: ({ purchases }) => number(purchases) },
        { title: 'Revenue', isNumber: true, cell: ({ amount }) => number(amount) },
      ]}
    />
    <p className="muted">At the price of each purchase, also where premium was revoked later.</p>
  </Panel>
)
