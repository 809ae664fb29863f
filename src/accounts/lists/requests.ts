import type { Fault } from '../../base/errors.ts'
import { MAX_LEVEL, MAX_SEGMENT, MAX_SUBJECT, MAX_TAG } from '../../base/limits.ts'
import { environment, nodeId, providerOfIdentity, scenarioId } from '../../declare/common.ts'
import {
  type Check,
  described,
  type Field,
  flag,
  int32,
  moment,
  nested,
  oneOf,
  optional,
  type RequestOf,
  shape,
  text,
} from '../../declare/shape.ts'
import { currentPass } from '../../game/runs/scenarios.ts'
import { STATUSES } from '../../players/player-status.ts'
import type { GroupCommit } from '../../transactions/group-commit.ts'
import type { PlayerSearch } from './search-players.ts'
import { DIRECTIONS, type ListedPass, PLAYER_SORTS } from './statements.ts'

// The requests of a list of players, in GraphQL and for the export.

const level = (description: string) => optional(int32(description, { min: 0, max: MAX_LEVEL }))

/** The filters of a list of players, which a segment may keep under a name. */
export const playerFilter = shape({
  status: optional(oneOf('Only this status.', STATUSES)),
  region: optional(text('Only this region, compared exactly.', { max: MAX_TAG })),
  language: optional(text('Only this language, compared exactly.', { max: MAX_TAG })),
  createdFrom: optional(moment('Created at this moment or later.')),
  createdTo: optional(moment('Created before this moment.')),
  lastLoginFrom: optional(moment('The last login was at this moment or later.')),
  lastLoginTo: optional(moment('The last login was before this moment. Players without a login are left out.')),
  scenarioId: optional(described(scenarioId, 'The scenario of the pass for the following filters.')),
  nodeId: optional(described(nodeId, 'The node of that pass.')),
  premium: optional(
    flag('True for players with premium on the pass, false for players who have begun the pass without premium.'),
  ),
  levelFrom: level('At this level of the pass or above.'),
  levelTo: level('At this level of the pass or below.'),
})
export type PlayerFilterInput = RequestOf<typeof playerFilter>

export const segmentName = text('The name of a segment.', { max: MAX_SEGMENT })

const searched = {
  environment,
  search: optional(
    text(
      'An id (`playerId` or `id`), a subject, or a part of a nickname without regard to letter case and accents; only its beginning if `nicknameSearch` is `PREFIX`.',
      { max: MAX_SUBJECT },
    ),
  ),
  provider: optional(providerOfIdentity('When given, `search` is a subject of this provider: ')),
  segment: optional(
    described(
      segmentName,
      'Only players of this segment. Other filters narrow it further. A range may narrow a range of the segment. Any other filter that the segment has must have the same value.',
    ),
  ),
}

/** The request of an export, whose filters are parameters of the URL. */
export const filterRequest = shape({ ...searched, ...playerFilter.fields })

const by = oneOf('Default: by creation. A list by level has only players who have begun the pass.', PLAYER_SORTS)
const direction = oneOf('Default: the newest or highest first.', DIRECTIONS)

/** The filters as arguments of the list, as in the release before. */
const former = Object.fromEntries(
  Object.entries(playerFilter.fields).map(([name, field]) => [name, { ...field, replacedBy: `filter.${name}` }]),
) as unknown as typeof playerFilter.fields

export const playersRequest = shape({
  ...searched,
  filter: optional(nested('The players must match all of these.', playerFilter, undefined, 'PlayerFilterInput')),
  sort: optional(
    nested(
      'The order of the list. Default: the newest first.',
      shape({ by: optional(by), direction: optional(direction) }),
      undefined,
      'PlayerSortInput',
    ),
  ),
  ...former,
  sortBy: { ...optional(by), replacedBy: 'sort.by' },
  direction: { ...optional(direction), replacedBy: 'sort.direction' },
})

type Filter = RequestOf<typeof filterRequest>

