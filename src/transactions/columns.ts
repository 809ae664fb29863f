import { freeze, thaw } from '../base/frozen-json.ts'
import type { Json } from '../base/json.ts'
import type { Sql } from './sql.ts'

/** How the values of a column are encoded for Postgres and decoded. The table handles null. */
export interface Column<T> {
  /** The type in Postgres. */
  readonly type: string
  /** The name in Postgres. Default: the property's name in snake_case. */
  readonly name?: string
  /** The SQL that reads it from the row `t`. Default: the plain column. */
  readonly readAs?: (name: string) => string
  /** Read with the row, but set by Postgres or by separate statements. */
  readonly isReadOnly?: boolean
  /** Written with the row, but not read with it and not remembered. */
  readonly isWriteOnly?: boolean
  readonly isNullable?: boolean
  /** As an element of an array literal. */
  encode(value: T): string
  // biome-ignore lint/suspicious/noExplicitAny: what the driver makes of the type.
  decode(value: any): T
}

/** Text that an array literal can hold without quotes. `null` would be read as NULL. */
const BARE = /^(?!null$)[\w.:-]+$/i
/** What JSON escapes in another way than an array literal. */
const UNLIKE_JSON = /[\0-\x1f\ud800-\udfff]/
/** `JSON.stringify` takes a quarter of the time. */
const quote = (text: string): string =>
  UNLIKE_JSON.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : JSON.stringify(text)
/** Consecutive values of a column are mostly equal. */
let last = { value: '', encoded: '""' }
const same = <T>(value: T): T => value

export const text: Column<string> = {
  type: 'text',
  encode: (value) => {
    if (value !== last.value) last = { value, encoded: BARE.test(value) ? value : quote(value) }
    return last.encoded
  },
  decode: same,
}
export const uuid: Column<string> = { type: 'uuid', encode: same, decode: same }
export const int: Column<number> = { type: 'int', encode: String, decode: same }
export const bigint: Column<bigint> = { type: 'bigint', encode: String, decode: BigInt }
export const boolean: Column<boolean> = { type: 'boolean', encode: (value) => (value ? 't' : 'f'), decode: same }
/** A day, as `2026-11-21`. */
export const date: Column<string> = { type: 'date', readAs: (name) => `${name}::text`, encode: same, decode: same }
/** A value that is stored as its JSON text. */
export function json<T>(): Column<T> {
  return { type: 'text', encode: (value) => quote(JSON.stringify(value)), decode: (value) => JSON.parse(value) }
}

/** A value with 64-bit integers or verbatim JSON, stored so that it is read back unchanged, or by `read`. */
export function exactJson<T>(): Column<T> {
  return { type: 'text', encode: (value) => quote(freeze(value as Json)), decode: (value) => thaw(value) as T }
}

export function nullable<T>(column: Column<T>): Column<T | null> {
  return {
    ...column,
    isNullable: true,
    encode: (value) => (value === null ? 'NULL' : column.encode(value)),
    decode: (value) => (value === null ? null : column.decode(value)),
  }
}

export const named = <T>(name: string, column: Column<T>): Column<T> => ({ ...column, name })
export const writeOnly = <T>(column: Column<T>): Column<T> => ({ ...column, isWriteOnly: true })
/** A column computed by this SQL from the row `t`. */
export const readOnly = <T>(column: Column<T>, sql: string): Column<T> => ({
  ...column,
  isReadOnly: true,
  readAs: () => sql,
})
/** A moment that Postgres sets. */
export const moment: Column<Date> = {
  type: 'float8',
  readAs: (name) => `extract(epoch FROM ${name}) * 1000`,
  isReadOnly: true,
  encode: (at) => String(at.getTime()),
  decode: (ms) => new Date(Number(ms)),
}

/** A moment that a command gives. */
export const instant: Column<Date> = {
  type: 'timestamptz',
  readAs: (name) => `extract(epoch FROM ${name}) * 1000`,
  encode: (at) => at.toISOString(),
  decode: (ms) => new Date(Number(ms)),
}

/** A Postgres array literal, as `unnest` takes it. */
export function arrayOf<T>(items: readonly T[], encode: (item: T, index: number) => string): string {
  let literal = '{'
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) literal += ','
    literal += encode(items[index] as T, index)
  }
  return `${literal}}`
}

/**
 * Rows from arrays, one for each of these columns. The functions are in the select list, since each function in FROM
 * would first store its whole result.
 */
export function rowsOf(
  columns: readonly (readonly [name: string, type: string])[],
): (values: readonly string[]) => Sql {
  const texts = ['(SELECT unnest(', ...columns.map(([name, type]) => `::${type}[]) AS ${name}, unnest(`)]
  texts[columns.length] = texts.at(-1)?.replace(/, unnest\($/, ')') ?? ''
  return (parts) => {
    if (parts.length !== columns.length) throw new Error(`${parts.length} arrays for ${columns.length} columns`)
    return { texts, parts }
  }
}
