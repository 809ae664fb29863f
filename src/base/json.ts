// Exact JSON. `JSON.parse` rounds integers above 2^53, reorders integer-like keys and drops duplicates, but what
// players and studios send must be returned unchanged. So texts are validated by `JSON.parse` and then read by their
// raw slices.

export const MAX_INT64 = 9_223_372_036_854_775_807n
export const MIN_INT64 = -9_223_372_036_854_775_808n
export const MAX_INT32 = 2_147_483_647

/** Verbatim JSON text, printed unchanged. */
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
  return Array.isArray(value) ? itemsText(value, print) : membersText(value as JsonMembers, print)
}

export type JsonMembers = { readonly [key: string]: Json | undefined }

export function itemsText(items: readonly Json[], text: (item: Json) => string): string {
  let all = '['
  for (let index = 0; index < items.length; index += 1)
    all += index === 0 ? text(items[0] as Json) : `,${text(items[index] as Json)}`
  return `${all}]`
}

export function membersText(members: JsonMembers, text: (member: Json) => string): string {
  let all = '{'
  for (const key of Object.keys(members)) {
    const member = members[key]
    if (member !== undefined) all += `${all.length === 1 ? '' : ','}${JSON.stringify(key)}:${text(member)}`
  }
  return `${all}}`
}

/** The text of an object from the names and texts of its members, in their order, with any names. */
export function objectText(entries: Iterable<readonly [name: string, raw: string]>): string {
  let text = ''
  for (const [name, raw] of entries) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${raw}`
  return `{${text}}`
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** The kind of a trimmed JSON text, by its first character. */
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

/** Far more digits than int64 has. A longer number is only known to be too large. */
const MAX_DIGITS = 64

/** The integer of a JSON number; undefined for `1.0`, `1e3` and anything else. */
export function readInt(raw: string): bigint | undefined {
  if (!isIntegerText(raw)) return undefined
  // Reading a million digits takes long, and any number of this length exceeds int64.
  return BigInt(raw.length > MAX_DIGITS ? raw.slice(0, MAX_DIGITS) : raw)
}

const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Whether a text is JSON, without building its value: sixteen megabytes of `[]` would become gigabytes of arrays. Use
 * it for long texts from callers; for a short text `JSON.parse` is faster.
 */
export function isJson(text: string): boolean {
  return walkMembers(text, 0, () => true)
}

/**
 * Why a text is not JSON, with the first place where it cannot go on: `line 3, column 5: unexpected "}"`. Undefined for
 * JSON. A column counts characters.
 */
export function syntaxFault(text: string): string | undefined {
  const at = walk(text, 0, () => true)
  if (at === undefined) return undefined
  // An emoji is one character, and so is a line end of Windows.
  const lines = text.slice(0, at).split(/\r\n|[\n\r]/)
  const place = `line ${lines.length}, column ${[...(lines.at(-1) ?? '')].length + 1}`
  return `${place}: ${wordsFor(text.codePointAt(at), text, at)}`
}

function wordsFor(code: number | undefined, text: string, at: number): string {
  if (code === undefined) return text.trim() === '' ? 'there is no value' : 'the text ends too early'
  if (code === 0xfeff && at === 0) return 'the text begins with a byte order mark (U+FEFF), which JSON does not allow'
  const character = String.fromCodePoint(code)
  // Spaces that look like those of JSON, and characters that cannot be seen.
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character))
    return `unexpected U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  return `unexpected ${character === '"' ? 'quotation mark' : `"${character}"`}`
}

/** The place of an object's member: of its key with the quotes, and of its value. */
export interface MemberSpan {
  /** 1 for the members of the outermost object. */
  readonly depth: number
  readonly keyFrom: number
  readonly keyTo: number
  readonly valueFrom: number
  readonly valueTo: number
  /** The place of the surrounding member; undefined at depth 1, and inside an array. */
  readonly parent: MemberSpan | undefined
}

/**
 * Walks through a JSON text once and visits each member down to a depth as soon as its value has ended. Returns whether
 * the text is JSON. When `visit` returns false, the walk ends with true and ignores the rest.
 */
export function walkMembers(text: string, maxDepth: number, visit: (member: MemberSpan) => boolean): boolean {
  return walk(text, maxDepth, visit) === undefined
}

