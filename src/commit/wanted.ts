import type { Group } from './group.ts'
import type { Row, Statement } from './statement.ts'
import { arrayOf, text } from './table.ts'

/** The rows that a part was asked for, by a key of its own. Each is read once. */
export class Wanted<Ref> {
  private readonly group: Group
  private readonly pending = new Map<string, Ref>()
  private readonly read = new Set<string>()

  constructor(group: Group) {
    this.group = group
  }

  /** Whether the row has been read. Otherwise the group waits for it. */
  want(key: string, ref: Ref): boolean {
    if (this.read.has(key)) return true
    this.pending.set(key, ref)
    this.group.waits = true
    return false
  }

  /**
   * The statement that reads the pending rows. Its parameters are the named columns of the refs, as arrays; its first
   * column is the number of the ref, from 1.
   *
   * Such statements join their keys to the table by `CROSS JOIN LATERAL (… LIMIT 1)`, or `OFFSET 0` for several rows a
   * key: the fence keeps Postgres from hashing a whole table for a handful of keys.
   */
  statements(statement: {
    readonly name: string
    readonly text: string
    readonly columns: readonly (keyof Ref)[]
    readonly take: (key: string, row: Row, ref: Ref) => void
  }): Statement[] {
    if (this.pending.size === 0) return []
    // In the order of the keys, which is the same in every group, for statements that lock.
    const entries = [...this.pending].sort(([a], [b]) => (a < b ? -1 : 1))
    this.pending.clear()
    return [
      {
        name: statement.name,
        text: statement.text,
        values: columns(
          entries.map(([, ref]) => ref),
          statement.columns,
        ),
        take: (rows) => {
          for (const [key] of entries) this.read.add(key)
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
  return names.map((name) => arrayOf(rows, (row) => element(row[name])))
}

const element = (value: unknown): string =>
  value === null || value === undefined ? 'NULL' : text.encode(String(value))
