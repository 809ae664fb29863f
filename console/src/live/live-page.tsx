import { useSearchParams } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { Page } from '../ui/page.tsx'
import { filterOf } from './filters.ts'
import { LiveFeed } from './live-feed.tsx'
import { LiveFigures } from './live-figures.tsx'
import { LiveFilters } from './live-filters.tsx'

export default function LivePage() {
  const environment = useEnvironment()
  const [search] = useSearchParams()
  const filter = filterOf(environment, search)
  return (
    <Page title="Live">
      <LiveFigures />
      <LiveFilters />
      <LiveFeed key={JSON.stringify(filter)} filter={filter} isFiltered={search.size > 0} />
    </Page>
  )
}
