import { findNode, type Path } from '../text/json-path.ts'
import { stringOf, valueAt } from '../text/json-tree.ts'
import type { Definition } from './definition.ts'
import { type Edit, inTurn, setValue } from './edits.ts'

// The dates of battle passes: moments with an offset (RFC 3339), or `{at, timeZone}`, a local time and its zone.

const DATES = ['announcedAt', 'startsAt', 'endsAt', 'claimUntil'] as const

const DATE = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}(?::\d{2})?)(\.\d+)?([Zz]|[+-]\d{2}:\d{2})?$/

/** The clock that a date shows, as if it were in UTC, in milliseconds. NaN for what is no date. */
function clockOf(text: string): number {
  const [, day, time] = DATE.exec(text) ?? []
  return Date.parse(`${day}T${time}Z`)
}

/** A move by whole months, and then by milliseconds. */
interface Move {
  readonly months: number
  readonly ms: number
}

/** The same day and time of another month; its last day where the month is shorter. */
function inMonth(clockMs: number, months: number): number {
  const date = new Date(clockMs)
  const day = date.getUTCDate()
  date.setUTCMonth(date.getUTCMonth() + months)
  // The month has no such day, so that it became one of the next month.
  if (date.getUTCDate() !== day) date.setUTCDate(0)
  return date.getTime()
}

/** The move from one time to another: by months where both are on the same day of the month. */
function moveOf(from: number, to: number): Move {
  const [before, after] = [new Date(from), new Date(to)]
  if (before.getUTCDate() !== after.getUTCDate()) return { months: 0, ms: to - from }
  const years = after.getUTCFullYear() - before.getUTCFullYear()
  const months = 12 * years + after.getUTCMonth() - before.getUTCMonth()
  return { months, ms: to - inMonth(from, months) }
}

/** A date whose clock is moved. The fraction of a second and the offset stay as they are. */
function moved(text: string, { months, ms }: Move): string {
  const [, , time = '', fraction = '', offset = ''] = DATE.exec(text) ?? []
  const iso = new Date(inMonth(clockOf(text), months) + ms).toISOString()
  const length = time.length === 5 && iso.slice(17, 19) === '00' ? 16 : 19
  return `${iso.slice(0, length)}${fraction}${offset}`
}

/** A date in milliseconds: in UTC, or by the clock of the zone that it names. NaN for what is no date. */
const startOf = (text: string): number => (/[Zz]$|[+-]\d{2}:\d{2}$/.test(text) ? Date.parse(text) : clockOf(text))

interface PassDate {
  readonly path: Path
  readonly text: string
}

/**
 * Moves the dates of all passes by the same time, by months where the day of the month stays, so that the first of them starts at `start`, which is in UTC, or in
 * the zone that the date names. Where no pass has a start, each gets this one.
 */
export function startAt(start: string): Edit {
  return (definition) => {
    const passes = definition.nodes.filter(({ type, data }) => type === 'battle-pass' && data !== undefined)
    const dates = passes.flatMap(({ index }) =>
      DATES.flatMap((name) => dateAt(definition, ['nodes', index, 'data', name])),
    )
    const starts = dates.filter(({ path }) => path.includes('startsAt')).map(({ text }) => startOf(text))
    const move = moveOf(Math.min(...starts), Date.parse(start))
    const edits =
      starts.length === 0
        ? passes.map(({ index }) => setValue(['nodes', index, 'data', 'startsAt'], start))
        : dates.map(({ path, text }) => setValue(path, moved(text, move)))
    return inTurn(...edits)(definition)
  }
}

/** The date at a path, or at `at` below it. */
function dateAt({ root }: Definition, path: Path): PassDate[] {
  const found = findNode(root, path)
  const isLocal = found?.kind === 'object'
  const text = stringOf(isLocal ? valueAt(found, 'at') : found) ?? ''
  return Number.isNaN(startOf(text)) ? [] : [{ path: isLocal ? [...path, 'at'] : path, text }]
}