/**
 * The same, and the elements of an outermost array. Returns the place of the first fault, if any: the first character
 * that cannot stand there.
 */
function walk(
  text: string,
  maxDepth: number,
  visit: (member: MemberSpan) => boolean,
  visitElement?: (from: number, to: number) => void,
): number | undefined {
  let at = skipSpace(text, 0)
  let elementFrom = 0
  // The open brackets: 1 for an object, 0 for an array.
  let open = new Uint8Array(64)
  let depth = 0
  const spans: ({ -readonly [K in keyof MemberSpan]: MemberSpan[K] } | undefined)[] = []

  /** Reads the key at this place. Returns where its value starts, or the place of a fault as `failedAt`. */
  function enter(keyFrom: number): number {
    const keyTo = text.charCodeAt(keyFrom) === QUOTE ? strictStringEnd(text, keyFrom) : failedAt(keyFrom)
    if (keyTo < 0) return keyTo
    const colon = skipSpace(text, keyTo)
    if (text.charCodeAt(colon) !== COLON) return failedAt(colon)
    const valueFrom = skipSpace(text, colon + 1)
    if (depth <= maxDepth) spans[depth] = { depth, keyFrom, keyTo, valueFrom, valueTo: -1, parent: spans[depth - 1] }
    return valueFrom
  }

  for (;;) {
    // A value.
    if (depth === 1) elementFrom = at
    const code = text.charCodeAt(at)
    if (isOpening(code)) {
      const isObject = code === OPEN_BRACE
      at = skipSpace(text, at + 1)
      if (text.charCodeAt(at) !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        if (depth === open.length) open = grown(open)
        open[depth++] = isObject ? 1 : 0
        if (isObject) at = enter(at)
        else if (depth <= maxDepth) spans[depth] = undefined
        if (at < 0) return failedAt(at)
        continue
      }
      at += 1
    } else {
      at = code === QUOTE ? strictStringEnd(text, at) : wordEnd(text, at)
      if (at < 0) return failedAt(at)
    }
    // The characters after the value.
    for (;;) {
      const place = depth <= maxDepth ? spans[depth] : undefined
      if (place) {
        place.valueTo = at
        if (!visit(place)) return undefined
      }
      if (depth === 1 && open[0] === 0) visitElement?.(elementFrom, at)
      at = skipSpace(text, at)
      if (depth === 0) return at === text.length ? undefined : at
      const isObject = open[depth - 1] === 1
      const next = text.charCodeAt(at)
      if (next === COMMA) {
        at = skipSpace(text, at + 1)
        if (isObject) at = enter(at)
        if (at < 0) return failedAt(at)
        break
      }
      if (next !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) return at
      depth -= 1
      at += 1
    }
  }
}

function grown(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2)
  larger.set(bytes)
  return larger
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at += 1
  return at
}

/** A place of a fault, as a negative number, and back. */
const failedAt = (place: number): number => ~place

/** The end, exclusive, of the string that starts at a quote; the place of its fault as `failedAt`. */
function strictStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code < SPACE) return failedAt(at)
    if (code !== BACKSLASH) continue
    at += 1
    if (text[at] === 'u') {
      for (let digit = at + 1; digit <= at + 4; digit += 1)
        if (!isHexDigit(text.charCodeAt(digit))) return failedAt(digit)
      at += 4
    } else if (!'"\\/bfnrt'.includes(text[at] ?? ' ')) {
      return failedAt(at)
    }
  }
  return failedAt(text.length)
}

const isHexDigit = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66)

/** By first character. */
const WORDS: ReadonlyMap<number, string> = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]))

/** The end, exclusive, of a number, `true`, `false` or `null`; the place of its fault as `failedAt`. */
function wordEnd(text: string, start: number): number {
  const word = WORDS.get(text.charCodeAt(start))
  if (word) return text.startsWith(word, start) ? start + word.length : failedAt(start)
  let at = text[start] === '-' ? start + 1 : start
  const whole = digitsEnd(text, at)
  // One digit, or several that do not begin with zero.
  if (whole === at) return failedAt(at)
  if (text[at] === '0' && whole > at + 1) return failedAt(at + 1)
  at = whole
  if (text[at] === '.') {
    const fraction = digitsEnd(text, at + 1)
    if (fraction === at + 1) return failedAt(fraction)
    at = fraction
  }
  if (text[at] === 'e' || text[at] === 'E') {
    const sign = text[at + 1] === '+' || text[at + 1] === '-' ? 1 : 0
    const exponent = digitsEnd(text, at + 1 + sign)
    if (exponent === at + 1 + sign) return failedAt(exponent)
    at = exponent
  }
  return at
}

