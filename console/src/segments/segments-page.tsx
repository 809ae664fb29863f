import { useState } from 'react'
import { useQuery } from 'urql'
import { Link } from 'wouter'
import { newGrantHref } from '../grants/addresses.ts'
import { filterParameters, filtersText } from '../players/filters.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Ago } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import { segmentsQuery } from './operations.ts'
import { DeleteSegment, RenameSegment, SEGMENTS, type Segment } from './segment-dialogs.tsx'

/** The segments of an environment: filters of players with a name. */
export default function SegmentsPage() {
  const environment = useEnvironment()
  const [open, setOpen] = useState<{ readonly kind: 'rename' | 'delete'; readonly segment: Segment }>()
  const [result, read] = useQuery({
    query: segmentsQuery,
    variables: { environment },
    requestPolicy: 'cache-and-network',
    context: SEGMENTS,
  })
  const players = `/env/${environment}/players`
  const close = () => setOpen(undefined)
  return (
    <Page
      title="Segments"
      actions={
        <Link className="button" href={players}>
          New from the players page
        </Link>
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ segments }) => (
          <Table
            caption={`Segments of ${environment}`}
            rows={segments}
            keyOf={({ id }) => id}
            empty={
              <Empty title={`No segment in ${environment} yet`}>
                Set filters on the <Link href={players}>players page</Link>, and press “Save as segment”.
              </Empty>
            }
            columns={[
              { title: 'Name', cell: ({ name }) => <Link href={`${players}?segment=${name}`}>{name}</Link> },
              { title: 'Players of', cell: ({ filter }) => filtersText(filter) || 'no filter: all players' },
              {
                title: 'Players now',
                isNumber: true,
                cell: ({ playerCount, playerCountIsExact }) =>
                  `${number(playerCount)}${playerCountIsExact ? '' : ' or more'}`,
              },
              { title: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
              {
                title: 'Actions',
                cell: (segment) => (
                  <span className="actions">
                    <Link
                      href={newGrantHref(environment, new URLSearchParams({ whom: 'segment', segment: segment.name }))}
                    >
                      Give
                    </Link>
                    <Link
                      href={`${players}?${filterParameters(segment.filter)}&replaces=${segment.name}`}
                      title="Opens the players with these filters: change them there, and save the segment again."
                    >
                      Change filters
                    </Link>
                    <RoleButton
                      needs="jobs"
                      tone="quiet"
                      label={`Rename ${segment.name}`}
                      onClick={() => setOpen({ kind: 'rename', segment })}
                    >
                      Rename
                    </RoleButton>
                    <RoleButton
                      needs="jobs"
                      tone="quiet"
                      label={`Delete ${segment.name}`}
                      onClick={() => setOpen({ kind: 'delete', segment })}
                    >
                      Delete
                    </RoleButton>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Answer>
      {open?.kind === 'rename' && <RenameSegment segment={open.segment} onClose={close} />}
      {open?.kind === 'delete' && <DeleteSegment segment={open.segment} onClose={close} />}
    </Page>
  )
}
