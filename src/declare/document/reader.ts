import type { Fault } from '../../base/errors.ts'
import { kindOf } from '../../base/json.ts'
import { blankNotice } from '../blanks.ts'

/** More than a person reads. The last fault counts the rest. */
const MAX_FAULTS = 100

/** A place of a document: its path, and the raw text of its value, which is undefined when that is absent or null. */
export interface Place {
  readonly path: string
  readonly raw: string | undefined
  /** The place is inside a faulty value, which is reported once. */
  readonly isMoot?: boolean
}

/** Collects the faults of a document, so that one reading finds them all. */
export class Reader {
  readonly faults: Fault[] = []
  readonly notices: Fault[] = []
  /** The texts for players, with the tags of their languages in lower case. */
  readonly texts: { readonly path: string; readonly tags: readonly string[] }[] = []
  /** The document was accepted before, maybe under fewer rules. */
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

  /** A fault by a rule that is newer than some stored documents. */
  lateFault(path: string, message: string): void {
    if (!this.isStored) this.fault(path, message)
  }

  /** A notice about white space around a text that the service compares. */
  blankNotice(path: string, text: string): void {
    const message = blankNotice(text)
    if (message !== undefined) this.notice(path, message)
  }

  /** A fault of a value of the wrong kind. A place without a value lacks one. */
  unfit({ path, raw, isMoot }: Place, message: string): void {
    if (!isMoot) this.fault(path, raw === undefined ? 'is required' : message)
  }

  /**
   * Reads what earlier versions did not know. In a stored document it may be the game's own, so one with faults does not
   * count there.
   */
  late<T>(read: (reader: Reader) => T, otherwise: T): T {
    if (!this.isStored) return read(this)
    const own = new Reader(true)
    const value = read(own)
    return own.faults.length > 0 ? otherwise : value
  }
}

function shortened(found: readonly Fault[], what: string): readonly Fault[] {
  if (found.length <= MAX_FAULTS) return found
  return [...found.slice(0, MAX_FAULTS), { path: '', message: `and ${found.length - MAX_FAULTS} more ${what}` }]
}

/** The decoded string; undefined for another kind of value. */
export function stringOf({ raw }: Place): string | undefined {
  return raw !== undefined && kindOf(raw) === 'string' ? JSON.parse(raw) : undefined
}

/** Paths are for people, but a name may be as long as a document. */
const MAX_SHOWN_NAME = 64

export function memberPath(path: string, name: string): string {
  if (/^[\w$-]{1,64}$/.test(name)) return path === '' ? name : `${path}.${name}`
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME).toWellFormed()}…` : name
  return `${path}[${JSON.stringify(shown)}]`
}