/** Faults of combinations of filters. */
export const checkPlayerFilter: Check<PlayerFilterInput & { readonly sortBy?: string }> = (asked) => {
  const faults: Fault[] = []
  const add = (path: string, message: string) => void faults.push({ path, message })
  const { premium, levelFrom, levelTo } = asked
  const isOfPass = premium !== null || levelFrom !== null || levelTo !== null || asked.sortBy === 'level'
  const isNamed = asked.scenarioId !== null || asked.nodeId !== null
  for (const path of ['scenarioId', 'nodeId'] as const) {
    if (asked[path] === null && (isOfPass || isNamed)) add(path, 'is required to name a pass')
  }
  if (levelFrom !== null && levelTo !== null && levelTo < levelFrom) add('levelTo', 'must not be below levelFrom')
  for (const [from, to] of [
    ['createdFrom', 'createdTo'],
    ['lastLoginFrom', 'lastLoginTo'],
  ] as const) {
    if (asked[from] && asked[to] && asked[from] >= asked[to]) add(to, `must be after ${from}`)
  }
  return faults
}

/** Faults of combinations of fields. */
export const checkFilter: Check<Filter & { readonly sortBy?: string }> = (asked) => [
  // A search by provider alone would find all of its players.
  ...(asked.provider !== null && !asked.search ? [{ path: 'provider', message: 'must be given with search' }] : []),
  ...checkPlayerFilter(asked),
]

type PlayersRequest = RequestOf<typeof playersRequest>

/** A list with its filters and its order, by whichever arguments they came. */
export function listedBy({ filter, sort, sortBy, direction, ...asked }: PlayersRequest) {
  return {
    ...asked,
    ...filter,
    sortBy: sort?.by ?? sortBy ?? 'created',
    direction: sort?.direction ?? direction ?? 'descending',
  }
}

/** The arguments of a request that are deprecated, with the place that each has now. */
const formerIn = (asked: Readonly<Record<string, unknown>>): readonly (readonly [name: string, now: string])[] =>
  Object.entries<Field<unknown>>(playersRequest.fields).flatMap(([name, { replacedBy }]) =>
    replacedBy && asked[name] !== null ? [[name, replacedBy] as const] : [],
  )

/** Where the request has a filter: in `filter`, unless all of them are deprecated arguments. */
export function placesOf(asked: PlayersRequest): (name: string) => string {
  const isOld = asked.filter === null && formerIn(asked).length > 0
  return (name) => (name in playerFilter.fields && !isOld ? `filter.${name}` : name)
}

export const checkPlayers: Check<PlayersRequest> = (asked) => {
  const place = placesOf(asked)
  const doubled = formerIn(asked).flatMap(([path, now]) => {
    const part = now.startsWith('sort.') ? 'sort' : 'filter'
    return asked[part] === null ? [] : [{ path, message: `must not be given with ${part}: use ${now}` }]
  })
  return [...doubled, ...checkFilter(listedBy(asked)).map((fault) => ({ ...fault, path: place(fault.path) }))]
}

/** The search of a request, in the environment with this id, by the levels of the current version. */
export async function searchOf(
  run: GroupCommit['run'],
  asked: PlayerFilterInput & Partial<Pick<Filter, 'search' | 'provider'>>,
  environmentId: string,
): Promise<PlayerSearch & { readonly pass: ListedPass | null }> {
  const { search: text = null, provider = null, status, region, language, premium, levelFrom, levelTo } = asked
  const { createdFrom, createdTo, lastLoginFrom, lastLoginTo, scenarioId, nodeId } = asked
  const filter = {
    environmentId,
    text,
    provider,
    status,
    region,
    language,
    premium,
    levelFrom,
    levelTo,
    createdFrom,
    createdTo,
    lastLoginFrom,
    lastLoginTo,
  }
  if (scenarioId === null || nodeId === null) return { ...filter, pass: null }
  const place = { scenarioId, nodeId }
  const node = await run(currentPass({ environmentId, ...place }))
  return { ...filter, pass: { ...place, levels: node?.levels ?? null } }
}
