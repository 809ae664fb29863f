import { type Fault, invalidRequest } from '../base/errors.ts'
import { isCleanText, type Json, MAX_INT32, MAX_INT64, readInt } from '../base/json.ts'
import { momentFault, parseMoment } from '../base/moment.ts'
import { bareId } from './global-id.ts'
import { InputSource, type Source } from './source.ts'

// Requests, declared once. A shape names the fields of a request with their types, limits and descriptions. The
// TypeScript type, the readers of both surfaces, the GraphQL input and the JSON Schema in `openapi.json` are made from
// it.

export type Schema = { readonly [keyword: string]: Json }

/**
 * The type of a field in GraphQL: a scalar, a list of strings or ids, the enum of these values, a list of that, or an
 * input with this name or a list of such inputs. Other objects with fields of their own are for REST alone.
 */
export type InputType =
  | 'String'
  | 'ID'
  | 'Int'
  | 'Int64'
  | 'Boolean'
  | 'JSONObject'
  | 'DateTime'
  | 'Strings'
  | 'IDs'
  | 'REST'
  | readonly string[]
  | { readonly listOf: readonly string[] }
  | { readonly input: string; readonly of: Shape<Fields>; readonly isOne?: true }

export interface Field<T> {
  readonly description: string
  /** Its JSON Schema, without the description. */
  readonly schema: Schema
  readonly type: InputType
  /** Whether a request without it is faulty. */
  readonly isRequired: boolean
  /** The value of a field that is absent, where GraphQL shows it. */
  readonly byDefault?: unknown
  /** The field to send in place of this one, which is deprecated. */
  readonly replacedBy?: string
  /** Reads the field and adds its faults. A faulty value gets a stand-in, so that reading continues. */
  read(source: Source, name: string, faults: Fault[]): T
}

export type Fields = Readonly<Record<string, Field<unknown>>>

/** The values that a shape reads: `RequestOf<typeof addXpRequest>`. */
export type RequestOf<S> = S extends Shape<infer F> ? Values<F> : never
export type Check<T> = (values: T) => readonly Fault[]
type Values<F> = { readonly [Name in keyof F]: F[Name] extends Field<infer T> ? T : never }

/** The name of a request in `openapi.json`, and an example. */
interface Published {
  readonly name?: string
  readonly example?: Json
}

export class Shape<F extends Fields> {
  readonly fields: F
  readonly name: string | undefined
  readonly example: Json | undefined
  private readonly entries: readonly (readonly [name: string, field: Field<unknown>])[]

  constructor(fields: F, { name, example }: Published) {
    this.fields = fields
    this.name = name
    this.example = example
    this.entries = Object.entries(fields)
  }

  gather(source: Source, faults: Fault[]): Values<F> {
    const values: Record<string, unknown> = {}
    for (const [name, field] of this.entries) values[name] = field.read(source, name, faults)
    return values as Values<F>
  }

  /**
   * Reads all fields. Refuses the request with every fault at once, including those that `check` finds between fields.
   */
  read(source: Source, check?: Check<Values<F>>): Values<F> {
    const faults: Fault[] = []
    const values = this.gather(source, faults)
    if (check) faults.push(...check(values))
    refuseFaults(faults)
    return values
  }

  readInput(input: object, check?: Check<Values<F>>): Values<F> {
    return this.read(new InputSource(input), check)
  }

  /** The JSON Schema of the request. Null counts as absent. Unknown members are the route's to ignore or to refuse. */
  get schema(): Schema {
    const properties = this.entries.map(([name, { schema, description, isRequired }]) => {
      const described = description === '' ? schema : { ...schema, description }
      return [name, isRequired ? described : { anyOf: [described, { type: 'null' }] }]
    })
    return {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: this.entries.flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
    }
  }
}

export const shape = <F extends Fields>(fields: F, published: Published = {}): Shape<F> => new Shape(fields, published)

