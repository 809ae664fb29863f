import { GameDays } from '../../base/game-day.ts'
import { MAX_INT64 } from '../../base/json.ts'
import { MAX_HANDLE, MAX_LISTED_HANDLES, MAX_LISTED_SOURCES, MAX_SOURCE } from '../../base/limits.ts'
import { timeZone } from '../../declare/document/moment.ts'
import {
  byDefault,
  flag,
  integer,
  late,
  type Members,
  matched,
  named,
  names,
  object,
  oneOf,
  optional,
  type Part,
  type ValuesOf,
  withKeywords,
} from '../../declare/document/parts.ts'

// Who may give the xp of a battle pass, and how much: `data.xp` of its node.

/** The callers who may send xp of a source. What clients may send, servers may send, too. */
const XP_SENDERS = ['client', 'server'] as const
export type XpSender = (typeof XP_SENDERS)[number]

/** What happens to xp over a limit: as much as fits is granted, or the call is refused. */
const OVER_LIMIT = ['clip', 'refuse'] as const
export type OverLimit = (typeof OVER_LIMIT)[number]

/** In a call, in a day or week of the game, and since the player began the pass. Null for no limit. */
export const XP_LIMITS = ['max', 'perDay', 'perWeek', 'perSeason'] as const
export type XpLimits = { readonly [Limit in (typeof XP_LIMITS)[number]]: bigint | null }

export interface XpSource {
  readonly from: XpSender
  readonly limits: XpLimits
}

export interface XpRules {
  /** For sources that are not listed. */
  readonly from: XpSender
  /** Whether sources may be sent that are not listed. */
  readonly others: boolean
  readonly sources: ReadonlyMap<string, XpSource>
  /** For all sources together. */
  readonly limits: XpLimits
  readonly over: OverLimit
  readonly days: GameDays
}

const limit = (description: string) => optional(integer(0, MAX_INT64, description), 'Default: none.')

const limitParts = {
  max: limit('The most xp of one call.'),
  perDay: limit('The most xp in a day of the game.'),
  perWeek: limit('The most xp in a week of the game, which begins on Monday.'),
  perSeason: limit('The most xp since the player began the pass.'),
} satisfies Record<(typeof XP_LIMITS)[number], Part<unknown>>

const readLimits = (given: Members<ValuesOf<typeof limitParts>>): XpLimits => ({
  max: given.read('max') ?? null,
  perDay: given.read('perDay') ?? null,
  perWeek: given.read('perWeek') ?? null,
  perSeason: given.read('perSeason') ?? null,
})

const xpSource = named(
  'xpSource',
  object(
    'The rule of a source.',
    {
      from: byDefault(oneOf(XP_SENDERS, 'Who may send xp of this source. Default: as `from` of the pass says.'), null),
      ...limitParts,
    },
    (given) => ({ from: given.read('from'), limits: readLimits(given) }),
  ),
)

/** In minutes after midnight. */
const timeOfDay = matched(/^([01]\d|2[0-3]):([0-5]\d)$/, {
  description: 'The local time at which a day of the game begins. Default: 00:00.',
  fault: 'must be a time of day, such as 04:00',
  of: ([hours, minutes]) => Number(hours) * 60 + Number(minutes),
})

const zone = withKeywords(
  timeZone('The time zone of days and weeks, by its name in the IANA database. Default: UTC.'),
  { examples: ['Europe/Berlin', 'America/Los_Angeles', 'UTC'] },
)

const rules = named(
  'xpRules',
  object(
    'The rules of xp. The limits here are for all sources together.',
    {
      from: byDefault(
        oneOf(
          XP_SENDERS,
          'Who may send xp of sources that are not listed: clients and servers, or only servers. Default: client.',
        ),
        'client',
      ),
      others: byDefault(flag('Whether xp of sources that are not listed may be sent at all. Default: true.'), true),
      sources: optional(
        names(xpSource, { max: MAX_LISTED_SOURCES, maxName: MAX_SOURCE }, 'Rules of sources by their names.'),
        'Default: none.',
        new Map<string, never>(),
      ),
      ...limitParts,
      over: byDefault(
        oneOf(
          OVER_LIMIT,
          'Over a limit, `clip` grants what is left of it, and `refuse` answers `xp limit reached`. Default: clip.',
        ),
        'clip',
      ),
      dayStartsAt: byDefault(timeOfDay, 0),
      timeZone: byDefault(zone, 'UTC'),
    },
    (given): XpRules => {
      const from = given.read('from')
      const sources = new Map<string, XpSource>()
      for (const [name, source] of given.read('sources'))
        sources.set(name, { from: source.from ?? from, limits: source.limits })
      return {
        from,
        others: given.read('others'),
        sources,
        limits: readLimits(given),
        over: given.read('over'),
        days: new GameDays(given.read('timeZone'), given.read('dayStartsAt')),
      }
    },
  ),
)

/** `data.xp`. Null when it is absent: clients may then send any xp. */
export const xpRules = late(
  optional(rules, 'Who may give xp, and how much. Default: clients and servers, without limits.'),
  null,
)

/** Why clients can give themselves xp without end; null if they cannot. */
export function openToClients(rules: XpRules | null): string | null {
  const advice = 'a modified client can give itself any amount. `data.xp` can take xp from servers, or limit it'
  if (!rules) return `takes xp of every source from clients, without a limit: ${advice}`
  if (isLimited(rules.limits)) return null
  const open = [...rules.sources].find(([, source]) => source.from === 'client' && !isLimited(source.limits))
  if (open) return `takes xp of the source \`${open[0]}\` from clients, without a limit: ${advice}`
  if (rules.others && rules.from === 'client')
    return `takes xp of sources that it does not list from clients, without a limit: ${advice}`
  return null
}

/** A limit for each call is none for many calls. */
const isLimited = ({ max, perDay, perWeek, perSeason }: XpLimits): boolean =>
  max === 0n || perDay !== null || perWeek !== null || perSeason !== null

const handleRule = named(
  'handleRule',
  object(
    'The rule of a handle.',
    {
      from: byDefault(
        oneOf(XP_SENDERS, 'Who may cross the handle: clients and servers, or only servers. Default: client.'),
        'client',
      ),
    },
    (given) => given.read('from'),
  ),
)

const NO_RULES: ReadonlyMap<string, XpSender> = new Map()

/** Who may cross the handles of a node that the client runs: its member `handles`. */
export const handleRules = late(
  optional(
    names(handleRule, { max: MAX_LISTED_HANDLES, maxName: MAX_HANDLE }, 'Handles of the node by their names.'),
    'Of a node that the client runs: who may cross its handles. Default: clients and servers.',
    NO_RULES,
  ),
  NO_RULES,
)

/** The handles that only servers cross. */
export const serverHandlesOf = (rules: ReadonlyMap<string, XpSender>): ReadonlySet<string> =>
  new Set([...rules].flatMap(([name, from]) => (from === 'server' ? [name] : [])))
