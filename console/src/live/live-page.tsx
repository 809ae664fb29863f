import { useSearchParams } from 'wouter'
import { LiveFeed } from '../events/live-feed.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Page } from '../ui/page.tsx'
import { SavedViews } from '../views/saved-views.tsx'
import { filterOf } from './filters.ts'
import { LiveFigures } from './live-figures.tsx'
import { LiveFilters } from './live-filters.tsx'

export default function LivePage() {
  const environment = useEnvironment()
  const [search] = useSearchParams()
  const filter = filterOf(environment, search)
  return (
    <Page title="Live" actions={<SavedViews page="live" />}>
      <LiveFigures />
      <LiveFilters />
      <LiveFeed
        filter={filter}
        empty={search.size > 0 ? 'No events match these filters' : `No events in ${environment} yet`}
      />
    </Page>
  )
}
