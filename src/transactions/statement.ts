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
