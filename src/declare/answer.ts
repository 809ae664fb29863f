import type { Json, RawJson } from '../base/json.ts'
import type { Schema } from './shape.ts'

// Answers, declared once, as shapes declare requests. The TypeScript type, the JSON Schema in `openapi.json`, the
// client library's types and the GraphQL type with its descriptions are made from an answer. A declaration costs
// nothing at a call: handlers return plain objects of its type, and tests check every answer against its schema.

/**
 * The type of a member in GraphQL: a scalar, the enum of these values, another answer, a list, the object of a model that
 * is kept under the key which is the value, or a type that a feature's `graphql.ts` makes, by its name.
 */
type OutputType =
  | 'String'
  | 'ID'
  | 'DateTime'
  | 'Int'
  | 'Int64'
  | 'Boolean'
  | 'JSON'
  | readonly string[]
  | Answer<unknown>
  | { readonly listOf: OutputType }
  | { readonly kept: string }
  | { readonly ofType: string }
  | { readonly later: string }

export interface Member<T> {
  /** Without one, GraphQL has the description that is shared by all fields of its name. */
  readonly description?: string
  readonly schema: Schema
  readonly type: OutputType
  readonly isNullable?: boolean
  /** The usual length of a list. */
  readonly size?: number
  /** Whether some answers leave it out. */
  readonly isOptional?: boolean
  /** Why GraphQL will no longer have it after the next release, with what to read instead. REST keeps it. */
  readonly deprecated?: string
  /** The type of its values. Never set. */
  readonly value?: T
}

type Members = Readonly<Record<string, Member<unknown>>>
type ValueOf<M> = M extends Member<infer T> ? T : never
type Values<M> = {
  readonly [Name in keyof M as undefined extends ValueOf<M[Name]> ? never : Name]: ValueOf<M[Name]>
} & { readonly [Name in keyof M as undefined extends ValueOf<M[Name]> ? Name : never]?: ValueOf<M[Name]> }

/** The type of an answer: `AnswerOf<typeof addXpAnswer>`. */
export type AnswerOf<A> = A extends Answer<infer T> ? T : never

/** A request or an answer in `openapi.json`. One without a name is written where it is used. */
export interface Named {
  readonly name?: string
  readonly schema: Schema
  readonly example?: Json
  readonly parts?: readonly Named[]
}

export interface Answer<T> extends Named {
  readonly description: string
  readonly members: { readonly [Name in keyof T]-?: Member<T[Name]> }
  readonly parts: readonly Answer<unknown>[]
}

/** An answer. It has exactly these members. */
export function answer<M extends Members>(
  description: string,
  members: M,
  published: Pick<Named, 'name' | 'example'> = {},
): Answer<Values<M>> {
  const entries = Object.entries(members)
  const schema = {
    type: 'object',
    description,
    properties: Object.fromEntries(entries.map(([name, member]) => [name, member.schema])),
    required: entries.flatMap(([name, { isOptional }]) => (isOptional ? [] : [name])),
    additionalProperties: false,
  }
  const parts = entries.flatMap(([, { type }]) => partsOf(type))
  return { ...published, description, members: members as never, schema, parts }
}

function partsOf(type: OutputType): readonly Answer<unknown>[] {
  if (typeof type === 'string' || Array.isArray(type)) return []
  if ('kept' in type || 'ofType' in type || 'later' in type) return []
  return 'listOf' in type ? partsOf(type.listOf) : [type as Answer<unknown>]
}

/** Another place's schema: a reference to it if it has a name. */
export const referTo = ({ name, schema }: Named): Schema =>
  name === undefined ? schema : { $ref: `#/components/schemas/${name}` }

const described = (schema: Schema, description?: string): Schema =>
  description === undefined ? schema : { ...schema, description }

export const eitherOf = (...answers: readonly Named[]): Named => ({
  schema: { anyOf: answers.map(referTo) },
  parts: answers,
})

export function memberOf<T>(of: Answer<T> | Member<T>): Member<T> {
  return 'members' in of ? { schema: referTo(of), type: of } : of
}

const text = (description?: string, more: Schema = {}): Member<string> => ({
  description,
  schema: { ...described({ type: 'string' }, description), ...more },
  type: 'String',
})

/** An id that the service made. In GraphQL it is an ID. */
const id = (description?: string): Member<string> => ({ ...text(description), type: 'ID' })

