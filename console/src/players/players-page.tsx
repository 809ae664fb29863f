import { type ReactNode, useState } from 'react'
import { useQuery } from 'urql'
import { Link, useLocation, useSearchParams } from 'wouter'
import { newGrantHref } from '../grants/addresses.ts'
import type { ResultOf } from '../graphql.ts'
import { segmentNamesQuery } from '../segments/operations.ts'
import { SaveSegment } from '../segments/segment-dialogs.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button, RoleButton } from '../ui/button.tsx'
import { saveRows } from '../ui/csv.ts'
import { Page } from '../ui/page.tsx'
import { type Pages, usePages } from '../ui/pages.ts'
import { playersText } from '../ui/players-text.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Ago, Time } from '../ui/time.tsx'
import { toast } from '../ui/toast.tsx'
import { plainName } from '../ui/words.ts'
import { SavedViews } from '../views/saved-views.tsx'
import { playerHref } from './addresses.ts'
import { BanListDialog } from './ban-list-dialog.tsx'
import { ExportDialog } from './export-dialog.tsx'
import { filterParameters, readFilters, unreadFilters } from './filters.ts'
import { playerCountQuery, playersQuery } from './operations.ts'
import css from './player.module.css'
import { PlayerFilters } from './player-filters.tsx'
import { shortId } from './player-name.tsx'
import { StatusBadge } from './status-badge.tsx'

const CSV_TITLES = ['playerId', 'nickname', 'status', 'createdAt', 'lastLoginAt', 'region', 'language'] as const

export default function PlayersPage() {
  const environment = useEnvironment()
  const [search, setSearch] = useSearchParams()
  const [isExporting, setExporting] = useState(false)
  const [isBanning, setBanning] = useState(false)
  const [isSaving, setSaving] = useState(false)
  const [, navigate] = useLocation()
  const filters = readFilters(search)
  const { sort, ...counted } = filters
  const players = usePages({
    query: playersQuery,
    variables: { environment, ...filters },
    connectionOf: (data) => data.players,
  })
  const [count] = useQuery({ query: playerCountQuery, variables: { environment, ...counted } })
  const total = count.fetching ? undefined : count.data?.players
  const totalText =
    total === undefined || total === null ? undefined : playersText(total.totalCount, total.totalCountIsExact)
  const [{ data: known }] = useQuery({
    query: segmentNamesQuery,
    variables: { environment },
    pause: !filters.segment,
  })
  /** The filters with those of the segment. */
  const filter = {
    ...filters.filter,
    ...setOnly(known?.segments.find(({ name }) => name === filters.segment)?.filter),
  }

  /** A segment alone is given to by its name. A search is none of the filters that a grant or a segment takes. */
  function withoutSearch(act: () => void): void {
    if (filters.search)
      toast('A search finds players to look at. Clear it: grants and segments take the other filters.', 'warning')
    else if (filters.segment && !known) toast('The segment is still being read. Try again in a moment.', 'warning')
    else act()
  }
  const isUnread = unreadFilters(search).length > 0
  const give = () => {
    const own = filterParameters(filters.filter)
    const whom =
      filters.segment && own.size === 0
        ? new URLSearchParams({ whom: 'segment', segment: filters.segment })
        : new URLSearchParams([['whom', 'filter'], ...filterParameters(filter)])
    navigate(newGrantHref(environment, whom))
  }

  return (
    <Page
      title="Players"
      actions={
        <>
          <SavedViews page="players" />
          <Button
            onClick={() => saveRows('players.csv', CSV_TITLES, players.rows)}
            disabled={players.rows.length === 0}
          >
            CSV of the shown
          </Button>
          <RoleButton needs="jobs" onClick={() => setExporting(true)} disabled={isUnread}>
            Export all
          </RoleButton>
          <RoleButton needs="act" onClick={() => setBanning(true)}>
            Ban a list
          </RoleButton>
          <RoleButton needs="jobs" onClick={() => withoutSearch(() => setSaving(true))} disabled={isUnread}>
            Save as segment…
          </RoleButton>
          <RoleButton
            needs="jobs"
            tone="primary"
            onClick={() => withoutSearch(give)}
            disabled={isUnread || total?.totalCount === 0}
          >
            {giveText(total?.totalCount === 0 ? undefined : totalText)}
          </RoleButton>
        </>
      }
    >
      <PlayerFilters />
      <p className="muted" role="status">
        {totalText ?? (count.fetching ? 'Counting…' : ' ')}
        {sort?.by === 'LEVEL' && ' (without those who have not begun the pass)'}
      </p>
      <PlayerTable
        key={`${environment} ${search}`}
        players={players}
        total={totalText}
        empty={
          <Empty title={search.size > 0 ? 'No player matches' : `${environment} has no players yet`}>
            {search.size > 0 ? (
              <Button onClick={() => setSearch({})}>Clear the filters</Button>
            ) : (
              'They appear with their first login.'
            )}
          </Empty>
        }
      />
      {isBanning && <BanListDialog onClose={() => setBanning(false)} />}
      {isSaving && (
        <SaveSegment filter={filter} replaces={search.get('replaces') ?? undefined} onClose={() => setSaving(false)} />
      )}
      {isExporting && (
        <ExportDialog filters={filters} total={totalText ?? 'the players'} onClose={() => setExporting(false)} />
      )}
    </Page>
  )
}

const giveText = (total: string | undefined): string =>
  total === '1 player' ? 'Give to this player…' : `Give to these ${total ?? 'players'}…`

/** The filters of a segment that are set. */
const setOnly = (filter: object | undefined) =>
  Object.fromEntries(Object.entries(filter ?? {}).filter(([name, value]) => value !== null && name !== '__typename'))

type Row = ResultOf<typeof playersQuery>['players']['nodes'][number]

function PlayerTable({ players, total, empty }: { players: Pages<Row>; total?: string | undefined; empty: ReactNode }) {
  const environment = useEnvironment()
  return (
    <PagedTable
      caption="Players"
      pages={players}
      total={total}
      keyOf={({ playerId }) => playerId}
      empty={empty}
      columns={[
        {
          title: 'Player',
          cell: ({ playerId, nickname }) => (
            <Link
              href={playerHref({ environment, playerId })}
              {...(nickname !== null && { className: 'clip', title: nickname })}
            >
              {nickname === null ? playerId : <bdi>{plainName(nickname)}</bdi>}
            </Link>
          ),
        },
        { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
        { title: 'Passes', cell: ({ passes }) => <Passes of={passes} /> },
        { title: 'Last login', cell: ({ lastLoginAt }) => <Ago at={lastLoginAt} /> },
        { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} parts="day" /> },
        {
          title: 'Region, language',
          cell: ({ region, language }) => [region, language].filter((one) => one !== null).join(', ') || '–',
        },
        {
          title: 'Id',
          cell: ({ playerId }) => <code title={playerId}>{shortId(playerId)}</code>,
        },
      ]}
    />
  )
}

const Passes = ({ of }: { of: Row['passes'] }) =>
  of.length === 0 ? (
    <span className="muted">none</span>
  ) : (
    of.map(({ id, scenarioId, nodeId, level, premiumOwned }) => (
      <span key={id} className={css.pass} title={`${scenarioId} / ${nodeId}`}>
        <span className="clip">{scenarioId}</span>: level {level}{' '}
        {premiumOwned && <span className="badge">premium</span>}{' '}
      </span>
    ))
  )
