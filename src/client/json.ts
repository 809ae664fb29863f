import { type Fault, invalidRequest } from './error.ts'

// JSON with exact integers and names. `JSON.parse` rounds beyond 2^53, and some engines do not pass a number's text to a
// reviver. V8 from 12.8 to 14.6 may give a member whose name has an escape the name of a member that it parsed before
// (nodejs/node#63785). So both are replaced in the text before it is parsed, and put back after.

/** Whether `JSON.parse` may change a text: a run of 16 digits, in a string or not, or an escape. */
const RISKY = /\d{16}|\\/
/** A string, with the colon that follows a name, or a number that is a long integer. */
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const INTEGER = /^-?\d{16,}$/

/**
 * Reads JSON. Integers that a number cannot hold exactly become `bigint`. Throws a `SyntaxError`.
 *
 * @example
 * ```ts
 * import { parseExact } from 'tierway/client'
 *
 * parseExact('[9007199254740993, 1]') // [9007199254740993n, 1]
 * ```
 */
export function parseExact(text: string): unknown {
  if (!RISKY.test(text)) return JSON.parse(text)
  const mark = newMark()
  const aliases = new Map<string, string>()
  const names = new Map<string, string>()
  const plain = text.replace(TOKENS, (token, string?: string, colon?: string) => {
    if (string === undefined)
      return INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token
    if (colon === undefined) return token
    const name: string = JSON.parse(string)
    // Letters, as an object puts the names that are integers first.
    const alias = aliases.get(name) ?? `n${aliases.size}`
    aliases.set(name, alias)
    names.set(alias, name)
    return `"${alias}"${colon}`
  })
  return JSON.parse(plain, (_alias, value) => {
    if (typeof value === 'string' && value.startsWith(mark)) return BigInt(value.slice(mark.length))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).map(([alias, member]) => [names.get(alias), member]))
  })
}

/**
 * Prints JSON. A `bigint` becomes an integer. Numbers that would arrive as another value are refused, each with its
 * path: integers beyond 2^53, whose digits are not exact, and those that JSON does not have.
 *
 * @example
 * ```ts
 * import { printExact } from 'tierway/client'
 *
 * printExact({ seed: 9_007_199_254_740_993n }) // '{"seed":9007199254740993}'
 * ```
 */
export function printExact(value: unknown): string {
  const mark = newMark()
  let isMarked = false
  const faults: Fault[] = []
  const paths = new Map<unknown, string>()
  const text = JSON.stringify(value, function (this: unknown, name: string, member: unknown) {
    if (typeof member === 'bigint') {
      isMarked = true
      return `${mark}${member}`
    }
    if (typeof member !== 'object' && typeof member !== 'number') return member
    const outer = paths.get(this) ?? ''
    const path = Array.isArray(this) ? `${outer}[${name}]` : outer === '' ? name : `${outer}.${name}`
    if (typeof member === 'object') paths.set(member, path)
    else if (!Number.isFinite(member)) faults.push({ path, message: 'must be a finite number' })
    else if (isInexact(member)) faults.push({ path, message: 'must be a safe integer or a bigint' })
    return member
  })
  if (faults.length > 0) throw invalidRequest(faults)
  return isMarked ? text.replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1') : text
}

/** Whether the digits of a number would be those of an integer that it may not be. From 1e21 there is an exponent. */
const isInexact = (number: number): boolean =>
  Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) < 1e21

/** A mark that no text contains. */
function newMark(): string {
  return `int:${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`
}

/** The members of a JSON object that is known to be valid, each with its exact text. */
export function membersOf(text: string): [name: string, text: string][] {
  const members: [string, string][] = []
  let depth = 0
  let name: string | undefined
  let from = 0
  let isString = false
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]
    if (isString) {
      if (sign === '\\') at += 1
      else if (sign === '"') isString = false
      continue
    }
    if (sign === '"') isString = true
    else if (sign === '{' || sign === '[') {
      depth += 1
      if (depth === 1) from = at + 1
    } else if (sign === ':' && depth === 1 && name === undefined) {
      name = JSON.parse(text.slice(from, at))
      from = at + 1
    } else if (sign === ',' && depth === 1) end(at)
    else if (sign === '}' || sign === ']') {
      if (depth === 1) end(at)
      depth -= 1
    }
  }
  return members

  function end(at: number): void {
    if (name !== undefined) members.push([name, text.slice(from, at).trim()])
    name = undefined
    from = at + 1
  }
}
