/** What a part of an answer must be. */
export type Shape =
  | 'string'
  | 'boolean'
  | 'integer'
  /** A 64-bit integer, which becomes a `bigint`. GraphQL has it as text. */
  | 'int64'
  /** Any JSON object. */
  | 'object'
  | { readonly orNull: Shape }
  /** For members that may be missing. */
  | { readonly ifPresent: Shape }
  | { readonly list: Shape }
  | ObjectShape

/** An object with at least these members. The service may add others, which are kept. */
export interface ObjectShape {
  readonly members: Readonly<Record<string, Shape>>
}

/** The shape of a whole answer, with its type. */
export interface ShapeOf<Answer> extends ObjectShape {
  readonly answer?: Answer
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
