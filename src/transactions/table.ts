import type { Pool } from 'pg'
import { purge } from '../db/purge.ts'
import { arrayOf, type Column, rowsOf, text, uuid } from './columns.ts'
import type { Sql } from './sql.ts'
import type { Statement } from './statement.ts'

// Tables, declared once. Reads, writes, COPY and purges are made from the declaration.

// biome-ignore lint/suspicious/noExplicitAny: columns of every type.
type Columns = Readonly<Record<string, Column<any>>>
type RowOf<C extends Columns> = { readonly [P in keyof C]: C[P] extends Column<infer T> ? T : never }

export interface TableOptions<K extends Columns, C extends Columns> {
  /** The columns that name the player: its environment and its id. Null for tables without an owner. */
  readonly owner?: readonly [environment: string, id: string] | null
  /** The columns that identify a row of a player, in the order of the primary key. */
  readonly key: K
  readonly columns: C
  /** Rows of `state` are replaced by key. Rows of `append` never change. */
  readonly kind: 'state' | 'append'
  /** Columns that Postgres computes from the row `r` as it is written, by their names. */
  readonly computed?: Readonly<Record<string, string>>
  /** The order, in SQL, in which rows `r` are written. A unique index that allows one row per player needs it. */
  readonly order?: string
  /**
   * Whether a change gives its player a new version, so that rows may be remembered. Rows of other tables are forgotten
   * with the group, and written by separate statements.
   */
  readonly isVersioned?: boolean
  /** An SQL condition for rows that are no longer needed. They are removed from time to time. */
  readonly expired?: string
}

/** A property of a row with its column in Postgres. */
export interface Field {
  readonly property: string
  readonly name: string
  readonly column: Column<unknown>
}

/** All declared tables. */
export const tables: AnyTable[] = []