/** Refuses a request with faults, naming all of them. */
export function refuseFaults(faults: readonly Fault[]): void {
  if (faults.length > 0) throw invalidRequest(...faults)
}

/** Reads a present field. Reports a fault in words. */
type Read<T> = (source: Source, name: string, fault: (message: string, path?: string) => void) => T

export function field<T>(
  description: string,
  { schema, type, standIn }: { schema: Schema; type: InputType; standIn: T },
  read: Read<T>,
): Field<T> {
  return {
    description,
    schema,
    type,
    isRequired: true,
    read(source, name, faults) {
      if (source.value(name) !== undefined)
        return read(source, name, (message, path = name) => void faults.push({ path, message }))
      faults.push({ path: name, message: 'is required' })
      return standIn
    },
  }
}

/** An optional field: null, or a default. */
export function optional<T>(inner: Field<T>): Field<T | null>
export function optional<T>(inner: Field<T>, otherwise: T): Field<T>
export function optional<T>(inner: Field<T>, otherwise: T | null = null): Field<T | null> {
  return {
    ...inner,
    isRequired: false,
    read: (source, name, faults) => (source.value(name) === undefined ? otherwise : inner.read(source, name, faults)),
  }
}

/** A field with a default that GraphQL shows. */
export const defaulted = <T>(inner: Field<T>, byDefault: T): Field<T> => ({
  ...optional(inner, byDefault),
  isRequired: true,
  byDefault,
})

export const described = <T>(inner: Field<T>, description: string): Field<T> => ({ ...inner, description })

/** A field whose value is converted after reading. */
export const mapped = <T, U>(inner: Field<T>, map: (value: T) => U): Field<U> => ({
  ...inner,
  read(source, name, faults) {
    const before = faults.length
    const value = inner.read(source, name, faults)
    // A value with faults may be none that `map` knows. The request is refused, and nobody uses it.
    return faults.length === before ? map(value) : (value as never)
  },
})

/** A field whose value is checked as a whole. The paths of its faults are within the value. */
export const checked = <T>(inner: Field<T>, check: Check<T>): Field<T> => ({
  ...inner,
  read(source, name, faults) {
    const before = faults.length
    const value = inner.read(source, name, faults)
    // A stand-in is not checked.
    if (faults.length === before && source.value(name) !== undefined)
      for (const { path, message } of check(value)) faults.push({ path: placeOf(name, path), message })
    return value
  },
})

export interface TextLimits {
  /** In characters. */
  readonly max: number
  /** Default: 1. */
  readonly min?: number
  readonly check?: (value: string) => string | undefined
  readonly type?: 'String' | 'ID'
  readonly schema?: Schema
}

/** A text that can be stored: no NUL, no lone surrogate. */
export function text(
  description: string,
  { max, min = 1, check, type = 'String', schema = {} }: TextLimits,
): Field<string> {
  const limits = { ...(min > 0 && { minLength: min }), ...(Number.isSafeInteger(max + 1) && { maxLength: max }) }
  const rule = lengthRule(min, max)
  return field(
    description,
    { schema: { type: 'string', ...limits, ...schema }, type, standIn: '' },
    (source, name, fault) => {
      const value = source.value(name)
      const length = typeof value === 'string' ? lengthOf(value, max) : 0
      let message: string | undefined
      if (typeof value !== 'string') message = 'must be a string'
      else if (!isCleanText(value)) message = 'must not contain NUL or a lone surrogate'
      else if (length > max || length < min) message = rule
      else message = check?.(value)
      if (message === undefined) return value as string
      fault(message)
      return ''
    },
  )
}

function lengthRule(min: number, max: number): string {
  if (!Number.isSafeInteger(max + 1)) return 'must not be empty'
  return min === 0 ? `must be at most ${max} characters` : `must be ${min} to ${max} characters`
}

/** A text that counts as absent when it is empty. */
export const unlessEmpty = (description: string, max: number): Field<string | null> =>
  mapped(optional(text(description, { max, min: 0 })), (value) => value || null)

