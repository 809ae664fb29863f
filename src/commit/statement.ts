// biome-ignore lint/suspicious/noExplicitAny: a row's columns are what its statement selects.
export type Row = any[]

/** A statement of a group. Named ones are prepared once per connection. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
  /** Takes the rows that it returned, each an array of columns. */
  take?(rows: Row[]): void
}

/** A part's share of the statement that writes. */
export interface Insertion {
  /** From `nextInsertion`. */
  readonly index: number
  readonly isEmpty: boolean
  /**
   * The INSERT, with a parameter for each of the values: rows for the owners in the CTE `proven`, each with its number
   * `n`. A lone owner has all rows, so they need no number.
   */
  insert(parameter: () => number, isLone: boolean): string
  values(isLone: boolean): string[]
}
