import type { FragmentOf } from '../graphql.ts'
import { playersText } from '../ui/players-text.ts'
import { number } from '../ui/words.ts'
import type { boostFragment } from './operations.ts'

// The fields of a boost as a person types them, and what they say.

export type Boost = FragmentOf<typeof boostFragment>
export type Audience = Boost['audience']

export interface BoostFields {
  readonly name: string
  readonly percent: string
  /** Local times in UTC, as `2027-01-15T18:00`. */
  readonly startsAt: string
  readonly endsAt: string
  /** One a line. */
  readonly scenarios: string
  readonly sources: string
  readonly audience: Audience
}

export const linesOf = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
]

/** What a boost does to xp; undefined while the percentage is no whole number. */
export function effectOf({ percent, scenarios, sources, audience }: BoostFields) {
  if (!/^[0-9]{1,4}$/.test(percent) || Number(percent) < 1) return undefined
  return { percent: Number(percent), scenarios: linesOf(scenarios), sources: linesOf(sources), audience }
}

interface Preview {
  readonly players: number
  readonly xp: string
  readonly levelGained: number
}

/** What a boost would have done in the last days, in a sentence. */
export function previewText({ players, xp, levelGained }: Preview, days: number): string {
  const time = days === 1 ? 'the last day' : `the last ${days} days`
  if (players === 0) return `Nobody got xp in ${time} that this boost is for.`
  const moved = `${number(levelGained)} of ${playersText(players)}`
  return `In ${time} it would have moved ${moved} up a level, with ${number(xp)} more xp.`
}

/** What a boost is for, in words. */
export function targetText({
  scenarios,
  sources,
  audience,
}: Pick<Boost, 'scenarios' | 'sources' | 'audience'>): string {
  return [
    scenarios.length === 0 ? 'all scenarios' : scenarios.join(', '),
    sources.length === 0 ? 'all xp' : `xp of ${sources.map((source) => source || 'no source').join(', ')}`,
    ...(audience === 'PREMIUM' ? ['owners of premium'] : []),
  ].join('; ')
}
