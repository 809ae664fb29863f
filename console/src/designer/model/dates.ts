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

/** A date whose clock is moved. The fraction of a second and the offset stay as they are. */
function moved(text: string, byMs: number): string {
  const [, , time = '', fraction = '', offset = ''] = DATE.exec(text) ?? []
  const iso = new Date(clockOf(text) + byMs).toISOString()
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
 * Moves the dates of all passes by the same time, so that the first of them starts at `start`, which is in UTC, or in
 * the zone that the date names. Where no pass has a start, each gets this one.
 */
export function startAt(start: string): Edit {
  return (definition) => {
    const passes = definition.nodes.filter(({ type, data }) => type === 'battle-pass' && data !== undefined)
    const dates = passes.flatMap(({ index }) =>
      DATES.flatMap((name) => dateAt(definition, ['nodes', index, 'data', name])),
    )
    const starts = dates.filter(({ path }) => path.includes('startsAt')).map(({ text }) => startOf(text))
    const byMs = Date.parse(start) - Math.min(...starts)
    const edits =
      starts.length === 0
        ? passes.map(({ index }) => setValue(['nodes', index, 'data', 'startsAt'], start))
        : dates.map(({ path, text }) => setValue(path, moved(text, byMs)))
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
