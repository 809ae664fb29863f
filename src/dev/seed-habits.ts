import { LOCALES, type Locale } from './seed-names.ts'
import { createChoice, type Random } from './seed-random.ts'

// The habits of seeded players: when they join and play, and how much.

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

export interface Kind {
  readonly share: number
  /** How long it stays on average. */
  readonly days: number
  /** The probability that it plays on a day of its stay. */
  readonly activity: number
  readonly sessions: number
  /** Matches of a session after the first, on average. */
  readonly matches: number
  readonly skill: number
  /** The probability that it claims open tiers after a session. */
  readonly diligence: number
  /** The probability that it buys premium at all. */
  readonly buys: number
  /** Spends money on more than premium. */
  readonly whale: boolean
}

const KINDS: readonly Kind[] = [
  { share: 34, days: 0, activity: 1, sessions: 1, matches: 0.4, skill: 0.8, diligence: 0.5, buys: 0.01, whale: false },
  {
    share: 40,
    days: 9,
    activity: 0.38,
    sessions: 1,
    matches: 1.2,
    skill: 0.9,
    diligence: 0.6,
    buys: 0.06,
    whale: false,
  },
  {
    share: 19,
    days: 38,
    activity: 0.62,
    sessions: 1.2,
    matches: 2.2,
    skill: 1,
    diligence: 0.8,
    buys: 0.3,
    whale: false,
  },
  {
    share: 6,
    days: 140,
    activity: 0.93,
    sessions: 1.5,
    matches: 3.5,
    skill: 1.2,
    diligence: 0.95,
    buys: 0.65,
    whale: false,
  },
  { share: 1, days: 120, activity: 0.9, sessions: 1.6, matches: 4, skill: 1.1, diligence: 0.97, buys: 1, whale: true },
]

/** The xp of a player who plays nearly every day of 60: the goal of a season's top level. */
export const FULL_SEASON_XP = 146_520
export const FULL_SEASON_DAYS = 60
export const chooseKind = createChoice(KINDS, ({ share }) => share)
export const chooseLocale = createChoice(LOCALES, ({ share }) => share)
/** Relative numbers of players at each hour of their own day, on weekdays and on weekends. */
const WEEKDAY = [3, 2, 1, 1, 1, 1, 3, 6, 6, 4, 4, 5, 9, 8, 5, 6, 9, 12, 15, 19, 23, 24, 17, 8]
const WEEKEND = [6, 4, 2, 1, 1, 1, 2, 4, 8, 12, 15, 16, 15, 15, 16, 17, 17, 17, 18, 20, 22, 21, 16, 10]
const HOURS = WEEKDAY.map((_, hour) => hour)
export const chooseWeekdayHour = createChoice(HOURS, (hour) => WEEKDAY[hour] ?? 0)
export const chooseWeekendHour = createChoice(HOURS, (hour) => WEEKEND[hour] ?? 0)

/** Draws the day on which a player joins: mostly at the launch, some at the start of events. */
export function createJoining({
  fromMs,
  toMs,
  isWeekend,
}: {
  readonly fromMs: number
  readonly toMs: number
  readonly isWeekend: (atMs: number) => boolean
}): (random: Random) => number {
  const days = Math.max(Math.ceil((toMs - fromMs) / DAY_MS), 1)
  return createChoice(
    Array.from({ length: days }, (_, day) => day),
    (day) => {
      const launch = 5 * Math.exp(-day / (0.06 * days + 1))
      const event = EVENTS.some(([start]) => day === Math.floor(start * days)) ? 1.6 : 0
      return (launch + event + 0.45) * (isWeekend(fromMs + day * DAY_MS) ? 1.35 : 0.9)
    },
  )
}

/** Which days are weekends, in a time whose first day is a given weekday (0 is Sunday). */
export function createWeekends(fromMs: number, firstWeekday: number): (atMs: number) => boolean {
  const firstDay = Math.floor(fromMs / DAY_MS)
  return (atMs) => {
    const weekday = (firstWeekday + Math.floor(atMs / DAY_MS) - firstDay) % 7
    return weekday === 0 || weekday === 6
  }
}

export function nicknameOf({ first, last }: Locale, random: Random): string {
  const name = `${random.pick(first)}${random.chance(0.3) ? ' ' : ''}${random.pick(last)}`
  return random.chance(0.6) ? `${name}${random.chance(0.3) ? '_' : ''}${random.whole(1, 9_999)}` : name
}

/** Shares of the season in which an event runs. */
export const EVENTS = [
  [0.28, 0.36],
  [0.68, 0.78],
] as const
