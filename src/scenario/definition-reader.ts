import type { Fault } from '../base/errors.ts'
import { elements, isCleanText, kindOf, members, readInt } from '../base/json.ts'
import { localTimeFault, momentFault, parseLocalTime, parseMoment } from '../base/moment.ts'
import { isTimeZone, TimeZone } from '../base/time-zone.ts'
import { blankNotice } from '../declare/blanks.ts'
import { memberNotices } from '../declare/nearest.ts'

/** More than a person reads. The last fault counts the rest. */
const MAX_FAULTS = 100

/** A value of the document: its path and its raw text, which is undefined when the value is absent or null. */
export interface RawValue {
  readonly path: string
  readonly raw: string | undefined
  /** The value is inside a faulty value, which is reported once. */
  readonly isMoot?: boolean
}

/** Collects faults and reads on with stand-ins, so that one pass finds them all. */
export class Reader {
  readonly faults: Fault[] = []
  readonly notices: Fault[] = []
  /** Reward nodes without a `repeat`. */
  readonly openRepeats = new Set<string>()
  /** The texts for players, with the tags of their languages in lower case. */
  readonly texts: { readonly path: string; readonly tags: readonly string[] }[] = []
  readonly isStored: boolean

  constructor(isStored: boolean) {
    this.isStored = isStored
  }

  get reported(): readonly Fault[] {
    return shortened(this.faults, 'faults')
  }

  get reportedNotices(): readonly Fault[] {
    return shortened(this.notices, 'notices')
  }

  fault(path: string, message: string): void {
    this.faults.push({ path, message })
  }

  notice(path: string, message: string): void {
    this.notices.push({ path, message })
  }

  /** A fault by a rule that is newer than some stored definitions. */
  lateFault(path: string, message: string): void {
    if (!this.isStored) this.fault(path, message)
  }

  /** A notice about white space around a text that the service compares. */
  blankNotice(path: string, text: string): void {
    const message = blankNotice(text)
    if (message !== undefined) this.notice(path, message)
  }

  unfit({ path, raw, isMoot }: RawValue, message: string): void {
    if (!isMoot) this.fault(path, raw === undefined ? 'is required' : message)
  }

  /**
   * The members of an object as places. When it is no object, every member is absent and moot. Members that are not
   * known are noticed; with `isShared`, only those that look like a known one, as the game or an editor may have
   * members of its own there. Without `known`, all members are the game's own.
   */
  object(
    source: RawValue,
    known?: readonly string[],
    { isShared = false }: { readonly isShared?: boolean } = {},
  ): (name: string) => RawValue {
    const { path, raw } = source
    const isObject = raw !== undefined && kindOf(raw) === 'object'
    if (!isObject) this.unfit(source, 'must be an object')
    else if (known && !this.isStored)
      this.notices.push(...memberNotices(raw, known, { prefix: path === '' ? '' : `${path}.`, onlyAlike: isShared }))
    const found = isObject ? members(raw) : new Map<string, string>()
    return (name) => {
      const value = found.get(name)
      return {
        path: path === '' ? name : `${path}.${name}`,
        raw: value === 'null' ? undefined : value,
        isMoot: !isObject,
      }
    }
  }

  list(source: RawValue, { min, max }: { min: number; max: number }): RawValue[] {
    const { path, raw } = source
    if (raw === undefined && min === 0 && !source.isMoot) return []
    if (raw === undefined || kindOf(raw) !== 'array') {
      this.unfit(source, 'must be a list')
      return []
    }
    const places = elements(raw).map((element, index) => ({
      path: `${path}[${index}]`,
      raw: element === 'null' ? undefined : element,
    }))
    if (places.length < min || places.length > max) {
      this.fault(path, `must have ${min} to ${max} entries`)
      return places.slice(0, max)
    }
    return places
  }

  text(source: RawValue, max: number): string {
    const { path } = source
    const value = stringOf(source)
    if (value === undefined) {
      this.unfit(source, 'must be a string')
      return ''
    }
    const length = [...value].length
    if (!isCleanText(value)) this.fault(path, 'must not contain NUL or a lone surrogate')
    else if (length < 1 || length > max) this.fault(path, `must be 1 to ${max} characters`)
    return value
  }

  /** One of these texts; the first argument's fallback when absent. */
  oneOf<T extends string>(source: RawValue, values: readonly T[], fallback: T): T {
    if (source.raw === undefined) return fallback
    const text = stringOf(source)
    const value = values.find((known) => known === text)
    if (value === undefined) this.unfit(source, `must be one of ${values.join(', ')}`)
    return value ?? fallback
  }

