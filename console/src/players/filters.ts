import type { VariablesOf } from '../graphql.ts'
import { DAY_MS } from '../ui/lengths.ts'
import type { playersQuery } from './operations.ts'

type Variables = Omit<VariablesOf<typeof playersQuery>, 'environment' | 'after'>

/** The filters that a segment may keep. */
export type PlayerFilter = NonNullable<Variables['filter']>

/** A list of players, which may also have a search, a segment and an order. */
export interface Filters extends Variables {
  readonly filter: PlayerFilter
}

const STATUSES = ['ACTIVE', 'BANNED', 'DELETED'] as const
const SORTS = {
  oldest: { by: 'CREATED', direction: 'ASCENDING' },
  login: { by: 'LAST_LOGIN', direction: 'DESCENDING' },
  level: { by: 'LEVEL', direction: 'DESCENDING' },
} as const satisfies Record<string, Variables['sort']>

/** The times of an address and of the filters. */
const TIMES = {
  created: 'createdFrom',
  createdTo: 'createdTo',
  seen: 'lastLoginFrom',
  seenTo: 'lastLoginTo',
} as const satisfies Record<string, keyof PlayerFilter>
const DAY = /^\d{4}-\d\d-\d\d$/

/** A time of an address in UTC: a day, or a day with an hour. The last day counts as a whole. */
function momentOf(text: string, isEnd: boolean): string | undefined {
  const isDay = DAY.test(text)
  const at = Date.parse(`${text}${isDay ? 'T00:00' : ''}Z`) + (isDay && isEnd ? DAY_MS : 0)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

/** A time for a field: `2026-02-01T18:00`, with seconds where it has some. Empty for none. */
export const timeFieldOf = (at: unknown): string =>
  typeof at === 'string' ? new Date(at).toISOString().replace(/(:00)?\.000Z$|Z$/, '') : ''

/** The filters of an address. Pass filters count only with a scenario and a node, a provider only with a search. */
export function readFilters(address: URLSearchParams): Filters {
  const text = (name: string): string | undefined => address.get(name)?.trim() || undefined
  const time = (name: keyof typeof TIMES): string | undefined => momentOf(address.get(name) ?? '', name.endsWith('To'))
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
    segment: text('segment'),
    provider: search === undefined ? undefined : text('provider'),
    filter: {
      status: STATUSES.find((one) => one === address.get('status')),
      region: text('region'),
      language: text('language'),
      createdFrom: time('created'),
      createdTo: time('createdTo'),
      lastLoginFrom: time('seen'),
      lastLoginTo: time('seenTo'),
      ...(hasPass && {
        scenarioId,
        nodeId,
        levelFrom: level('from'),
        levelTo: level('to'),
        premium: { yes: true, no: false }[address.get('premium') ?? ''],
      }),
    },
    sort: sort?.by !== 'LEVEL' || hasPass ? sort : undefined,
  }
}

/** What is read otherwise: the way to a page, and an order. */
const NO_FILTERS = ['search', 'segment', 'provider', 'region', 'language', 'sort', 'replaces', 'whom']
const VALUES: Readonly<Record<string, RegExp>> = {
  status: new RegExp(`^(${STATUSES.join('|')})$`),
  from: /^\d{1,6}$/,
  to: /^\d{1,6}$/,
  premium: /^(yes|no)$/,
}

/**
 * The parameters of an address that are no filters, or whose values are none, such as `stauts=BANNED`. A list without
 * them has players whom the sender of the address did not mean.
 */
export function unreadFilters(address: URLSearchParams): readonly string[] {
  const hasPass = address.get('scenario') && address.get('pass')
  return [...address].flatMap(([name, value]) => {
    const isRead =
      NO_FILTERS.includes(name) ||
      value === '' ||
      (Object.hasOwn(TIMES, name)
        ? momentOf(value, false) !== undefined
        : ['scenario', 'pass'].includes(name)
          ? hasPass
          : VALUES[name]?.test(value) && (name === 'status' || hasPass))
    return isRead ? [] : [`${name}=${value}`]
  })
}

/** The address of filters: `readFilters` reads the same ones. */
export function filterParameters(filter: PlayerFilter): URLSearchParams {
  const parameters = new URLSearchParams()
  const { status, region, language, scenarioId, nodeId, levelFrom, levelTo, premium } = filter
  const values = {
    status,
    region,
    language,
    scenario: scenarioId,
    pass: nodeId,
    from: levelFrom,
    to: levelTo,
    premium: premium === undefined || premium === null ? undefined : premium ? 'yes' : 'no',
    ...Object.fromEntries(Object.entries(TIMES).map(([name, field]) => [name, timeFieldOf(filter[field])])),
  }
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value))
  return parameters
}

/** The filters as parameters of the export, which has its own order. */
export function exportParameters({ sort, filter, ...list }: Filters): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...list, ...filter, status: filter.status?.toLowerCase() }))
    if (value !== undefined && value !== null) parameters.set(name, String(value))
  return parameters
}

/** The filters in words, such as `status banned, region DE`. Empty without any. */
export function filtersText(filter: PlayerFilter, { search, provider, segment }: Partial<Filters> = {}): string {
  const { scenarioId, nodeId, premium, status, levelFrom, levelTo } = filter
  const isMidnight = (at: unknown) => Date.parse(String(at)) % DAY_MS === 0
  const day = (at: unknown, days = 0) => new Date(Date.parse(String(at)) + days * DAY_MS).toISOString().slice(0, 10)
  const from = (at: unknown) => (isMidnight(at) ? `from ${day(at)}` : `from ${timeFieldOf(at).replace('T', ' ')}`)
  const until = (at: unknown) =>
    isMidnight(at) ? `until ${day(at, -1)}` : `before ${timeFieldOf(at).replace('T', ' ')}`
  return [
    segment && `of the segment ${segment}`,
    search && `found by “${search}”${provider ? ` at ${provider}` : ''}`,
    status && `status ${status.toLowerCase()}`,
    filter.region && `region ${filter.region}`,
    filter.language && `language ${filter.language}`,
    filter.createdFrom && `created ${from(filter.createdFrom)}`,
    filter.createdTo && `created ${until(filter.createdTo)}`,
    filter.lastLoginFrom && `last login ${from(filter.lastLoginFrom)}`,
    filter.lastLoginTo && `last login ${until(filter.lastLoginTo)}`,
    scenarioId && `on ${scenarioId} / ${nodeId}`,
    isSet(levelFrom) && `from level ${levelFrom}`,
    isSet(levelTo) && `up to level ${levelTo}`,
    isSet(premium) && (premium ? 'with premium' : 'without premium'),
  ]
    .filter(Boolean)
    .join(', ')
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null
