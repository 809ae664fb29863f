import { useState } from 'react'
import { useQuery } from 'urql'
import { Link, useSearchParams } from 'wouter'
import { useOperator } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button, RoleButton } from '../ui/button.tsx'
import { saveFile, toCsv } from '../ui/csv.ts'
import { SelectField, TextField } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { number } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { toast } from '../ui/toast.tsx'
import { exportPlayers } from './export.ts'
import { readFilters } from './filters.ts'
import { playerCountQuery, playersQuery } from './operations.ts'
import { StatusBadge } from './status-badge.tsx'

export default function PlayersPage() {
  const environment = useEnvironment()
  const { token, projectId } = useOperator()
  const [search, setSearch] = useSearchParams()
  const [text, setText] = useState(search.get('search') ?? '')
  const [isExporting, setExporting] = useState(false)
  const filters = readFilters(search)
  const { sortBy, direction, ...counted } = filters
  const players = usePages({
    query: playersQuery,
    variables: { environment, ...filters },
    connectionOf: (data) => data.players,
  })
  const [count] = useQuery({ query: playerCountQuery, variables: { environment, ...counted } })
  const total = count.data?.players

  const set = (changes: Readonly<Record<string, string>>) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before)
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') after.delete(name)
          else after.set(name, value)
        }
        return after
      },
      { replace: true },
    )
  const value = (name: string) => search.get(name) ?? ''
  const field = (name: string, label: string, type = 'text', placeholder = '') => (
    <TextField
      label={label}
      name={name}
      type={type}
      placeholder={placeholder}
      value={value(name)}
      onChange={(entered) => set({ [name]: entered })}
    />
  )

  async function exportAll(): Promise<void> {
    setExporting(true)
    const fault = await exportPlayers({
      token,
      projectId,
      environment,
      onCount: (read) => toast(`${number(read)} players exported`),
    })
    setExporting(false)
    if (fault) toast(fault, 'error')
  }

  function saveShown(): void {
    const rows = players.rows.map((player) => [
      player.playerId,
      player.nickname,
      player.status,
      player.createdAt,
      player.lastLoginAt,
      player.region,
      player.language,
    ])
    saveFile(
      'players.csv',
      toCsv(['playerId', 'nickname', 'status', 'createdAt', 'lastLoginAt', 'region', 'language'], rows),
    )
  }

  return (
    <Page
      title="Players"
      actions={
        <>
          <Button onClick={saveShown} disabled={players.rows.length === 0}>
            CSV of the shown
          </Button>
          <RoleButton needs="OPERATOR" onClick={() => void exportAll()} busy={isExporting}>
            Export all
          </RoleButton>
        </>
      }
    >
      <search>
        <form
          className="filters"
          onSubmit={(event) => {
            event.preventDefault()
            set({ search: text.trim() })
          }}
        >
          <TextField
            label="Find"
            name="search"
            type="search"
            placeholder="nickname, id or subject"
            value={text}
            onChange={(entered) => {
              setText(entered)
              if (entered === '') set({ search: '' })
            }}
          />
          <Button type="submit" tone="primary">
            Find
          </Button>
          <SelectField
            label="Status"
            name="status"
            value={value('status')}
            onChange={(status) => set({ status })}
            options={[
              ['', 'all'],
              ['ACTIVE', 'active'],
              ['BANNED', 'banned'],
              ['DELETED', 'deleted'],
            ]}
          />
          {field('region', 'Region', 'text', 'eu-west')}
          {field('language', 'Language', 'text', 'pt-BR')}
          <SelectField
            label="Sort"
            name="sort"
            value={value('sort')}
            onChange={(sort) => set({ sort })}
            options={[
              ['', 'newest first'],
              ['oldest', 'oldest first'],
              ['login', 'last login first'],
              ['level', 'highest level first'],
            ]}
          />
        </form>
        <details
          className="more-filters"
          open={filters.scenarioId !== undefined || value('seen') !== '' || value('created') !== ''}
        >
          <summary>By time and battle pass</summary>
          <div className="filters">
            {field('created', 'Created since (UTC)', 'date')}
            {field('seen', 'Logged in since (UTC)', 'date')}
            {field('scenario', 'Scenario', 'text', 'season-1')}
            {field('pass', 'Pass', 'text', 'pass')}
            {field('from', 'From level', 'number')}
            {field('to', 'To level', 'number')}
            <SelectField
              label="Premium"
              name="premium"
              value={value('premium')}
              onChange={(premium) => set({ premium })}
              options={[
                ['', 'with and without'],
                ['yes', 'with premium'],
                ['no', 'without premium'],
              ]}
            />
          </div>
          <p className="hint">Levels, premium and the sort by level need a scenario and a pass.</p>
        </details>
      </search>
      <p className="muted" role="status">
        {total === undefined || total === null
          ? ' '
          : `${number(total.totalCount)}${total.totalCountIsExact ? '' : ' or more'} ${total.totalCount === 1 ? 'player' : 'players'}`}
      </p>
      <PagedTable
        caption="Players"
        pages={players}
        keyOf={({ playerId }) => playerId}
        empty={
          <Empty title={search.size > 0 ? 'No player matches' : `${environment} has no players yet`}>
            {search.size > 0 ? (
              <Button
                onClick={() => {
                  setText('')
                  setSearch({})
                }}
              >
                Clear the filters
              </Button>
            ) : (
              'They appear with their first login.'
            )}
          </Empty>
        }
        columns={[
          {
            title: 'Player',
            cell: ({ playerId, nickname }) => (
              <Link href={`/env/${environment}/players/${playerId}`}>{nickname ?? playerId}</Link>
            ),
          },
          { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
          {
            title: 'Passes',
            cell: ({ passes }) =>
              passes.length === 0 ? (
                <span className="muted">none</span>
              ) : (
                passes.map(({ id, scenarioId, nodeId, level, premiumOwned }) => (
                  <span key={id} title={`${scenarioId} ${nodeId}`}>
                    {scenarioId}: level {level} {premiumOwned && <span className="badge">premium</span>}{' '}
                  </span>
                ))
              ),
          },
          { title: 'Last login', cell: ({ lastLoginAt }) => <Time at={lastLoginAt} parts="minute" /> },
          { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} parts="minute" /> },
          { title: 'Region', cell: ({ region }) => region ?? '–' },
          { title: 'Language', cell: ({ language }) => language ?? '–' },
          {
            title: 'Id',
            cell: ({ playerId }) => (
              <code className="clip" title={playerId}>
                {playerId}
              </code>
            ),
          },
        ]}
      />
    </Page>
  )
}