function digitsEnd(text: string, start: number): number {
  let at = start
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at += 1
  return at
}

/** The raw text of each member of a valid JSON object, by its decoded key. The last of several equal keys counts. */
export function members(text: string): Map<string, string> {
  const found = new Map<string, string>()
  walkMembers(text, 1, (member) => {
    found.set(nameIn(text, member), text.slice(member.valueFrom, member.valueTo))
    return true
  })
  return found
}

/** The names of an object's members in their order, repeated ones too. The text is a valid JSON object. */
export function memberNames(text: string): string[] {
  const names: string[] = []
  walkMembers(text, 1, (member) => names.push(nameIn(text, member)) > 0)
  return names
}

const nameIn = (text: string, { keyFrom, keyTo }: MemberSpan): string => JSON.parse(text.slice(keyFrom, keyTo))

/**
 * Like `JSON.parse`, with the names that were sent. V8 from 12.8 to 14.6 (Node 24 and 26) may give a member whose name
 * has an escape the name of a member that it parsed before: `{"\\n":1}` becomes `{"\\":1}` after `{"\\\\":1}`
 * (nodejs/node#63785). Such a text is parsed with plain names in place of its own, which are put back. Throws a
 * `SyntaxError`.
 */
export function parseJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text)
  const spans: MemberSpan[] = []
  const isValid = walkMembers(text, Number.POSITIVE_INFINITY, (span) => spans.push(span) > 0)
  const hasEscape = spans.some(({ keyFrom, keyTo }) => text.slice(keyFrom, keyTo).includes('\\'))
  return isValid && hasEscape ? parseRenamed(text, spans) : JSON.parse(text)
}

function parseRenamed(text: string, spans: readonly MemberSpan[]): unknown {
  const aliases = new Map<string, string>()
  const names = new Map<string, string>()
  let plain = ''
  let at = 0
  for (const span of spans.toSorted((a, b) => a.keyFrom - b.keyFrom)) {
    const name = nameIn(text, span)
    // Letters, as an object puts the names that are integers first.
    const alias = aliases.get(name) ?? `n${aliases.size}`
    aliases.set(name, alias)
    names.set(alias, name)
    plain += `${text.slice(at, span.keyFrom)}"${alias}"`
    at = span.keyTo
  }
  const whole: unknown[] = [JSON.parse(plain + text.slice(at))]
  // A list instead of recursion: a body may nest a million arrays.
  const open: object[] = [whole]
  for (const holder of open) {
    for (const [key, value] of Object.entries(holder)) {
      if (typeof value !== 'object' || value === null) continue
      const named = Array.isArray(value)
        ? value
        : Object.fromEntries(Object.entries(value).map(([alias, member]) => [names.get(alias), member]))
      Object.defineProperty(holder, key, { value: named })
      open.push(named)
    }
  }
  return whole[0]
}

/** The raw text of each element of a JSON array. The text is valid JSON. */
export function elements(text: string): string[] {
  const found: string[] = []
  walk(
    text,
    0,
    () => true,
    (from, to) => void found.push(text.slice(from, to)),
  )
  return found
}

/** A text without the white space of JSON around it. Other white space stays, and makes it no JSON. */
export function trimJson(text: string): string {
  let end = text.length
  while (end > 0 && isSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(Math.min(skipSpace(text, 0), end), end)
}

/** The end, exclusive, of the string that starts at a quote. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at + 1
}

const isOpening = (code: number): boolean => code === OPEN_BRACE || code === OPEN_BRACKET
const isClosing = (code: number): boolean => code === CLOSE_BRACE || code === CLOSE_BRACKET
const isSpace = (code: number): boolean => code === SPACE || code === 0x0a || code === 0x0d || code === 0x09

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

/** Whether Postgres can store a text: no NUL, no lone surrogate. */
export function isCleanText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
