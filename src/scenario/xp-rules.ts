import { GameDays } from '../base/game-day.ts'
import { MAX_INT64 } from '../base/json.ts'
import { MAX_HANDLE, MAX_LISTED_HANDLES, MAX_LISTED_SOURCES, MAX_SOURCE } from '../base/limits.ts'
import { type RawValue, type Reader, readLate, stringOf } from './definition-reader.ts'

// Who may give the xp of a battle pass, and how much: `data.xp` of its node.

/** The callers who may send xp of a source. What clients may send, servers may send, too. */
export const XP_SENDERS = ['client', 'server'] as const
export type XpSender = (typeof XP_SENDERS)[number]

/** What happens to xp over a limit: as much as fits is granted, or the call is refused. */
export const OVER_LIMIT = ['clip', 'refuse'] as const
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

const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/

/** Reads `data.xp`. Null when it is absent: clients may then send any xp. */
export const readXpRules = (reader: Reader, source: RawValue): XpRules | null =>
  source.raw === undefined ? null : readLate(reader, (own) => readRules(own, source), null)

function readRules(reader: Reader, source: RawValue): XpRules {
  const xp = reader.object(source, ['from', 'others', 'sources', ...XP_LIMITS, 'over', 'dayStartsAt', 'timeZone'])
  const from = reader.oneOf(xp('from'), XP_SENDERS, 'client')
  const sources = new Map<string, XpSource>()
  for (const place of reader.entries(xp('sources'), { max: MAX_LISTED_SOURCES, maxName: MAX_SOURCE })) {
    const rule = reader.object(place, ['from', ...XP_LIMITS])
    sources.set(place.name, { from: reader.oneOf(rule('from'), XP_SENDERS, from), limits: readLimits(reader, rule) })
  }
  return {
    from,
    others: reader.flag(xp('others'), true),
    sources,
    limits: readLimits(reader, xp),
    over: reader.oneOf(xp('over'), OVER_LIMIT, 'clip'),
    days: new GameDays(reader.timeZone(xp('timeZone')), readTime(reader, xp('dayStartsAt'))),
  }
}

function readLimits(reader: Reader, member: (name: string) => RawValue): XpLimits {
  const read = (name: string) => {
    const place = member(name)
    return place.raw === undefined || place.isMoot ? null : (reader.integer(place, 0n, MAX_INT64) ?? null)
  }
  return { max: read('max'), perDay: read('perDay'), perWeek: read('perWeek'), perSeason: read('perSeason') }
}

/** In minutes after midnight. */
function readTime(reader: Reader, source: RawValue): number {
  if (source.raw === undefined) return 0
  const [, hours, minutes] = TIME.exec(stringOf(source) ?? '') ?? []
  if (hours === undefined) reader.unfit(source, 'must be a time of day, such as 04:00')
  return Number(hours ?? 0) * 60 + Number(minutes ?? 0)
}

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

/** The handles of a node that the client runs, which only servers cross: its member `handles`. */
export const readServerHandles = (reader: Reader, source: RawValue): ReadonlySet<string> =>
  source.raw === undefined ? NONE : readLate(reader, (own) => readHandles(own, source), NONE)

const NONE: ReadonlySet<string> = new Set()

function readHandles(reader: Reader, source: RawValue): ReadonlySet<string> {
  const handles = new Set<string>()
  for (const place of reader.entries(source, { max: MAX_LISTED_HANDLES, maxName: MAX_HANDLE })) {
    const from = reader.oneOf(reader.object(place, ['from'])('from'), XP_SENDERS, 'client')
    if (from === 'server') handles.add(place.name)
  }
  return handles
}
