const LENGTH_MS = { HOUR: 3_600_000, DAY: 86_400_000 }

/** The xp of a source or an origin. `times` has only the hours or days with xp. */
export interface XpTimes {
  readonly times: readonly { readonly startsAt: string; readonly xp: string }[]
}

export interface XpRange {
  readonly from: string
  readonly to: string
  readonly by: keyof typeof LENGTH_MS
}

/** Every hour or day of a range (UTC), in milliseconds since 1970, and the xp of each source or origin at each of them. */
export function xpOverTime(
  sources: readonly XpTimes[],
  { from, to, by }: XpRange,
): { readonly starts: readonly number[]; readonly values: readonly (readonly number[])[] } {
  const length = LENGTH_MS[by]
  const first = Math.floor(Date.parse(from) / length)
  const count = Math.max(Math.ceil(Date.parse(to) / length) - first, 0)
  const starts = Array.from({ length: count }, (_, place) => (first + place) * length)
  const values = sources.map(({ times }) => {
    const known = new Map(times.map(({ startsAt, xp }) => [Date.parse(startsAt), Number(xp)]))
    return starts.map((at) => known.get(at) ?? 0)
  })
  return { starts, values }
}
