import { elements, isCleanText, type Json, kindOf, members, readInt } from '../../base/json.ts'
import { memberNotices } from '../nearest.ts'
import { memberPath, type Place, type Reader, stringOf } from './reader.ts'

// Documents that people write, such as definitions of scenarios, declared once: from a part follow its type, the reader,
// which reports all faults with their places, and the JSON Schema for editors. Null counts as absent, and numbers are
// read from their text: they are exact.

export type Schema = { readonly [keyword: string]: Json }
type Named = Readonly<Record<string, Schema>>

export interface Part<T> {
  readonly schema: Schema
  /** The schemas that `schema` refers to, by their names. */
  readonly named: Named
  readonly isRequired: boolean
  /** Reads the value at a place. A fault is reported, and reading continues with a stand-in. */
  read(reader: Reader, place: Place): T
}

type Parts = Readonly<Record<string, Part<unknown>>>
/** The values of an object's members. */
export type ValuesOf<P> = { readonly [Name in keyof P]: P[Name] extends Part<infer T> ? T : never }

export const part = <T>(schema: Schema, read: Part<T>['read'], named: Named = {}): Part<T> => ({
  schema,
  named,
  isRequired: true,
  read,
})

/** A part that has a name of its own in the JSON Schema. */
export const named = <P extends Part<unknown>>(name: string, inner: P): P => ({
  ...inner,
  schema: { $ref: `#/$defs/${name}` },
  named: { ...inner.named, [name]: inner.schema },
})

/** A part with further keywords of JSON Schema. */
export const withKeywords = <P extends Part<unknown>>(inner: P, keywords: Schema): P => ({
  ...inner,
  schema: { ...inner.schema, ...keywords },
})

/** A part that may be absent or null. The description says what it means then. */
export function optional<T>(inner: Part<T>, description: string): Part<T | null>
export function optional<T, const U>(inner: Part<T>, description: string, otherwise: U): Part<T | U>
export function optional(inner: Part<unknown>, description: string, otherwise: unknown = null): Part<unknown> {
  return {
    schema: { description, anyOf: [inner.schema, { type: 'null' }] },
    named: inner.named,
    isRequired: false,
    read: (reader, place) => (place.raw === undefined ? otherwise : inner.read(reader, place)),
  }
}

/** A part with a default, which also stands in for a faulty value. */
export function byDefault<T, const U>(inner: Part<T | undefined>, otherwise: U): Part<T | U> {
  const { schema } = inner
  const orNull: Schema = schema.enum
    ? { enum: [...(schema.enum as Json[]), null] }
    : { type: [schema.type ?? null, 'null'] }
  return {
    schema: { ...schema, ...orNull },
    named: inner.named,
    isRequired: false,
    read: (reader, place) => (place.raw === undefined ? otherwise : (inner.read(reader, place) ?? otherwise)),
  }
}

/** A part that earlier versions did not know: `Reader.late`. */
export const late = <T, const U>(inner: Part<T>, otherwise: U): Part<T | U> => ({
  ...inner,
  read: (reader, place) => reader.late<T | U>((own) => inner.read(own, place), otherwise),
})

export const text = (max: number, description: string): Part<string> =>
  part(
    {
      type: 'string',
      description,
      minLength: 1,
      maxLength: max,
      // No NUL and no lone surrogate, which cannot be stored.
      pattern: '^[^\\u0000\\ud800-\\udfff]*$',
    },
    (reader, place) => {
      const value = stringOf(place)
      if (value === undefined) {
        reader.unfit(place, 'must be a string')
        return ''
      }
      const length = [...value].length
      if (!isCleanText(value)) reader.fault(place.path, 'must not contain NUL or a lone surrogate')
      else if (length < 1 || length > max) reader.fault(place.path, `must be 1 to ${max} characters`)
      return value
    },
  )

/** A text that the service compares with others, such as the name of a currency. */
export function name(max: number, description: string): Part<string> {
  const inner = text(max, description)
  return {
    ...inner,
    read(reader, place) {
      const value = inner.read(reader, place)
      reader.blankNotice(place.path, value)
      return value
    },
  }
}

/** A text that may be empty. */
export const orEmpty = (inner: Part<string>): Part<string> => ({
  ...withKeywords(inner, { minLength: 0 }),
  read: (reader, place) => (stringOf(place) === '' ? '' : inner.read(reader, place)),
})

