import type { PoolClient, QueryArrayResult } from 'pg'
import { sqlState } from '../db/failures.ts'
import type { Statement } from './statement.ts'

/** Sends statements in one go; the server runs them in order. The first error wins. */
export async function send(client: PoolClient, statements: readonly Statement[]): Promise<QueryArrayResult[]> {
  const { stream } = client.connection
  const results: QueryArrayResult[] = []
  let failed: { error: Error } | undefined
  let unsendable: { error: Error } | undefined
  await new Promise<void>((resolve) => {
    let left = statements.length
    let isWriting = true
    // The stream waits until all statements are encoded: one packet instead of one for each.
    stream.cork()
    for (const [index, { name, text, values }] of statements.entries()) {
      void client.query({ name, text, values, rowMode: 'array' }, (error: Error | null, result: QueryArrayResult) => {
        if (!error) results[index] = result
        else if (isWriting) unsendable ??= { error }
        else failed ??= { error }
        left -= 1
        if (left === 0) resolve()
      })
    }
    isWriting = false
    // The statements around it must not be sent either: a COMMIT among them would commit part of the group.
    if (unsendable) stream.destroy()
    stream.uncork()
  })
  if (unsendable) throw new Unsendable(unsendable.error)
  if (failed) throw sqlState(failed.error) === undefined ? new ConnectionLost(failed.error) : failed.error
  return results
}

/** Gives each statement the rows that it returned. */
export function takeRows(statements: readonly Statement[], results: readonly QueryArrayResult[]): void {
  for (const [index, statement] of statements.entries()) statement.take?.(results[index]?.rows ?? [])
}

export async function rollBack(client: PoolClient): Promise<void> {
  await client.query('ROLLBACK').catch(() => undefined)
}

/** The connection broke before an answer came. The server may or may not have run the statements. */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost', { cause })
  }
}

/** The values of a statement cannot be encoded for Postgres. */
export class Unsendable extends Error {
  constructor(cause: unknown) {
    super('a statement could not be sent', { cause })
  }
}