/** Declares a table. Its key begins with the environment and the player, unless it has no owner. */
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
  readonly name: string
  /** Its place among all tables: the order in which a group writes them. */
  readonly index: number
  readonly isVersioned: boolean
  /** Rows stay in memory after their group. A trigger must then renew their player's version; a test checks this. */
  isRemembered = false
  /** Whether it has rows to {@link purge}. */
  readonly expires: boolean
  readonly key: readonly string[]
  readonly owner: readonly Field[]
  readonly fields: readonly Field[]
  private readonly written: readonly Field[]
  /** The written columns without the {@link unused} ones. */
  private sent: readonly Field[] = []
  /** Columns that were null in all rows so far. They are not sent: what nobody uses costs nothing. */
  private unused: readonly Field[]
  /** The properties that are remembered. Null for all. */
  private readonly kept: readonly string[] | null
  private readonly computed: Readonly<Record<string, string>>
  private readonly order: string
  private readonly conflict: string
  private readonly expired: string
  private insertion: readonly string[] = []
  private rows: (values: readonly string[]) => Sql = rowsOf([])

  constructor(name: string, options: TableOptions<Columns, Columns>) {
    const { owner = ['environment_id', 'player_id'], key, columns, kind, computed = {}, expired = 'false' } = options
    this.name = name
    this.isVersioned = options.isVersioned ?? owner !== null
    this.computed = computed
    this.order = options.order ? ` ORDER BY ${options.order}` : ''
    this.expired = expired
    this.expires = options.expired !== undefined
    this.index = tables.push(this)
    this.key = Object.keys(key)
    this.owner = ['environmentId', 'playerId'].flatMap((property, index) => {
      const name = owner?.[index]
      return name === undefined ? [] : [{ property, name, column: uuid as Column<unknown> }]
    })
    this.fields = Object.entries({ ...key, ...columns }).map(([property, column]) => ({
      property,
      name: column.name ?? snakeCase(property),
      column,
    }))
    this.written = this.fields.filter(({ column }) => !column.isReadOnly)
    const kept = this.written.filter(({ column }) => !column.isWriteOnly)
    this.kept = kept.length === this.written.length ? null : kept.map(({ property }) => property)
    const unique = [...this.owner, ...this.written.slice(0, this.key.length)].map(({ name }) => name)
    const changing = [...this.written.slice(this.key.length).map(({ name }) => name), ...Object.keys(computed)]
    this.conflict =
      kind === 'append'
        ? ''
        : ` ON CONFLICT (${unique.join(', ')}) DO UPDATE SET ${changing.map((name) => `${name} = excluded.${name}`).join(', ')}`
    const expressions = `${Object.values(computed).join()} ${this.order}`
    this.unused = this.written.filter(({ column, name }) => column.isNullable && !expressions.includes(`r.${name}`))
    this.prepare()
  }

  /** Makes the INSERT of the columns that are in use. */
  private prepare(): void {
    this.sent = this.written.filter((field) => !this.unused.includes(field))
    const [before, after] = this.into(
      'o.environment_id, o.player_id, ',
      ({ name, column }) => `NULL::${column.type} AS ${name}`,
    )
    this.insertion = [`${before}proven AS o JOIN `, ` AS r ON r.n = o.n${after}`]
    this.rows = rowsOf([['n', 'int'], ...this.sent.map(({ name, column }) => [name, column.type] as const)])
  }

  /** The form in which a written row is remembered. */
  remembered(row: Row): Row {
    if (this.kept === null) return row
    // Not a copy without the others: V8 makes a slow object of one whose properties are deleted.
    const kept: Record<string, unknown> = {}
    for (const property of this.kept) kept[property] = (row as typeof kept)[property]
    return kept as Row
  }

  /** Finds one row by these columns, which are its whole key unless `where` makes it unique. */
  one<P extends keyof Row & string = keyof Row & string>(options: ReadOptions<Row, P> = {}): Read<Pick<Row, P>> {
    return new Read(this as never, { by: this.key, ...options } as never, null)
  }

  /** Finds all rows with the same values of these columns. `rowKey` distinguishes them. */
  many<P extends keyof Row & string = keyof Row & string>(
    by: readonly (keyof Row & string)[],
    rowKey: (row: Pick<Row, P>) => string,
    options: ReadOptions<Row, P> = {},
  ): Read<Pick<Row, P>> {
    return new Read(this as never, { by, ...options } as never, rowKey)
  }

  /** The names of the columns for COPY, the owner's first. Columns in `further` do not get their defaults. */
  names(...further: readonly string[]): string {
    return [...[...this.owner, ...this.written].map(({ name }) => name), ...further].join(', ')
  }

  /** The INSERT of rows whose players are in the CTE `proven`, each with its number `n`. */
  insert(rows: readonly Written<Row>[]): Sql {
    const unused = this.unused.filter(({ property }) =>
      rows.every(({ row }) => (row as Record<string, unknown>)[property] === null),
    )
    if (unused.length < this.unused.length) {
      this.unused = unused
      this.prepare()
    }
    const values = [arrayOf(rows, ({ n }) => String(n))]
    for (const { property, column } of this.sent)
      values.push(arrayOf(rows, ({ row }) => column.encode((row as Record<string, unknown>)[property])))
    return { texts: this.insertion, parts: [this.rows(values)] }
  }

  /** Inserts rows `r`, with the given expressions for their owners, and for columns that are not sent. */
  private into(owner: string, unsent?: (field: Field) => string): [before: string, after: string] {
    const written = this.written.map((field) =>
      unsent && this.unused.includes(field) ? unsent(field) : `r.${field.name}`,
    )
    const values = [...written, ...Object.values(this.computed)]
    return [
      `INSERT INTO ${this.name} (${this.names(...Object.keys(this.computed))})
      SELECT ${owner}${values.join(', ')} FROM `,
      `${this.order}${this.conflict}`,
    ]
  }

  /** A separate statement that writes rows. Without rows, the list is empty. */
  save(rows: readonly Row[]): Statement[] {
    const [before, after] = this.into(this.owner.map(({ name }) => `r.${name}, `).join(''))
    return this.statement('save', rows, [...this.owner, ...this.written], (from) => `${before}${from}${after}`)
  }

  /** A statement that removes the rows with the same owner, and the same values in these columns, as a given row. */
  remove<P extends keyof Row & string = never>(rows: readonly Pick<Row, NoInfer<P>>[], by: readonly P[]): Statement[] {
    const keys = [...this.owner, ...this.fieldsOf(by)]
    const name = `remove-${by.join('-')}`
    return this.statement(name, rows, keys, (from) => `DELETE FROM ${this.name} t USING ${from} WHERE ${match(keys)}`)
  }

  /** A statement that changes such rows `t`. The change may use further properties of the given rows `r`. */
  update<P extends keyof Row & string = never, Q extends keyof Row & string = never>(
    rows: readonly Pick<Row, NoInfer<P | Q>>[],
    by: readonly P[],
    { name, set, where = 'true', further = [] }: Update<Q>,
  ): Statement[] {
    const keys = [...this.owner, ...this.fieldsOf(by)]
    const fields = [...keys, ...this.fieldsOf(further)]
    return this.statement(
      `${name}-${by.join('-')}`,
      rows,
      fields,
      (from) => `UPDATE ${this.name} t SET ${set} FROM ${from} WHERE ${match(keys)} AND ${where}`,
    )
  }

  private statement(
    name: string,
    rows: readonly unknown[],
    fields: readonly Field[],
    text: (from: string) => string,
  ): Statement[] {
    if (rows.length === 0) return []
    const parameters = fields.map(({ column }, index) => `$${index + 1}::${column.type}[]`).join(', ')
    const names = fields.map((field) => field.name).join(', ')
    const values = fields.map(({ property, column }) =>
      arrayOf(rows, (row) => column.encode((row as Record<string, unknown>)[property])),
    )
    return [{ name: `${this.name}-${name}`, text: text(`unnest(${parameters}) AS r(${names})`), values }]
  }

  /** Removes a bounded number of expired rows. Returns how many. */
  purge(pool: Pool): Promise<number> {
    return purge(pool, this.name, this.expired)
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

/** A change of rows, in SQL. */
export interface Update<Q> {
  readonly name: string
  readonly set: string
  readonly where?: string
  readonly further?: readonly Q[]
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The place of a read: a player, and the values of the read's columns. */
interface ReadKey {
  readonly player: OwnedRow
  readonly key: string
}

export interface ReadOptions<Row, P extends keyof Row & string = keyof Row & string> {
  readonly by?: readonly (keyof Row & string)[]
  /** A further condition on the row `t`, in SQL. */
  readonly where?: string
  /** The order of the rows, in SQL. */
  readonly orderBy?: string
  /** The properties to read. Default: all that the table remembers. */
  readonly columns?: readonly P[]
  /** False for rows that are large or rarely used: they are forgotten with the group. */
  readonly isKept?: boolean
  /** The row is mostly absent: groups from memory assume so, and prove it with their write. */
  readonly isMostlyAbsent?: boolean
}

let reads = 0

/** A way to find rows. A player's rows are remembered under the read and the values of its columns. */
export class Read<Row> {
  /** The number of the read, which is its index in a player's memory. */
  readonly index = reads++
  readonly table: Table<Row>
  /** Null when it finds one row. */
  readonly rowKey: ((row: Row) => string) | null
  readonly isKept: boolean
  readonly isMostlyAbsent: boolean
  private readonly by: readonly Field[]
  private readonly columns: readonly Field[]
  private readonly text: string
  private readonly presence: readonly string[]
  private readonly rows: (values: readonly string[]) => Sql

  constructor(
    table: Table<Row>,
    { by = [], where, orderBy, columns, isKept = table.isVersioned, isMostlyAbsent = false }: ReadOptions<Row>,
    rowKey: ((row: Row) => string) | null,
  ) {
    this.table = table
    this.rowKey = rowKey
    this.isKept = isKept
    if (isKept && table.owner.length > 0) table.isRemembered = true
    this.isMostlyAbsent = isMostlyAbsent
    this.by = table.fieldsOf(by)
    this.columns = columns ? table.fieldsOf(columns) : table.fields.filter(({ column }) => !column.isWriteOnly)
    const keys = [...table.owner, ...this.by]
    const condition = where === undefined ? match(keys) : `${match(keys)} AND ${where}`
    const selected = this.columns.map(({ name, column }) => column.readAs?.(`t.${name}`) ?? `t.${name}`)
    // LIMIT and OFFSET are fences: Postgres must not hash a whole table for a handful of keys.
    this.text = `SELECT r.n::int, f.*
      FROM unnest(${keys.map(({ column }, index) => `$${index + 1}::${column.type}[]`).join(', ')})
        WITH ORDINALITY AS r(${keys.map(({ name }) => name).join(', ')}, n)
      CROSS JOIN LATERAL (
        SELECT ${selected.join(', ')} FROM ${table.name} t WHERE ${condition}
          ${orderBy ? `ORDER BY ${orderBy}` : ''} ${rowKey ? 'OFFSET 0' : 'LIMIT 1'}
      ) AS f`
    this.presence = [
      'SELECT r.n FROM ',
      ` AS r CROSS JOIN LATERAL (SELECT FROM ${table.name} t WHERE ${condition} LIMIT 1) AS t`,
    ]
    this.rows = rowsOf([...keys.map(({ name, column }) => [name, column.type] as const), ['n', 'int']])
  }

  /** Selects those of these numbers whose rows exist. */
  present(slots: readonly ReadKey[], numbers: readonly number[]): Sql {
    return { texts: this.presence, parts: [this.rows([...this.keys(slots), arrayOf(numbers, String)])] }
  }

  /** Reads for several players and keys at once; the first column of a row is the number of its key, from 1. */
  statement(slots: readonly ReadKey[]): Statement {
    return { name: `${this.table.name}-read-${this.index}`, text: this.text, values: this.keys(slots) }
  }

  /** The keys of the rows: an array for each key column. */
  keys(slots: readonly ReadKey[]): string[] {
    const values = slots.map(({ key }) => key.split('\0'))
    return [
      ...this.table.owner.map(({ property }) => arrayOf(slots, ({ player }) => player[property as keyof OwnedRow])),
      ...this.by.map((_, index) => arrayOf(values, (parts) => text.encode(parts[index] ?? ''))),
    ]
  }

  /** The values of the columns that a place names, as texts. */
  keyed({ player: { environmentId, playerId }, key }: ReadKey): Record<string, unknown> {
    const values = key.split('\0')
    return {
      environmentId,
      playerId,
      ...Object.fromEntries(this.by.map(({ property }, index) => [property, values[index]])),
    }
  }

  /** A row from its columns, which follow the number. */
  decode(columns: readonly unknown[]): Row {
    const row: Record<string, unknown> = {}
    for (const [index, { property, column }] of this.columns.entries())
      row[property] = column.decode(columns[index + 1])
    return row as Row
  }
}

const match = (keys: readonly Field[]): string => keys.map(({ name }) => `t.${name} = r.${name}`).join(' AND ')