export const integer = (
  minimum: number | bigint,
  maximum: number | bigint,
  description: string,
): Part<bigint | undefined> =>
  part({ type: 'integer', description, minimum, maximum }, (reader, place) => {
    const value = place.raw === undefined ? undefined : readInt(place.raw)
    if (value === undefined) {
      reader.unfit(place, 'must be an integer')
    } else if (value < minimum || value > maximum) {
      reader.fault(place.path, `must be ${minimum} to ${maximum}`)
      return undefined
    }
    return value
  })

export const oneOf = <T extends string>(values: readonly T[], description: string): Part<T | undefined> =>
  part({ enum: values, description }, (reader, place) => {
    const text = stringOf(place)
    const value = values.find((known) => known === text)
    if (value === undefined) reader.unfit(place, `must be one of ${values.join(', ')}`)
    return value
  })

export const flag = (description: string): Part<boolean | undefined> =>
  part({ type: 'boolean', description }, (reader, { path, raw, isMoot }) => {
    if (raw !== undefined && kindOf(raw) === 'boolean') return raw === 'true'
    reader.unfit({ path, raw, isMoot }, 'must be true or false')
    return undefined
  })

/** A text of this form. `fault` says what it must be. */
export const matched = <T>(
  form: RegExp,
  { description, fault, of }: { description: string; fault: string; of: (groups: readonly string[]) => T },
): Part<T | undefined> =>
  part({ type: 'string', description, pattern: form.source }, (reader, place) => {
    const match = form.exec(stringOf(place) ?? '')
    if (match) return of(match.slice(1))
    reader.unfit(place, fault)
    return undefined
  })

interface Bounds {
  /** Default: 0. */
  readonly min?: number
  readonly max: number
}

/** A list, as the places of its elements: for a reader that compares them, or names their places. */
export const places = (of: Part<unknown>, { min = 0, max }: Bounds, description: string): Part<readonly Place[]> =>
  part(
    { type: 'array', description, minItems: min, maxItems: max, items: of.schema },
    (reader, place) => {
      const { path, raw, isMoot } = place
      if (raw === undefined && min === 0 && !isMoot) return []
      if (raw === undefined || kindOf(raw) !== 'array') {
        reader.unfit(place, 'must be a list')
        return []
      }
      const found = elements(raw).map((element, index) => ({
        path: `${path}[${index}]`,
        raw: element === 'null' ? undefined : element,
      }))
      if (found.length >= min && found.length <= max) return found
      reader.fault(path, `must have ${min} to ${max} entries`)
      return found.slice(0, max)
    },
    of.named,
  )

export function list<T>(of: Part<T>, bounds: Bounds, description: string): Part<T[]> {
  const inner = places(of, bounds, description)
  return { ...inner, read: (reader, place) => inner.read(reader, place).map((one) => of.read(reader, one)) }
}

/** An object whose names are the designer's, such as sources of xp. */
export function names<T>(
  of: Part<T>,
  {
    max,
    maxName,
    check,
  }: {
    readonly max: number
    readonly maxName: number
    /** Checks a name. Those before it are in lower case. */
    readonly check?: (reader: Reader, name: string, path: string, before: ReadonlySet<string>) => void
  },
  description: string,
): Part<ReadonlyMap<string, T>> {
  function places(reader: Reader, place: Place): (readonly [string, Place])[] {
    const { path, raw } = place
    if (raw === undefined) return []
    if (kindOf(raw) !== 'object') {
      reader.unfit(place, 'must be an object')
      return []
    }
    if (!reader.isStored) reader.notices.push(...memberNotices(raw, null, { prefix: `${path}.` }))
    const found = [...members(raw)].flatMap(([name, value]): (readonly [string, Place])[] => {
      const at = memberPath(path, name)
      const length = [...name].length
      if (!isCleanText(name)) reader.fault(at, 'must have a name without NUL and lone surrogates')
      else if (length < 1 || length > maxName) reader.fault(at, `must have a name of 1 to ${maxName} characters`)
      return value === 'null' ? [] : [[name, { path: at, raw: value }]]
    })
    if (found.length > max) reader.fault(path, `must have at most ${max} members`)
    return found.slice(0, max)
  }
  const schema = {
    type: 'object',
    description,
    maxProperties: max,
    propertyNames: text(maxName, 'A name.').schema,
    additionalProperties: { anyOf: [of.schema, { type: 'null' }] },
  }
  return part(
    schema,
    (reader, place) => {
      const values = new Map<string, T>()
      const before = new Set<string>()
      for (const [name, one] of places(reader, place)) {
        check?.(reader, name, one.path, before)
        before.add(name.toLowerCase())
        values.set(name, of.read(reader, one))
      }
      return values
    },
    of.named,
  )
}