/** Text that is compared and not stored: any text is allowed. */
export const anyText = (description: string): Field<string> =>
  field(description, { schema: { type: 'string' }, type: 'String', standIn: '' }, (source, name, fault) => {
    const value = source.value(name)
    if (typeof value === 'string') return value
    fault('must be a string')
    return ''
  })

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a text is an id of ours, in any letter case. */
export const isUuid = (text: string): boolean => UUID.test(text)

/** An id that the service made. With a type, global ids such as `Player:…` are accepted, too. */
export function uuid(description: string, type?: string): Field<string> {
  const schema = { type: 'string', minLength: 1, maxLength: 36, format: 'uuid' }
  const bare = field(description, { schema, type: 'ID', standIn: '' }, (source, name, fault) => {
    const value = source.value(name)
    if (typeof value === 'string' && isUuid(value)) return value
    fault(typeof value === 'string' ? 'must be an id' : 'must be a string')
    return ''
  })
  return type === undefined ? bare : orGlobal(bare, type)
}

/** A field of an id, or of several, that also takes global ids of this type. */
export const orGlobal = <T>(bare: Field<T>, type: string): Field<T> => ({
  ...bare,
  read(source, name, faults) {
    const given = source.value(name)
    const plain = (id: unknown) => (typeof id === 'string' ? bareId(type, id) : id)
    const read = Array.isArray(given) ? given.map(plain) : plain(given)
    return bare.read(read === given ? source : new InputSource({ [name]: read }), name, faults)
  },
})

/** The fault of a text that is none of these. */
export const mustBeOneOf = (values: readonly string[]): string => `must be one of ${values.join(', ')}`

/**
 * One of these texts. In GraphQL it is the enum of the same list. A fault names those of `named`, by default all of them.
 */
export const oneOf = <T extends string>(
  description: string,
  values: readonly [T, ...T[]],
  named: readonly T[] = values,
): Field<T> =>
  field(
    description,
    { schema: { type: 'string', enum: values }, type: values, standIn: values[0] },
    (source, name, fault) => {
      const value = source.value(name)
      const known = values.find((one) => one === value)
      if (known === undefined) fault(mustBeOneOf(named))
      return known ?? values[0]
    },
  )

export const flag = (description: string): Field<boolean> =>
  field(description, { schema: { type: 'boolean' }, type: 'Boolean', standIn: false }, (source, name, fault) => {
    const value = source.value(name)
    if (typeof value === 'boolean') return value
    fault('must be true or false')
    return false
  })

/** A JSON object. Its text is read exactly as it was sent. */
export const object = (description: string, schema: Schema = { additionalProperties: true }): Field<string> =>
  field(
    description,
    { schema: { type: 'object', ...schema }, type: 'JSONObject', standIn: '{}' },
    (source, name, fault) => {
      const value = source.objectText(name)
      if (value === undefined) fault('must be a JSON object')
      return value ?? '{}'
    },
  )

/**
 * An object with fields of its own. A fault names its place: `player.subject`. `input` names its type in GraphQL; without
 * a name, the object is for REST alone.
 */
export const nested = <F extends Fields>(
  description: string,
  inner: Shape<F>,
  check?: Check<Values<F>>,
  input?: string,
): Field<Values<F>> => {
  const type = input === undefined ? 'REST' : { input, of: inner as unknown as Shape<Fields>, isOne: true as const }
  return field(description, { schema: inner.schema, type, standIn: standInOf(inner) }, (source, name, fault) =>
    readPart(source.object(name), { inner, check }, (message, path) => fault(message, placeOf(name, path))),
  )
}

/**
 * A list of such objects. A fault names its place: `players[3].subject`. `input` names their type in GraphQL; without a
 * name, the list is for REST alone.
 */
