// Exact JSON. `JSON.parse` rounds integers above 2^53, reorders integer-like keys and drops duplicates; what players
// and studios send must come back as it was. So texts are validated by `JSON.parse` and then read by their raw slices.

export const MAX_INT64 = 9_223_372_036_854_775_807n
export const MIN_INT64 = -9_223_372_036_854_775_808n
export const MAX_INT32 = 2_147_483_647

/** Verbatim JSON text, printed as it stands. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | RawJson
  | readonly Json[]
  | { readonly [key: string]: Json | undefined }

/** JSON text: bigints as exact integers, `RawJson` verbatim, undefined members left out. */
export function print(value: Json): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'object':
      break
    default:
      return String(value)
  }
  if (value === null) return 'null'
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map(print).join(',')}]`
  let text = ''
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${print(member)}`
  }
  return `{${text}}`
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** What a trimmed JSON text is, by its first character. */
export function kindOf(raw: string): JsonKind {
  switch (raw[0]) {
    case '{':
      return 'object'
    case '[':
      return 'array'
    case '"':
      return 'string'
    case 't':
    case 'f':
      return 'boolean'
    case 'n':
      return 'null'
    default:
      return 'number'
  }
}

/** Whether a JSON text is a number written as an integer: `1.0` and `1e3` are not. */
export function isIntegerText(raw: string): boolean {
  return /^-?(0|[1-9]\d*)$/.test(raw)
}

/** Far more than int64 has: what is longer is not told exactly, only as too large. */
const MAX_DIGITS = 64

/** The integer that a JSON number is written as; undefined for `1.0`, `1e3` and whatever is no number. */
export function readInt(raw: string): bigint | undefined {
  if (!isIntegerText(raw)) return undefined
  // A million digits would take their time, and are past int64 however they go on.
  return BigInt(raw.length > MAX_DIGITS ? raw.slice(0, MAX_DIGITS) : raw)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c

/** The raw text of each member of a JSON object, by its decoded key. The text is valid JSON; the last duplicate wins. */
export function members(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [from, to] of parts(text)) {
    const keyFrom = text.indexOf('"', from)
    const keyTo = stringEnd(text, keyFrom)
    const colon = text.indexOf(':', keyTo)
    found.set(JSON.parse(text.slice(keyFrom, keyTo)), text.slice(colon + 1, to).trim())
  }
  return found
}

/** The raw text of each element of a JSON array. The text is valid JSON. */
export function elements(text: string): string[] {
  return [...parts(text)].map(([from, to]) => text.slice(from, to).trim())
}

/** The ranges between the outer brackets and the commas at their level. */
function* parts(text: string): Generator<[from: number, to: number]> {
  let depth = 0
  let from = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = stringEnd(text, at) - 1
    } else if (isOpening(code)) {
      depth += 1
      if (depth === 1) from = at + 1
    } else if (isClosing(code)) {
      depth -= 1
      if (depth === 0 && text.slice(from, at).trim() !== '') yield [from, at]
    } else if (code === COMMA && depth === 1) {
      yield [from, at]
      from = at + 1
    }
  }
}

/** The end, exclusive, of the string that starts at a quote. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at + 1
}

const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d

/** Whether a text nests arrays and objects deeper than a limit. It need not be valid JSON; a scalar has depth 0. */
export function depthExceeds(text: string, limit: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = stringEnd(text, at) - 1
    } else if (isOpening(code)) {
      depth += 1
      if (depth > limit) return true
    } else if (isClosing(code)) {
      depth -= 1
    }
  }
  return false
}

/** Whether Postgres can store a text and give it back: no NUL, no lone surrogate. */
export function isCleanText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/**
 * Plain JSON text from which `thaw` makes the very same value again: how results are stored. What plain JSON cannot
 * say is an object with one member, `$int` or `$raw`; a real object that looks like one is wrapped in `$object`.
 */
export function freeze(value: Json): string {
  return print(freezeValue(value))
}

const TAGS = new Set(['$int', '$raw', '$object'])

function freezeValue(value: Json): Json {
  if (typeof value === 'bigint') return { $int: value.toString() }
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof RawJson) return { $raw: value.text }
  if (Array.isArray(value)) return value.map(freezeValue)
  // Undefined members are not printed, so they must not count either when an object looks like a tag.
  const entries = Object.entries(value).flatMap(([key, member]): [string, Json][] =>
    member === undefined ? [] : [[key, freezeValue(member)]],
  )
  const frozen: Json = Object.fromEntries(entries)
  const [key, ...others] = entries.map(([name]) => name)
  return key !== undefined && others.length === 0 && TAGS.has(key) ? { $object: frozen } : frozen
}

/** The value that was frozen. */
export function thaw(text: string): Json {
  return thawValue(JSON.parse(text))
}

function thawValue(value: unknown): Json {
  if (typeof value !== 'object' || value === null) return value as Json
  if (Array.isArray(value)) return value.map(thawValue)
  const entries = Object.entries(value)
  const [first, ...others] = entries
  if (first && others.length === 0) {
    const [tag, member] = first
    if (tag === '$int') return BigInt(member)
    if (tag === '$raw') return new RawJson(member)
    if (tag === '$object') return thawMembers(Object.entries(member))
  }
  return thawMembers(entries)
}

function thawMembers(entries: [string, unknown][]): Json {
  return Object.fromEntries(entries.map(([key, member]) => [key, thawValue(member)]))
}
