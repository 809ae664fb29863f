import { freeze, type Json, thaw } from '../json.ts'
import type { Statement } from './statement.ts'

// Tables of player data, declared once. Reads, writes, COPY and purges are made from the declaration.

/** How the values of a column reach Postgres and come back. Null is the table's business. */
export interface Column<T> {
  /** The type in Postgres. */
  readonly type: string
  /** The name in Postgres; the property's name in snake_case unless given. */
  readonly name?: string
  /** The type that it is read as, where the driver would make something else of it. */
  readonly readAs?: string
  /** Written with the row, but neither read with it nor remembered. */
  readonly isWriteOnly?: boolean
  /** As an element of an array literal. */
  encode(value: T): string
  // biome-ignore lint/suspicious/noExplicitAny: what the driver makes of the type.
  decode(value: any): T
}

/** Text that an array literal may hold without quotes. `null` would be taken for NULL. */
const BARE = /^(?!null$)[\w.:-]+$/i
const quote = (text: string): string => `"${/["\\]/.test(text) ? text.replaceAll(/["\\]/g, '\\$&') : text}"`
/** Neighbours in a column are mostly the same. */
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
export const date: Column<string> = { type: 'date', readAs: 'text', encode: same, decode: same }
/** A value that is stored as its JSON text. */
export function json<T>(): Column<T> {
  return { type: 'text', encode: (value) => quote(JSON.stringify(value)), decode: (value) => JSON.parse(value) }
}

/** A value with 64-bit integers or verbatim JSON, stored so that it comes back as it was. */
export function exactJson<T>(): Column<T> {
  return { type: 'text', encode: (value) => quote(freeze(value as Json)), decode: (value) => thaw(value) as T }
}

export function nullable<T>(column: Column<T>): Column<T | null> {
  return {
    ...column,
    encode: (value) => (value === null ? 'NULL' : column.encode(value)),
    decode: (value) => (value === null ? null : column.decode(value)),
  }
}

export const named = <T>(name: string, column: Column<T>): Column<T> => ({ ...column, name })
export const writeOnly = <T>(column: Column<T>): Column<T> => ({ ...column, isWriteOnly: true })

// biome-ignore lint/suspicious/noExplicitAny: columns of every type.
type Columns = Readonly<Record<string, Column<any>>>
type RowOf<C extends Columns> = { readonly [P in keyof C]: C[P] extends Column<infer T> ? T : never }

export interface TableOptions<K extends Columns, C extends Columns> {
  /** The columns that name the owner: its environment and its id. */
  readonly owner?: readonly [environment: string, id: string]
  /** What names a row among those of its player, in the order of the primary key. */
  readonly key: K
  readonly columns: C
  /** Rows of `state` are replaced by their key; rows that are `append`ed never change. */
  readonly kind: 'state' | 'append'
  /** Columns that Postgres computes from the row `r` as it is written, by their names. */
  readonly computed?: Readonly<Record<string, string>>
}

/** A property of a row with its column in Postgres. */
interface Field {
  readonly property: string
  readonly name: string
  readonly column: Column<unknown>
}

/** Numbers what the write statement may insert, so that sets of it are bits of a number. */
let insertions = 0
export const nextInsertion = (): number => insertions++

/** Declares a table whose key begins with the environment and the player. */
export function table<K extends Columns, C extends Columns>(
  name: string,
  options: TableOptions<K, C>,
): Table<RowOf<K & C>> {
  return new Table(name, options)
}

// biome-ignore lint/suspicious/noExplicitAny: tables of every kind of row.
export type AnyTable = Table<any>

/** A row before it is written: `n` is its player's number in the group. */
export interface Written<Row> {
  readonly n: number
  readonly row: Row
}

export class Table<Row> {
  readonly index = nextInsertion()
  readonly name: string
  readonly owner: readonly [string, string]
  readonly kind: 'state' | 'append'
  readonly fields: readonly Field[]
  private readonly keyLength: number
  private readonly writeOnly: readonly string[]
  private readonly computed: Readonly<Record<string, string>>

  constructor(
    name: string,
    { owner = ['environment_id', 'player_id'], key, columns, kind, computed = {} }: TableOptions<Columns, Columns>,
  ) {
    this.name = name
    this.owner = owner
    this.kind = kind
    this.computed = computed
    this.fields = Object.entries({ ...key, ...columns }).map(([property, column]) => ({
      property,
      name: column.name ?? snakeCase(property),
      column,
    }))
    this.keyLength = Object.keys(key).length
    this.writeOnly = this.fields.filter(({ column }) => column.isWriteOnly).map(({ property }) => property)
  }

