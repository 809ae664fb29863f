import type { VariablesOf } from '../graphql.ts'
import type { playersQuery } from './operations.ts'

type Filters = Omit<VariablesOf<typeof playersQuery>, 'environment' | 'after'>

const STATUSES = ['ACTIVE', 'BANNED', 'DELETED'] as const
const SORTS = {
  oldest: { sortBy: 'CREATED', direction: 'ASCENDING' },
  login: { sortBy: 'LAST_LOGIN', direction: 'DESCENDING' },
  level: { sortBy: 'LEVEL', direction: 'DESCENDING' },
} as const satisfies Record<string, Filters>

/** The filters of an address. Those of a pass count only with its scenario and node. */
export function readFilters(search: URLSearchParams): Filters {
  const text = (name: string): string | undefined => search.get(name)?.trim() || undefined
  const day = (name: string): string | undefined => {
    const at = Date.parse(`${search.get(name)}T00:00:00Z`)
    return Number.isNaN(at) ? undefined : new Date(at).toISOString()
  }
  const level = (name: string): number | undefined => {
    const entered = search.get(name)
    return entered !== null && /^\d{1,6}$/.test(entered) ? Number(entered) : undefined
  }
  const [scenarioId, nodeId] = [text('scenario'), text('pass')]
  const hasPass = scenarioId !== undefined && nodeId !== undefined
  const sort = SORTS[(search.get('sort') ?? '') as keyof typeof SORTS]
  return {
    search: text('search'),
    status: STATUSES.find((one) => one === search.get('status')),
    region: text('region'),
    language: text('language'),
    createdFrom: day('created'),
    lastLoginFrom: day('seen'),
    ...(hasPass && {
      scenarioId,
      nodeId,
      levelFrom: level('from'),
      levelTo: level('to'),
      premium: { yes: true, no: false }[search.get('premium') ?? ''],
    }),
    ...(sort?.sortBy !== 'LEVEL' || hasPass ? sort : undefined),
  }
}