  flag(source: RawValue, fallback: boolean): boolean {
    const { raw } = source
    if (raw !== undefined && kindOf(raw) !== 'boolean') this.unfit(source, 'must be true or false')
    return raw === undefined ? fallback : raw === 'true'
  }

  /** The members of an object whose names are the designer's, such as sources of xp. */
  entries(
    source: RawValue,
    { max, maxName }: { readonly max: number; readonly maxName: number },
  ): (RawValue & { readonly name: string })[] {
    const { path, raw } = source
    if (raw === undefined) return []
    if (kindOf(raw) !== 'object') {
      this.unfit(source, 'must be an object')
      return []
    }
    if (!this.isStored) this.notices.push(...memberNotices(raw, null, { prefix: `${path}.` }))
    const places = [...members(raw)].flatMap(([name, value]) => {
      const place = memberPath(path, name)
      const length = [...name].length
      if (!isCleanText(name)) this.fault(place, 'must have a name without NUL and lone surrogates')
      else if (length < 1 || length > maxName) this.fault(place, `must have a name of 1 to ${maxName} characters`)
      return value === 'null' ? [] : [{ path: place, raw: value, name }]
    })
    if (places.length > max) this.fault(path, `must have at most ${max} members`)
    return places.slice(0, max)
  }

  integer(source: RawValue, min: bigint, max: bigint): bigint | undefined {
    const { path, raw } = source
    const value = raw === undefined ? undefined : readInt(raw)
    if (value === undefined) {
      this.unfit(source, 'must be an integer')
    } else if (value < min || value > max) {
      this.fault(path, `must be ${min} to ${max}`)
      return undefined
    }
    return value
  }

  /**
   * A moment: a date and time with its offset (RFC 3339), or `{at, timeZone}`, a local time and its zone. Null when
   * absent.
   */
  moment(source: RawValue): Date | null {
    if (source.raw === undefined) return null
    if (kindOf(source.raw) === 'object') return this.localMoment(source)
    const text = stringOf(source)
    const date = text === undefined ? undefined : parseMoment(text)
    if (!date) this.unfit(source, momentFault(text ?? ''))
    return date ?? null
  }

  private localMoment(source: RawValue): Date | null {
    const part = this.object(source, ['at', 'timeZone'])
    const at = part('at')
    const text = stringOf(at)
    const local = text === undefined ? undefined : parseLocalTime(text)
    if (local === undefined) this.unfit(at, localTimeFault(text ?? ''))
    const zone = part('timeZone')
    if (zone.raw === undefined) this.unfit(zone, '')
    const name = this.timeZone(zone)
    return local === undefined ? null : new Date(new TimeZone(name).momentOf(local))
  }

  /** A time zone; UTC when absent. A stored name may be of a newer database than this process has: then UTC counts. */
  timeZone(source: RawValue): string {
    if (source.raw === undefined) return 'UTC'
    const name = stringOf(source)
    if (name === undefined) {
      this.unfit(source, 'must be a string')
      return 'UTC'
    }
    if (isTimeZone(name)) return name
    this.lateFault(source.path, 'must be a time zone of the IANA database, such as Europe/Berlin')
    return 'UTC'
  }
}

/**
 * Reads a member that earlier versions did not know. In a stored definition it may be the game's own, so one with faults
 * does not count there.
 */
export function readLate<T>(reader: Reader, read: (reader: Reader) => T, otherwise: T): T {
  if (!reader.isStored) return read(reader)
  const own = new Reader(true)
  const value = read(own)
  return own.faults.length > 0 ? otherwise : value
}

function shortened(found: readonly Fault[], what: string): readonly Fault[] {
  if (found.length <= MAX_FAULTS) return found
  return [...found.slice(0, MAX_FAULTS), { path: '', message: `and ${found.length - MAX_FAULTS} more ${what}` }]
}

/** The decoded string; undefined for another kind of value. */
export function stringOf({ raw }: RawValue): string | undefined {
  return raw !== undefined && kindOf(raw) === 'string' ? JSON.parse(raw) : undefined
}

/** Paths are for people, but a name may be as long as a definition. */
const MAX_SHOWN_NAME = 64

export function memberPath(path: string, name: string): string {
  if (/^[\w$-]{1,64}$/.test(name)) return path === '' ? name : `${path}.${name}`
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME).toWellFormed()}…` : name
  return `${path}[${JSON.stringify(shown)}]`
}