export const listOf = <F extends Fields>(
  description: string,
  inner: Shape<F>,
  { min = 1, max, check, input }: { min?: number; max: number; check?: Check<Values<F>>; input?: string },
): Field<readonly Values<F>[]> => {
  const schema = { type: 'array', items: inner.schema, minItems: min, maxItems: max }
  const type = input === undefined ? 'REST' : { input, of: inner as unknown as Shape<Fields> }
  return field<readonly Values<F>[]>(description, { schema, type, standIn: [] }, (source, name, fault) => {
    const list = source.objects(name)
    if (list === undefined) fault('must be a list of objects')
    else if (list.length < min || list.length > max) fault(`must have ${min} to ${max} elements`)
    else
      return list.map((part, index) =>
        readPart(part, { inner, check }, (message, path) => fault(message, placeOf(`${name}[${index}]`, path))),
      )
    return []
  })
}

function readPart<F extends Fields>(
  part: Source | undefined,
  { inner, check }: { readonly inner: Shape<F>; readonly check?: Check<Values<F>> },
  fault: (message: string, path: string) => void,
): Values<F> {
  if (part === undefined) {
    fault('must be an object', '')
    return standInOf(inner)
  }
  const faults: Fault[] = []
  const values = inner.gather(part, faults)
  for (const { path, message } of [...faults, ...(check?.(values) ?? [])]) fault(message, path)
  return values
}

/** A fault of the object itself has an empty path, one of an element of a list begins with its index. */
const placeOf = (name: string, path: string): string =>
  path === '' || path.startsWith('[') ? `${name}${path}` : `${name}.${path}`

const standInOf = <F extends Fields>(inner: Shape<F>): Values<F> => inner.gather(new InputSource({}), [])

/** A JSON integer of 64 bits, exact: `1.0`, `1e3` and `"10"` are refused. */
export function int64(description: string, { min, max = MAX_INT64 }: { min: bigint; max?: bigint }): Field<bigint> {
  const schema = {
    type: 'integer',
    format: 'int64',
    minimum: Number(min),
    ...(max < MAX_INT64 && { maximum: Number(max) }),
  }
  return field(description, { schema, type: 'Int64', standIn: 0n }, integerIn(min, max))
}

/** A JSON integer of 32 bits. */
export function int32(description: string, { min, max = MAX_INT32 }: { min: number; max?: number }): Field<number> {
  const schema = { type: 'integer', format: 'int32', minimum: min, ...(max < MAX_INT32 && { maximum: max }) }
  const read = integerIn(BigInt(min), BigInt(max))
  return field(description, { schema, type: 'Int', standIn: 0 }, (...place) => Number(read(...place)))
}

const integerIn =
  (min: bigint, max: bigint): Read<bigint> =>
  (source, name, fault) => {
    const value = source.integer(name)
    if (value === undefined) fault(integerFault(source.value(name)))
    else if (value < min || value > max) fault(`must be ${min} to ${max}`)
    else return value
    return 0n
  }

function integerFault(value: unknown): string {
  if (typeof value === 'string' && readInt(value) !== undefined) return 'must be an integer without quotation marks'
  // `1.0` and `1e3`, which other readers round or refuse.
  return Number.isInteger(value) ? 'must be an integer without a fraction or an exponent' : 'must be an integer'
}

/** A date and time in RFC 3339, or a moment that the scalar of GraphQL has read from one. */
export const moment = (description: string): Field<Date> =>
  field(
    description,
    { schema: { type: 'string', format: 'date-time' }, type: 'DateTime', standIn: new Date(0) },
    (source, name, fault) => {
      const value = source.value(name)
      if (value instanceof Date) return value
      const text = typeof value === 'string' ? value : ''
      const moment = parseMoment(text)
      if (moment === undefined) fault(momentFault(text))
      return moment ?? new Date(0)
    },
  )

/** The number of code points of a text, or a larger number when it certainly exceeds `max`. */
export function lengthOf(value: string, max: number): number {
  return value.length <= max || value.length > 2 * max ? value.length : [...value].length
}
