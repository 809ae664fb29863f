import { elements, kindOf, members, parseJson, RawJson, readInt } from '../base/json.ts'

/** The members of a request, as they arrived. Null counts as absent. */
export interface Source {
  /** Strings and booleans as they are, lists as lists. Undefined when the member is absent. */
  value(name: string): unknown
  /** The integer of a member. Undefined for `1.0`, `1e3` and anything else. */
  integer(name: string): bigint | undefined
  /** The text of a member that is an object, as it was sent. Undefined for another kind of value. */
  objectText(name: string): string | undefined
  /** The members of a member that is an object. Undefined for another kind of value. */
  object(name: string): Source | undefined
  /** The elements of a member that is a list, undefined where they are no objects. Undefined for another kind of value. */
  objects(name: string): readonly (Source | undefined)[] | undefined
}

/** A number with a fraction or exponent, after a character that precedes values. Strings can contain such text, too. */
const FRACTION = /[:[,]\s*-?\d+[.eE]/

/**
 * The members of a JSON object. `parseJson` gives the values; the text is read again only where they are not exact.
 */
export class JsonSource implements Source {
  /** The whole object, as it was sent. */
  readonly text: string
  readonly values: { readonly [name: string]: unknown }
  private mayRound: boolean | undefined
  private slices: ReadonlyMap<string, string> | undefined

  /** Takes the text of a valid JSON object. */
  constructor(text: string, values: unknown = parseJson(text)) {
    this.text = text
    this.values = values as { readonly [name: string]: unknown }
  }

  value(name: string): unknown {
    return this.values[name] ?? undefined
  }

  integer(name: string): bigint | undefined {
    const value = this.values[name]
    if (typeof value !== 'number') return undefined
    this.mayRound ??= FRACTION.test(this.text)
    return Number.isSafeInteger(value) && !this.mayRound ? BigInt(value) : readInt(this.slice(name))
  }

  objectText(name: string): string | undefined {
    return isObject(this.values[name]) ? this.slice(name) : undefined
  }

  object(name: string): Source | undefined {
    return isObject(this.values[name]) ? new JsonSource(this.slice(name), this.values[name]) : undefined
  }

  objects(name: string): readonly (Source | undefined)[] | undefined {
    const list = this.values[name]
    if (!Array.isArray(list)) return undefined
    const texts = elements(this.slice(name))
    return list.map((value, index) => (isObject(value) ? new JsonSource(texts[index] ?? '{}', value) : undefined))
  }

  private slice(name: string): string {
    this.slices ??= members(this.text)
    return this.slices.get(name) ?? ''
  }
}

/** Members that were parsed already: the input of a GraphQL field, or parameters of a URL. */
export class InputSource implements Source {
  private readonly values: { readonly [name: string]: unknown }

  constructor(values: object) {
    this.values = values as { readonly [name: string]: unknown }
  }

  value(name: string): unknown {
    return this.values[name] ?? undefined
  }

  integer(name: string): bigint | undefined {
    const value = this.values[name]
    if (typeof value === 'bigint') return value
    return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined
  }

  objectText(name: string): string | undefined {
    const value = this.values[name]
    return value instanceof RawJson && kindOf(value.text) === 'object' ? value.text : undefined
  }

  object(name: string): Source | undefined {
    const value = this.values[name]
    return isObject(value) ? new InputSource(value as object) : undefined
  }

  objects(name: string): readonly (Source | undefined)[] | undefined {
    const list = this.values[name]
    return Array.isArray(list) ? list.map((value) => (isObject(value) ? new InputSource(value) : undefined)) : undefined
  }
}

/** A source with one more member, such as a header. It hides a member of the same name. */
export function withMember(source: Source, added: string, text: string): Source {
  return {
    value: (name) => (name === added ? text : source.value(name)),
    integer: (name) => (name === added ? undefined : source.integer(name)),
    objectText: (name) => (name === added ? undefined : source.objectText(name)),
    object: (name) => (name === added ? undefined : source.object(name)),
    objects: (name) => (name === added ? undefined : source.objects(name)),
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