const NO_MEMBERS: ReadonlyMap<string, string> = new Map()

/** The members of an object that is being read. They can be read in any order, and again. */
export class Members<V> {
  readonly reader: Reader
  readonly path: string
  /** It is no object: every member is absent. */
  private readonly isMoot: boolean
  private readonly parts: Parts
  private readonly texts: ReadonlyMap<string, string>

  constructor(reader: Reader, path: string, parts: Parts, texts: ReadonlyMap<string, string> | undefined) {
    this.reader = reader
    this.path = path
    this.parts = parts
    this.isMoot = texts === undefined
    this.texts = texts ?? NO_MEMBERS
  }

  private placeOf(name: string): Place {
    const raw = this.texts.get(name)
    const path = this.path === '' ? name : `${this.path}.${name}`
    return { path, raw: raw === 'null' ? undefined : raw, isMoot: this.isMoot }
  }

  at(name: keyof V & string): Place {
    return this.placeOf(name)
  }

  has(name: keyof V & string): boolean {
    return this.hasOther(name)
  }

  /** Whether there is a member that is not declared. */
  hasOther(name: string): boolean {
    return (this.texts.get(name) ?? 'null') !== 'null'
  }

  read<N extends keyof V & string>(name: N): V[N] {
    return (this.parts[name] as Part<V[N]>).read(this.reader, this.placeOf(name))
  }

  fault(name: keyof V & string, message: string): void {
    this.reader.fault(this.placeOf(name).path, message)
  }

  /** A fault of the object. */
  wrong(message: string): void {
    if (!this.isMoot) this.reader.fault(this.path, message)
  }

  /** Reports that a member is absent which may be absent in other objects. */
  lacks(name: keyof V & string): void {
    this.reader.unfit(this.placeOf(name), '')
  }

  /** The same members for another reader. */
  for(reader: Reader): Members<V> {
    return new Members(reader, this.path, this.parts, this.isMoot ? undefined : this.texts)
  }
}

/** Reads what earlier versions did not know: `Reader.late`. */
export const readLate = <V, T>(given: Members<V>, read: (own: Members<V>) => T, otherwise: T): T =>
  given.reader.late((own) => read(given.for(own)), otherwise)

interface ObjectOptions {
  /** The game or an editor has members of its own there: only those that look like a declared one are noticed. */
  readonly isShared?: boolean
  /** Rules between members, as keywords of JSON Schema. */
  readonly rules?: Schema
  /** What these rules refer to. */
  readonly uses?: readonly Part<unknown>[]
}

/** An object, as its members. Others are ignored, and those that are not the game's own are noticed. */
export function open<P extends Parts>(
  description: string,
  parts: P,
  { isShared = false, rules, uses = [] }: ObjectOptions = {},
): Part<Members<ValuesOf<P>>> {
  const known = Object.keys(parts)
  return part(
    {
      type: 'object',
      description,
      required: known.filter((name) => parts[name]?.isRequired),
      properties: Object.fromEntries(Object.entries(parts).map(([name, { schema }]) => [name, schema])),
      ...rules,
    },
    (reader, place) => {
      const { path, raw } = place
      const isObject = raw !== undefined && kindOf(raw) === 'object'
      const prefix = path === '' ? '' : `${path}.`
      if (!isObject) reader.unfit(place, 'must be an object')
      else if (!reader.isStored) reader.notices.push(...memberNotices(raw, known, { prefix, onlyAlike: isShared }))
      return new Members(reader, path, parts, isObject ? members(raw) : undefined)
    },
    Object.assign({}, ...[...Object.values(parts), ...uses].map(({ named }) => named)),
  )
}

/** An object, whose value `make` makes of its members. It must read all of them, so that their faults are reported. */
export function object<P extends Parts, T>(
  description: string,
  parts: P,
  make: (given: Members<ValuesOf<P>>) => T,
  options: ObjectOptions = {},
): Part<T> {
  const inner = open(description, parts, options)
  return { ...inner, read: (reader, place) => make(inner.read(reader, place)) }
}
