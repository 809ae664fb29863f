import { type Fault, invalidRequest } from './errors.ts'
import { elements, isCleanText, type Json, kindOf, MAX_INT32, members, print, RawJson, readInt } from './json.ts'

/** A member as it was sent: integers exact, other numbers as they are, objects and arrays as their text. */
export type FieldValue = string | bigint | number | boolean | RawJson | undefined

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a text is an id of ours. */
export const isId = (text: string): boolean => UUID.test(text)

interface TextLimits {
  readonly max: number
  readonly min?: number
}

/**
 * Reads the fields of a request and gathers every fault on the way, so that one answer names them all. Both edges read
 * through it, so that what REST refuses GraphQL refuses too. Null counts as absent; unknown fields are ignored.
 */
export class Fields {
  private readonly faults: Fault[] = []
  private readonly lookUp: (name: string) => FieldValue

  private constructor(lookUp: (name: string) => FieldValue) {
    this.lookUp = lookUp
  }

  /** The members of a JSON object, given by its text. */
  static ofJson(text: string): Fields {
    const raw = members(text)
    return new Fields((name) => jsonValue(raw.get(name)))
  }

  /** The members of a GraphQL input, whose Int64 are bigints and whose integers are numbers. */
  static ofInput(input: object): Fields {
    const values = new Map<string, unknown>(Object.entries(input))
    return new Fields((name) => {
      const value = values.get(name) ?? undefined
      if (Array.isArray(value)) return new RawJson(print(value as Json))
      return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : (value as FieldValue)
    })
  }

  /** The same fields and one more that came elsewhere, such as in a header; it hides a member of that name. */
  with(name: string, value: string | null): Fields {
    return new Fields((asked) => (asked === name ? (value ?? undefined) : this.lookUp(asked)))
  }

  /** 1 to `max` code points, unless `min` says otherwise. */
  text(name: string, limits: TextLimits): string {
    return this.optionalText(name, limits) ?? this.missing(name, '')
  }

  optionalText(name: string, { max, min = 1 }: TextLimits): string | null {
    const value = this.lookUp(name)
    if (value === undefined) return null
    if (typeof value !== 'string') return this.fault(name, 'must be a string', '')
    if (!isCleanText(value)) return this.fault(name, 'must not contain NUL or a lone surrogate', '')
    const length = lengthOf(value, max)
    if (length > max || length < min)
      return this.fault(
        name,
        min === 0 ? `must be at most ${max} characters` : `must be ${min} to ${max} characters`,
        '',
      )
    return value
  }

  /** The id of a player, a run or a key. */
  optionalId(name: string): string | null {
    const value = this.optionalText(name, { max: 36 })
    if (value === null || UUID.test(value)) return value
    return this.isNamed(name) ? '' : this.fault(name, 'must be an id', '')
  }

  /** A text that is looked at and not stored: any. */
  optionalAnyText(name: string): string | null {
    const value = this.lookUp(name)
    if (value === undefined || typeof value === 'string') return value ?? null
    return this.fault(name, 'must be a string', '')
  }

  oneOf<T extends string>(name: string, values: readonly [T, ...T[]]): T {
    const value = this.lookUp(name)
    if (value === undefined) return this.missing(name, values[0])
    return values.find((known) => known === value) ?? this.fault(name, `must be one of ${values.join(', ')}`, values[0])
  }

  flag(name: string): boolean {
    const value = this.lookUp(name)
    if (value === undefined) return this.missing(name, false)
    return typeof value === 'boolean' ? value : this.fault(name, 'must be true or false', false)
  }

  /** The text of a JSON object, as it was sent. */
  object(name: string): string {
    return this.optionalObject(name) ?? this.missing(name, '{}')
  }

  optionalObject(name: string): string | null {
    const value = this.lookUp(name)
    if (value === undefined) return null
    if (value instanceof RawJson && kindOf(value.text) === 'object') return value.text
    return this.fault(name, 'must be a JSON object', '{}')
  }

  /** A list of strings of any length. */
  texts(name: string, { max }: { max: number }): readonly string[] {
    return this.optionalTexts(name, { max }) ?? this.missing(name, [])
  }

  optionalTexts(name: string, { max }: { max: number }): readonly string[] | null {
    const value = this.lookUp(name)
    if (value === undefined) return null
    if (!(value instanceof RawJson) || kindOf(value.text) !== 'array')
      return this.fault(name, 'must be a list of strings', [])
    const list = elements(value.text)
    if (list.length > max) return this.fault(name, `must have at most ${max} elements`, [])
    return list.map((raw, index) => {
      const text = kindOf(raw) === 'string' ? JSON.parse(raw) : undefined
      if (text === undefined) return this.fault(`${name}[${index}]`, 'must be a string', '')
      return isCleanText(text) ? text : this.fault(`${name}[${index}]`, 'must not contain NUL or a lone surrogate', '')
    })
  }

  int64(name: string, { min, max }: { min: bigint; max: bigint }): bigint {
    return this.optionalInt64(name, { min, max }) ?? this.missing(name, 0n)
  }

  /** A JSON integer: `1.0`, `1e3` and `"10"` are refused. */
  optionalInt64(name: string, { min, max }: { min: bigint; max: bigint }): bigint | null {
    const value = this.lookUp(name)
    if (value === undefined) return null
    if (typeof value !== 'bigint') return this.fault(name, 'must be an integer', 0n)
    if (value < min || value > max) return this.fault(name, `must be ${min} to ${max}`, 0n)
    return value
  }

  optionalInt32(name: string, { min, max = MAX_INT32 }: { min: number; max?: number }): number | null {
    const value = this.optionalInt64(name, { min: BigInt(min), max: BigInt(max) })
    return value === null ? null : Number(value)
  }

  /** The faults met so far, for a reader that refuses later, with those of others. */
  get found(): readonly Fault[] {
    return this.faults
  }

  /** Runs a reader and refuses the request when it met any fault. */
  read<T>(reader: (fields: Fields) => T): T {
    const value = reader(this)
    if (this.faults.length > 0) throw invalidRequest(...this.faults)
    return value
  }

  private isNamed(name: string): boolean {
    return this.faults.some(({ path }) => path === name)
  }

  private missing<T>(name: string, standIn: T): T {
    // A field that is present but faulty has been named already.
    return this.isNamed(name) ? standIn : this.fault(name, 'is required', standIn)
  }

  /** Notes a fault that a reader of its own finds, and goes on with something in its place. */
  fault<T>(path: string, message: string, standIn: T): T {
    this.faults.push({ path, message })
    return standIn
  }
}

/** The code points of a text; of one that is surely longer than `max`, something larger. */
export function lengthOf(text: string, max: number): number {
  return text.length <= max || text.length > 2 * max ? text.length : [...text].length
}

function jsonValue(raw: string | undefined): FieldValue {
  if (raw === undefined) return undefined
  switch (kindOf(raw)) {
    case 'null':
      return undefined
    case 'string':
    case 'boolean':
      return JSON.parse(raw)
    case 'number':
      return readInt(raw) ?? Number(raw)
    default:
      return new RawJson(raw)
  }
}
