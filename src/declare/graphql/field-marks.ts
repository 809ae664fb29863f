import type { Right } from '../../callers/roles.ts'

/** The extensions of a field that only operators with this right may read. It is nullable, and refuses others itself. */
export const needs = (right: Right) => ({ right })

/** The right that a field needs, if any. */
export const rightOf = (extensions: Readonly<Record<string, unknown>>): Right | undefined =>
  extensions.right as Right | undefined

/** The name of a field today, also of one that is there under another name: a former one, or one that the contract has. */
export const nameNow = ({ name, extensions }: { readonly name: string; readonly extensions: object }): string =>
  'nameNow' in extensions ? String(extensions.nameNow) : name

/** The extensions of a field that is made when it is asked for. It is in an answer of GraphQL that does so, and in none of REST. */
export const ON_REQUEST = { isOnRequest: true }

/** The extensions of a long text. REST has it in an answer about one object, and in no list. */
export const LONG = { isLong: true }

export const isLong = (extensions: Readonly<Record<string, unknown>>): boolean => extensions.isLong === true

export const isOnRequest = (extensions: Readonly<Record<string, unknown>>): boolean => extensions.isOnRequest === true
