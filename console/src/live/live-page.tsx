import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { FeedBadge, FeedNotices } from '../events/feed-status.tsx'
import { useEvents } from '../events/use-events.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { Empty, Loading } from '../ui/states.tsx'
import { number } from '../ui/text.tsx'
import { EventList } from './event-list.tsx'
import { LiveFigures } from './live-figures.tsx'

const LIMIT = 5_000
const TYPES = [
  ['', 'all kinds'],
  ['CROSSING', 'crossings'],
  ['PLAYER_CREATED', 'new players'],
  ['RUN_CANCELLED', 'cancelled runs'],
] as const
const HANDLES = ['onLevelUp', 'onPremiumPurchase', 'onMaxLevel', 'onComplete', 'onStart']

export default function LivePage() {
  const environment = useEnvironment()
  const [search, setSearch] = useSearchParams()
  const filter = {
    environment,
    playerId: search.get('player') || undefined,
    scenarioId: search.get('scenario') || undefined,
    handles: search.get('handle')?.split(',').filter(Boolean),
    types: TYPES.flatMap(([type]) => (type !== '' && type === search.get('type') ? [type] : [])),
  }
  const state = useEvents(
    {
      ...filter,
      handles: filter.handles?.length ? filter.handles : undefined,
      types: filter.types.length ? filter.types : undefined,
    },
    LIMIT,
  )
  const [pausedAt, setPausedAt] = useState<number | null>(null)
  // Events that came since, whether they are still kept or not.
  const heard = state.dropped + state.events.length
  const waiting = pausedAt === null ? 0 : heard - pausedAt
  const shown = pausedAt === null ? state.events : state.events.slice(0, Math.max(0, pausedAt - state.dropped))

  const set = (name: string, value: string) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before)
        if (value === '') after.delete(name)
        else after.set(name, value)
        return after
      },
      { replace: true },
    )
  const field = (name: string, label: string, placeholder: string, suggestions?: readonly string[]) => (
    <TextField
      label={label}
      name={name}
      type="search"
      placeholder={placeholder}
      suggestions={suggestions}
      value={search.get(name) ?? ''}
      onChange={(value) => set(name, value.trim())}
    />
  )

  return (
    <Page title="Live" actions={<FeedBadge status={state.status} />}>
      <LiveFigures />
      <div className="filters">
        {field('handle', 'Handle', 'all handles', HANDLES)}
        <SelectField
          label="Kind"
          name="type"
          value={search.get('type') ?? ''}
          onChange={(value) => set('type', value)}
          options={TYPES}
        />
        {field('scenario', 'Scenario', 'all scenarios')}
        {field('player', 'Player', 'id of a player')}
        <Button
          tone={pausedAt === null ? 'plain' : 'primary'}
          onClick={() => setPausedAt(pausedAt === null ? heard : null)}
        >
          {pausedAt === null ? 'Pause' : waiting === 0 ? 'Resume' : `Resume: ${number(waiting)} waiting`}
        </Button>
      </div>
      <FeedNotices state={state} />
      {shown.length > 0 ? (
        <EventList events={shown} onRead={() => setPausedAt((before) => before ?? heard)} />
      ) : state.status === 'connecting' ? (
        <Loading what="Connecting" />
      ) : (
        <Empty title={`No events in ${environment}${search.size > 0 ? ' match these filters' : ' yet'}`}>
          They appear here as players log in, reach levels and buy premium.
        </Empty>
      )}
    </Page>
  )
}
