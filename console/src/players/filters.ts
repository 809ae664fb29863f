import type { VariablesOf } from '../graphql.ts'
import type { playersQuery } from './operations.ts'

export type Filters = Omit<VariablesOf<typeof playersQuery>, 'environment' | 'after'>

const STATUSES = ['ACTIVE', 'BANNED', 'DELETED'] as const
const SORTS = {
  oldest: { sortBy: 'CREATED', direction: 'ASCENDING' },
  login: { sortBy: 'LAST_LOGIN', direction: 'DESCENDING' },
  level: { sortBy: 'LEVEL', direction: 'DESCENDING' },
} as const satisfies Record<string, Filters>
const DAY_MS = 86_400_000

/** The filters of an address. Pass filters count only with a scenario and a node, a provider only with a search. */
export function readFilters(address: URLSearchParams): Filters {
  const text = (name: string): string | undefined => address.get(name)?.trim() || undefined
  // The last day counts as a whole.
  const day = (name: string, days = 0): string | undefined => {
    const at = Date.parse(`${address.get(name)}T00:00:00Z`) + days * DAY_MS
    return Number.isNaN(at) ? undefined : new Date(at).toISOString()
  }
  const level = (name: string): number | undefined => {
    const entered = address.get(name)
    return entered !== null && /^\d{1,6}$/.test(entered) ? Number(entered) : undefined
  }
  const [scenarioId, nodeId] = [text('scenario'), text('pass')]
  const hasPass = scenarioId !== undefined && nodeId !== undefined
  const search = text('search')
  const sort = SORTS[(address.get('sort') ?? '') as keyof typeof SORTS]
  return {
    search,
    provider: search === undefined ? undefined : text('provider'),
    status: STATUSES.find((one) => one === address.get('status')),
    region: text('region'),
    language: text('language'),
    createdFrom: day('created'),
    createdTo: day('createdTo', 1),
    lastLoginFrom: day('seen'),
    lastLoginTo: day('seenTo', 1),
    ...(hasPass && {
      scenarioId,
      nodeId,
      levelFrom: level('from'),
      levelTo: level('to'),
      premium: { yes: true, no: false }[address.get('premium') ?? ''],
    }),
    ...(sort?.sortBy !== 'LEVEL' || hasPass ? sort : undefined),
  }
}

/** The filters as parameters of the export, which has its own order. */
export function exportParameters({ sortBy, direction, status, ...filters }: Filters): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...filters, status: status?.toLowerCase() }))
    if (value !== undefined && value !== null) parameters.set(name, String(value))
  return parameters
}

/** The filters in words, such as `status banned, region DE`. Empty without any. */
export function filtersText(filters: Filters): string {
  const { scenarioId, nodeId, premium, status, levelFrom, levelTo } = filters
  const day = (at: unknown, days = 0) => new Date(Date.parse(String(at)) + days * DAY_MS).toISOString().slice(0, 10)
  return [
    filters.search && `found by “${filters.search}”${filters.provider ? ` at ${filters.provider}` : ''}`,
    status && `status ${status.toLowerCase()}`,
    filters.region && `region ${filters.region}`,
    filters.language && `language ${filters.language}`,
    filters.createdFrom && `created from ${day(filters.createdFrom)}`,
    filters.createdTo && `created until ${day(filters.createdTo, -1)}`,
    filters.lastLoginFrom && `last login from ${day(filters.lastLoginFrom)}`,
    filters.lastLoginTo && `last login until ${day(filters.lastLoginTo, -1)}`,
    scenarioId && `on ${scenarioId} / ${nodeId}`,
    levelFrom !== undefined && `from level ${levelFrom}`,
    levelTo !== undefined && `up to level ${levelTo}`,
    premium !== undefined && (premium ? 'with premium' : 'without premium'),
  ]
    .filter(Boolean)
    .join(', ')
}
