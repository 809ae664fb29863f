/** Totals since the start of the day, at one moment. */
export interface Sample {
  readonly at: number
  readonly calls: number
  readonly logins: number
  readonly levelUps: number
}

export type Total = Exclude<keyof Sample, 'at'>

const MINUTE_MS = 60_000
/** Samples of the last quarter of an hour are kept. */
const KEPT_MS = 15 * MINUTE_MS

/** Adds a sample. Totals that have fallen are of a new day: earlier samples are then dropped. */
export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1)
  const isNewDay = last !== undefined && (sample.calls < last.calls || sample.logins < last.logins)
  return isNewDay ? [sample] : [...samples.filter(({ at }) => at > sample.at - KEPT_MS), sample]
}

/** The growth of a total in the minute before the last sample. Null until there are two samples. */
export function perMinute(samples: readonly Sample[], of: Total): number | null {
  const last = samples.at(-1)
  const first = samples.find(({ at }) => last !== undefined && at >= last.at - MINUTE_MS - 1_000)
  if (!last || !first || first === last) return null
  return Math.round(((last[of] - first[of]) * MINUTE_MS) / (last.at - first.at))
}

/** The rate between each sample and the next. */
export const ratesOf = (samples: readonly Sample[], of: Total): readonly number[] =>
  samples.slice(1).map((sample, index) => {
    const before = samples[index]
    return before ? Math.max(0, ((sample[of] - before[of]) * MINUTE_MS) / Math.max(1, sample.at - before.at)) : 0
  })