  /** A row as it is remembered, once it is written. */
  remembered(row: Row): Row {
    if (this.writeOnly.length === 0) return row
    const kept = { ...row } as Record<string, unknown>
    for (const property of this.writeOnly) delete kept[property]
    return kept as Row
  }

  /** Finds one row by these columns, which are its whole key unless `where` says what makes it the only one. */
  one<P extends keyof Row & string = keyof Row & string>(options: ReadOptions<Row, P> = {}): Read<Pick<Row, P>> {
    const by = this.fields.slice(0, this.keyLength).map(({ property }) => property)
    return new Read(this as never, { by, ...options } as never, null)
  }

  /** Finds all rows that have these columns in common. `rowKey` tells them apart. */
  many<P extends keyof Row & string = keyof Row & string>(
    by: readonly (keyof Row & string)[],
    rowKey: (row: Pick<Row, P>) => string,
    options: ReadOptions<Row, P> = {},
  ): Read<Pick<Row, P>> {
    return new Read(this as never, { by, ...options } as never, rowKey)
  }

  /** The names of the columns for COPY, the owner's first; further ones have defaults that a caller replaces. */
  names(...further: readonly string[]): string {
    return [...this.owner, ...this.fields.map(({ name }) => name), ...further].join(', ')
  }

  /** Its part of the write statement, as of an `Insertion`. */
  insert(parameter: () => number, isLone: boolean): string {
    const all = this.fields.map(({ name }) => name)
    const columns = this.fields.map(({ name, column }) => [name, column.type] as const)
    const rows = isLone
      ? `CROSS JOIN ${rowsOf(parameter, columns)} AS r`
      : `JOIN ${rowsOf(parameter, [['n', 'int'], ...columns])} AS r ON r.n = o.n`
    const computed = Object.entries(this.computed)
    const names = [...all, ...computed.map(([name]) => name)]
    const values = [...all.map((name) => `r.${name}`), ...computed.map(([, expression]) => expression)]
    const key = [...this.owner, ...all.slice(0, this.keyLength)]
    const changing = names.slice(this.keyLength)
    const conflict =
      this.kind === 'append'
        ? ''
        : ` ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${changing.map((name) => `${name} = excluded.${name}`).join(', ')}`
    return `INSERT INTO ${this.name} (${[...this.owner, ...names].join(', ')})
      SELECT o.environment_id, o.player_id, ${values.join(', ')}
      FROM proven AS o ${rows}${conflict}`
  }

  /** The values of {@link insert}, in the order of its parameters. */
  insertValues(rows: readonly Written<Row>[], isLone: boolean): string[] {
    const values = isLone ? [] : [arrayOf(rows, ({ n }) => String(n))]
    for (const { property, column } of this.fields)
      values.push(arrayOf(rows, ({ row }) => column.encode((row as Record<string, unknown>)[property])))
    return values
  }

  /** A statement that removes the rows that have these columns in common with the given ones. */
  remove<P extends keyof Row & string>(by: readonly P[], owners: readonly (OwnedRow & Pick<Row, P>)[]): Statement {
    const fields = this.fieldsOf(by)
    const columns = [...this.owner, ...fields.map(({ name }) => name)]
    const types = ['uuid', 'uuid', ...fields.map(({ column }) => column.type)]
    return {
      name: `${this.name}-remove-${by.length}`,
      text: `DELETE FROM ${this.name} t USING unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
        AS k(${columns.join(', ')}) WHERE ${columns.map((name) => `t.${name} = k.${name}`).join(' AND ')}`,
      values: [
        arrayOf(owners, (owner) => owner.environmentId),
        arrayOf(owners, (owner) => owner.playerId),
        ...fields.map(({ property, column }) =>
          arrayOf(owners, (owner) => column.encode((owner as unknown as Record<string, unknown>)[property])),
        ),
      ],
    }
  }

  fieldsOf(properties: readonly string[]): Field[] {
    return properties.map((property) => {
      const field = this.fields.find((candidate) => candidate.property === property)
      if (!field) throw new Error(`${this.name} has no ${property}`)
      return field
    })
  }
}

export interface OwnedRow {
  readonly environmentId: string
  readonly playerId: string
}

/** Where a read looks: a player, and the values of the read's columns. */
interface Place {
  readonly player: OwnedRow
  readonly key: string
}

