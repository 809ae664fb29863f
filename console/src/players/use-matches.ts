import { useQuery } from 'urql'
import type { ResultOf } from '../graphql.ts'
import type { findPlayersQuery } from '../shell/operations.ts'
import { playersText } from '../ui/players-text.ts'
import { playerCountQuery } from './operations.ts'

type Found = ResultOf<typeof findPlayersQuery>['players']

/** The number of all players that a search finds, in words, when a list has only the first ones. Otherwise undefined. */
export function useMatches(environment: string, search: string, found: Found | undefined): string | undefined {
  const hasMore = found?.pageInfo.hasNextPage === true
  const [{ data, fetching }] = useQuery({
    query: playerCountQuery,
    variables: { environment, search },
    pause: !hasMore,
  })
  const total = hasMore && !fetching ? data?.players : undefined
  return total ? playersText(total.totalCount, total.totalCountIsExact) : undefined
}