/** An object of a model, by its id. In GraphQL it is the object. */
const kept = (model: string, description?: string): Member<string> => ({ ...text(description), type: { kept: model } })

/** The same by the columns of its key, in their order. */
const keptAt = <Key extends object>(model: string, description?: string): Member<Key> => ({
  description,
  schema: described({ type: 'object' }, description),
  type: { kept: model },
})

/** What a type of GraphQL is made from, for answers of GraphQL alone. */
const ofType = <T>(name: string, description?: string): Member<T> => ({
  description,
  schema: described({ type: 'object' }, description),
  type: { ofType: name },
})

/** The same for a list of them. */
const listOfType = <T>(name: string): Member<readonly T[]> => list(ofType<T>(name), '')

/** The same for a value that is read once it is asked for, after the call. */
const later = <T>(name: string, description?: string): Member<() => Promise<T>> => ({
  description,
  schema: described({ type: 'object' }, description),
  type: { later: name },
})

/** RFC 3339, in UTC. */
const time = (description?: string): Member<string> => ({
  ...text(description, { format: 'date-time' }),
  type: 'DateTime',
})

/** A time that is a `Date` in code, for answers of GraphQL alone. */
const moment = (description?: string): Member<Date> => ({ ...time(description), value: undefined })

const flag = (description?: string): Member<boolean> => ({
  description,
  schema: described({ type: 'boolean' }, description),
  type: 'Boolean',
})

/** Whether a call did what it was asked. In GraphQL `error` says it alone. */
const success = (description: string): Member<boolean> => ({
  ...flag(description),
  deprecated: 'Read error: it is null on success.',
})

const int32 = (description: string, more: Schema = {}): Member<number> => ({
  description,
  schema: { type: 'integer', format: 'int32', description, ...more },
  type: 'Int',
})

const int64 = (description: string, more: Schema = {}): Member<bigint> => ({
  description,
  schema: { type: 'integer', format: 'int64', description, ...more },
  type: 'Int64',
})

/** One of these texts. In GraphQL it is the enum of the same list, or of the larger list `among`. */
const oneOf = <const T extends string>(
  values: readonly T[],
  { description, among = values }: { description?: string; among?: readonly string[] } = {},
): Member<T> => ({ description, schema: described({ type: 'string', enum: values }, description), type: among })

/** The name of a value in GraphQL: `PLAYER_CREATED` for `player.created`. */
export const enumName = (value: string): string => value.replace(/[. ]/g, '_').toUpperCase()

/** Values by name, all of one kind. */
const map = <T>(of: Answer<T>, description: string): Member<Readonly<Record<string, T>>> => ({
  description,
  schema: { type: 'object', description, additionalProperties: referTo(of) },
  type: 'JSON',
})

/** A JSON object, as it is stored. */
const object = (description: string, schema: Schema = { additionalProperties: true }): Member<RawJson> => ({
  description,
  schema: { type: 'object', description, ...schema },
  type: 'JSON',
})

/** A list. `size` is its usual length, by which the cost of an operation counts: see `LIST_SIZE`. */
const list = <T>(
  of: Answer<T> | Member<T>,
  description: string,
  { size }: { readonly size?: number } = {},
): Member<readonly T[]> => {
  const { schema, type } = memberOf(of)
  return { description, schema: { type: 'array', items: schema, description }, type: { listOf: type }, size }
}

/** Another answer, with what it is here. */
const of = <T>(answer: Answer<T>, description: string): Member<T> => ({
  ...memberOf(answer),
  description,
  schema: described(referTo(answer), description),
})

/** Another answer has its own description, unless this place gives it one. */
const orNull = <T>(of: Answer<T> | Member<T>, description?: string): Member<T | null> => {
  const { schema, type, description: own, size } = memberOf(of)
  const nullable = described({ anyOf: [schema, { type: 'null' }] }, description)
  return { description: description ?? own, schema: nullable, type, isNullable: true, size }
}

/** A member that some answers leave out. */
const optional = <T>(member: Member<T>): Member<T | undefined> => ({ ...member, isOptional: true })

/** The members of answers: `out.int64('The xp.')`. Shapes have functions of the same names for requests. */
export const out = {
  text,
  id,
  kept,
  keptAt,
  time,
  moment,
  flag,
  success,
  int32,
  int64,
  oneOf,
  map,
  object,
  list,
  of,
  ofType,
  listOfType,
  later,
  orNull,
  optional,
}