export interface ReadOptions<Row, P extends keyof Row & string = keyof Row & string> {
  readonly by?: readonly (keyof Row & string)[]
  /** What else must hold of the row `t`, in SQL. */
  readonly where?: string
  /** The properties that are read; all that the table remembers unless given. */
  readonly columns?: readonly P[]
  /** False for rows that are large or seldom asked for: they are forgotten with the group. */
  readonly isKept?: boolean
  /** Mostly there is no such row: groups that rest on memory take it for absent, and prove that as they write. */
  readonly isMostlyAbsent?: boolean
}

let reads = 0

/** A way to find rows of a player. The rows are remembered under the read and the values of its columns. */
export class Read<Row> {
  /** Numbers the reads, as places in a player's memory. */
  readonly index = reads++
  readonly table: Table<Row>
  /** Null when it finds one row. */
  readonly rowKey: ((row: Row) => string) | null
  readonly isKept: boolean
  readonly isMostlyAbsent: boolean
  private readonly by: readonly Field[]
  private readonly columns: readonly Field[]
  private readonly where: string
  private readonly text: string

  constructor(
    table: Table<Row>,
    { by = [], where, columns, isKept = true, isMostlyAbsent = false }: ReadOptions<Row>,
    rowKey: ((row: Row) => string) | null,
  ) {
    this.table = table
    this.rowKey = rowKey
    this.isKept = isKept
    this.isMostlyAbsent = isMostlyAbsent
    this.by = table.fieldsOf(by)
    this.columns = columns ? table.fieldsOf(columns) : table.fields.filter(({ column }) => !column.isWriteOnly)
    const keys = [...table.owner, ...this.by.map(({ name }) => name)]
    const types = ['uuid', 'uuid', ...this.by.map(({ column }) => column.type)]
    const matches = keys.map((name) => `t.${name} = k.${name}`).join(' AND ')
    this.where = where === undefined ? matches : `${matches} AND ${where}`
    const selected = this.columns.map(({ name, column }) => `t.${name}${column.readAs ? `::${column.readAs}` : ''}`)
    // LIMIT and OFFSET are fences: Postgres must not hash a whole table for a handful of keys.
    this.text = `SELECT k.n::int, ${selected.join(', ')}
      FROM unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
        WITH ORDINALITY AS k(${keys.join(', ')}, n)
      CROSS JOIN LATERAL (
        SELECT * FROM ${table.name} t WHERE ${this.where} ${rowKey ? 'OFFSET 0' : 'LIMIT 1'}
      ) t`
  }

  /** Selects the numbers of those rows that are there, out of the {@link keys} and a number for each. */
  present(parameter: () => number): string {
    const owner = this.table.owner.map((name) => [name, 'uuid'] as const)
    const by = this.by.map(({ name, column }) => [name, column.type] as const)
    return `SELECT k.n FROM ${rowsOf(parameter, [...owner, ...by, ['n', 'int']])} AS k
      CROSS JOIN LATERAL (SELECT FROM ${this.table.name} t WHERE ${this.where} LIMIT 1) AS t`
  }

  /** Reads for several players and keys at once; the first column of a row is the number of its key, from 1. */
  statement(slots: readonly Place[]): Statement {
    return { name: `${this.table.name}-read-${this.index}`, text: this.text, values: this.keys(slots) }
  }

  /** The columns that name rows, an array for each. */
  keys(slots: readonly Place[]): string[] {
    const values = slots.map(({ key }) => key.split('\0'))
    return [
      arrayOf(slots, ({ player }) => player.environmentId),
      arrayOf(slots, ({ player }) => player.playerId),
      ...this.by.map((_, index) => arrayOf(values, (parts) => text.encode(parts[index] ?? ''))),
    ]
  }

  /** A row from its columns behind the number. */
  decode(columns: readonly unknown[]): Row {
    const row: Record<string, unknown> = {}
    for (const [index, { property, column }] of this.columns.entries())
      row[property] = column.decode(columns[index + 1])
    return row as Row
  }
}

/**
 * Rows out of a parameter for each column, an array. As a list of what is selected, since each function in FROM would
 * first store all that it gives.
 */
export function rowsOf(parameter: () => number, columns: readonly (readonly [name: string, type: string])[]): string {
  return `(SELECT ${columns.map(([name, type]) => `unnest($${parameter()}::${type}[]) AS ${name}`).join(', ')})`
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

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
