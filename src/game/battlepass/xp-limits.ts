import { XP_LIMITS, type XpLimits, type XpRules } from '../definition/xp-rules.ts'

// How much of sent xp is granted by the rules of a pass. Pure.

/** Where xp comes from. Operators, and xp that comes along from the season before, are not limited. */
export const XP_ORIGINS = ['client', 'server', 'operator', 'season'] as const
export type XpOrigin = (typeof XP_ORIGINS)[number]

export type LimitedBy = `${'source' | 'pass'}.${keyof XpLimits}`

/** Xp that counts towards limits: in the day and the week of `XpCounts`, and in the season. */
interface Count {
  readonly inDay: bigint
  readonly inWeek: bigint
  readonly inSeason: bigint
}

interface SourceCount extends Count {
  readonly source: string
  /** An event has reported a limit on this day. */
  readonly isTold: boolean
}

/**
 * What a player was granted on a pass with rules, as far as limits need it. Counting begins with the version that
 * brings the rules, and for a source with the one that lists it. Sources that are not listed count as one, without a
 * name. Rules that are removed and come back find their counts again.
 */
export interface XpCounts extends Count {
  /** The day of the game, such as `2026-11-25`, and the Monday of its week. */
  readonly day: string
  readonly week: string
  readonly sources: readonly SourceCount[]
}

export interface SentXp {
  readonly amount: bigint
  readonly source: string
  readonly origin: XpOrigin
}

export interface Limited {
  readonly by: LimitedBy
  readonly limit: bigint
  readonly day: string
  /** The first time in the day for this source. */
  readonly isFirst: boolean
}

export interface AllowedXp {
  readonly granted: bigint
  readonly counts: XpCounts | null
  readonly limited: Limited | null
}

/** Those whose xp has no limits, and no bonus. */
export const isTrusted = (origin: XpOrigin): boolean => origin === 'operator' || origin === 'season'

export function maySend(rules: XpRules | null, { source, origin }: Omit<SentXp, 'amount'>): boolean {
  if (!rules || isTrusted(origin)) return true
  const listed = rules.sources.get(source)
  if (!listed && !rules.others) return false
  return origin === 'server' || (listed?.from ?? rules.from) === 'client'
}

const NONE: Count = { inDay: 0n, inWeek: 0n, inSeason: 0n }

/** The part of sent xp that the limits allow, with the counts after it. */
export function allowXp(rules: XpRules | null, stored: XpCounts | null, sent: SentXp, now: Date): AllowedXp {
  const { amount, source, origin } = sent
  if (!rules || isTrusted(origin)) return { granted: amount, counts: stored, limited: null }
  const counts = countsAt(rules, stored, now)
  const listed = rules.sources.get(source)
  const name = listed ? source : ''
  const ofSource = counts.sources.find((one) => one.source === name) ?? { ...NONE, source: name, isTold: false }

  let granted = amount
  let held: Pick<Limited, 'by' | 'limit'> | null = null
  const apply = (of: 'source' | 'pass', limits: XpLimits, { inDay, inWeek, inSeason }: Count): void => {
    const used = { max: 0n, perDay: inDay, perWeek: inWeek, perSeason: inSeason }
    for (const kind of XP_LIMITS) {
      const limit = limits[kind]
      // An edit can lower a limit below what was granted.
      if (limit === null || used[kind] + granted <= limit) continue
      granted = limit > used[kind] ? limit - used[kind] : 0n
      held = { by: `${of}.${kind}`, limit }
    }
  }
  if (listed) apply('source', listed.limits, ofSource)
  apply('pass', rules.limits, counts)

  // TypeScript does not see that `apply` sets it.
  const by = held as Pick<Limited, 'by' | 'limit'> | null
  const added = by !== null && rules.over === 'refuse' ? 0n : granted
  const next = { ...plus(ofSource, added), source: name, isTold: ofSource.isTold || by !== null }
  return {
    granted: added,
    counts: {
      ...plus(counts, added),
      day: counts.day,
      week: counts.week,
      sources: [...counts.sources.filter((one) => one.source !== name), next],
    },
    limited: by && { ...by, day: counts.day, isFirst: !ofSource.isTold },
  }
}

const plus = ({ inDay, inWeek, inSeason }: Count, xp: bigint): Count => ({
  inDay: inDay + xp,
  inWeek: inWeek + xp,
  inSeason: inSeason + xp,
})

/**
 * The counts at a moment. A day that is later than today stays: the clock of another instance may be ahead, and an edit
 * of the time zone must not give a day twice.
 */
function countsAt(rules: XpRules, stored: XpCounts | null, now: Date): XpCounts {
  const today = rules.days.at(now.getTime())
  if (!stored) return { ...NONE, day: today.day, week: today.week, sources: [] }
  const isNewDay = today.day > stored.day
  const isNewWeek = today.week > stored.week
  if (!isNewDay && !isNewWeek) return stored
  const begin = <C extends Count>(count: C): C => ({
    ...count,
    ...(isNewDay && { inDay: 0n, isTold: false }),
    ...(isNewWeek && { inWeek: 0n }),
  })
  return {
    ...begin(stored),
    day: isNewDay ? today.day : stored.day,
    week: isNewWeek ? today.week : stored.week,
    sources: stored.sources.map(begin),
  }
}
