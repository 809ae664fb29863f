import { useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { number } from '../ui/words.ts'
import { recentLoginsQuery } from './operations.ts'

/** The number of logins that a change affects, as a sentence. Undefined until it is known. */
export function useRecentLogins(provider: string | undefined): string | undefined {
  const environment = useEnvironment()
  const [{ data }] = useQuery({
    query: recentLoginsQuery,
    variables: { environment, provider: provider ?? '' },
    pause: provider === undefined,
    requestPolicy: 'network-only',
  })
  if (!data) return undefined
  const { logins } = data.loginStatistics.total
  return `In the last 24 hours, ${number(logins)} ${logins === 1 ? 'login' : 'logins'} went through it.`
}
