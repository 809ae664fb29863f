/** A statement of a group. Named ones are prepared once per connection. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
  /** Takes the rows of a read, each an array of columns. */
  take?(rows: Row[]): void
}

// biome-ignore lint/suspicious/noExplicitAny: a row's columns are what its statement selects.
export type Row = any[]

/**
 * One kind of rows of a group: a feature's table, or several that always go together. It is told what is wanted,
 * reads all of it in one statement per table, holds it while commands decide, and writes what they changed.
 */
export interface Part {
  /** The reads of what was wanted since the last call. */
  load(): Statement[]
  /** The writes of what changed. */
  save(): Statement[]
}

export interface PartType<P extends Part> {
  /** Parts are read and written in this order. Locks come first (0), the stream last. */
  readonly order: number
  new (group: Group): P
}

/** The rows that one group of commands rests on and changes. Lives for one attempt at one transaction. */
export class Group {
  readonly readOnly: boolean
  private readonly parts = new Map<PartType<Part>, Part>()
  private ordered: Part[] | undefined

  constructor(readOnly: boolean) {
    this.readOnly = readOnly
  }

  /** The group's own instance of a part. */
  of<P extends Part>(type: PartType<P>): P {
    const known = this.parts.get(type)
    if (known) return known as P
    const part = new type(this)
    this.parts.set(type, part)
    this.ordered = undefined
    return part
  }

  has(type: PartType<Part>): boolean {
    return this.parts.has(type)
  }

  load(): Statement[] {
    return this.inOrder().flatMap((part) => part.load())
  }

  save(): Statement[] {
    return this.inOrder().flatMap((part) => part.save())
  }

  private inOrder(): Part[] {
    this.ordered ??= [...this.parts].sort(([a], [b]) => a.order - b.order).map(([, part]) => part)
    return this.ordered
  }
}

/** Thrown when a decision turns out to rest on rows that are not loaded: they are loaded, and it is made again. */
export class MissingRows extends Error {}

/** The rows of a table that a group was asked for, by a key of the part's own. Each is read once. */
export class Wanted<Ref> {
  private readonly pending = new Map<string, Ref>()
  private readonly asked = new Set<string>()

  want(key: string, ref: Ref): void {
    if (!this.asked.has(key)) this.pending.set(key, ref)
  }

  /** For rows that a decision seldom needs, and then cannot do without. */
  need(key: string, ref: Ref): void {
    if (this.asked.has(key)) return
    this.pending.set(key, ref)
    throw new MissingRows()
  }

  /**
   * The statement that reads what is pending. Its parameters are the named columns of the refs, as arrays; its first
   * column is the number of the ref, from 1.
   *
   * Such statements join their keys to the table by `CROSS JOIN LATERAL (… LIMIT 1)`, or `OFFSET 0` for several rows a
   * key: the fence keeps Postgres from hashing a whole table for a handful of keys.
   */
  read(statement: {
    readonly name: string
    readonly text: string
    readonly columns: readonly (keyof Ref)[]
    /** Orders the keys, for rows that are locked. */
    readonly sorted?: boolean
    readonly take: (key: string, row: Row, ref: Ref) => void
  }): Statement[] {
    if (this.pending.size === 0) return []
    const entries = [...this.pending]
    if (statement.sorted) entries.sort(([a], [b]) => (a < b ? -1 : 1))
    for (const key of this.pending.keys()) this.asked.add(key)
    this.pending.clear()
    return [
      {
        name: statement.name,
        text: statement.text,
        values: columns(
          entries.map(([, ref]) => ref),
          statement.columns,
        ),
        take(rows) {
          for (const row of rows) {
            const entry = entries[row[0] - 1]
            if (entry) statement.take(entry[0], row, entry[1])
          }
        },
      },
    ]
  }
}

/** Turns rows into one Postgres array per column, as `unnest` takes them. */
export function columns<T>(rows: readonly T[], names: readonly (keyof T)[]): string[] {
  return names.map((name) => `{${rows.map((row) => arrayElement(row[name])).join(',')}}`)
}

/** Text that an array literal may hold without quotes. `null` would be taken for NULL. */
const BARE = /^(?!null$)[\w.:-]+$/i

function arrayElement(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  const text = String(value)
  return BARE.test(text) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

/**
 * The order of the parts. Subjects of logins are locked before players, a player's row before anything else of it, and
 * the stream's row last of all. A new player is written before what belongs to it.
 */
export const PART_ORDER = {
  newPlayers: -20,
  identities: -10,
  standing: 0,
  idempotency: 10,
  scenarios: 20,
  runs: 30,
  passes: 40,
  holdings: 50,
  profiles: 60,
  storage: 70,
  erasures: 75,
  refreshTokens: 80,
  loginLog: 90,
  auditLog: 95,
  tally: 97,
  stream: 100,
} as const
