import { useState } from 'react'
import { Link } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { Button, RoleButton } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { words } from '../ui/words.ts'
import { CreateBoost, EditBoost, EndBoost } from './boost-dialogs.tsx'
import { type Boost, targetText } from './boost-fields.ts'
import { boostsQuery } from './operations.ts'

const TONES: Readonly<Record<Boost['state'], string>> = { RUNNING: 'good', PLANNED: 'warn', ENDED: '' }

type Open = 'create' | { readonly kind: 'edit' | 'end'; readonly boost: Boost }

/** The boosts of an environment: more xp for a time, without an edit of a scenario. */
export default function BoostsPage() {
  const environment = useEnvironment()
  const [open, setOpen] = useState<Open>()
  const pages = usePages({
    query: boostsQuery,
    variables: { environment },
    connectionOf: (data) => data.boosts,
    // A list without boosts is read again, too.
    additionalTypenames: ['Boost'],
  })
  const close = () => setOpen(undefined)
  return (
    <Page
      title="Boosts"
      actions={
        <>
          <Button onClick={pages.reload} busy={pages.isLoading}>
            Refresh
          </Button>
          <RoleButton needs="design" tone="primary" onClick={() => setOpen('create')}>
            New boost
          </RoleButton>
        </>
      }
    >
      <PagedTable
        caption={`Boosts of ${environment}`}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty title={`No boost in ${environment} yet`}>
            A boost gives more xp for a time, such as a weekend, without an edit of a scenario.
          </Empty>
        }
        columns={[
          { title: 'Name', cell: ({ name }) => name },
          { title: 'State', cell: ({ state }) => <span className={`badge ${TONES[state]}`}>{words(state)}</span> },
          { title: 'More xp', isNumber: true, cell: ({ percent }) => `${percent} %` },
          { title: 'Starts', cell: ({ startsAt }) => <Time at={startsAt} parts="minute" /> },
          {
            title: 'Ends',
            cell: ({ endsAt, endedAt }) => (
              <>
                <Time at={endedAt ?? endsAt} parts="minute" />
                {endedAt !== null && <span className="muted"> by hand</span>}
              </>
            ),
          },
          { title: 'For', cell: targetText },
          {
            title: 'Actions',
            cell: (boost) => (
              <span className="actions">
                <Link href={`~/console/project/audit?target=${boost.boostId}`}>History</Link>
                {boost.state !== 'ENDED' && (
                  <>
                    <RoleButton
                      needs="design"
                      tone="quiet"
                      label={`Change ${boost.name}`}
                      onClick={() => setOpen({ kind: 'edit', boost })}
                    >
                      Change
                    </RoleButton>
                    <RoleButton
                      needs="design"
                      tone="quiet"
                      label={`${boost.state === 'PLANNED' ? 'Cancel' : 'End'} ${boost.name}`}
                      onClick={() => setOpen({ kind: 'end', boost })}
                    >
                      {boost.state === 'PLANNED' ? 'Cancel' : 'End'}
                    </RoleButton>
                  </>
                )}
              </span>
            ),
          },
        ]}
      />
      {open === 'create' && <CreateBoost onClose={close} />}
      {open !== undefined && open !== 'create' && open.kind === 'edit' && (
        <EditBoost boost={open.boost} onClose={close} />
      )}
      {open !== undefined && open !== 'create' && open.kind === 'end' && (
        <EndBoost boost={open.boost} onClose={close} />
      )}
    </Page>
  )
}
