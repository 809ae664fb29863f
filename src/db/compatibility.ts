import type pg from 'pg'
import { VERSION } from '../base/version.ts'

/**
 * The number of this build. A release that earlier versions must not run beside raises it, and adds it to the table
 * `compatibility` in a migration.
 */
export const COMPATIBILITY = 1

/** This version must not run on the database. */
export class IncompatibleError extends Error {
  override readonly name = 'IncompatibleError'
}

/** Why this version must not run on the database, and what to do; undefined when it may. */
export async function incompatibilityOf(database: Pick<pg.ClientBase, 'query'>): Promise<string | undefined> {
  const { rows: found } = await database.query<{ exists: boolean }>(
    `SELECT to_regclass('compatibility') IS NOT NULL AS exists`,
  )
  if (!found[0]?.exists) return undefined
  const { rows } = await database.query<{ version: string }>(
    'SELECT version FROM compatibility WHERE number > $1 ORDER BY number DESC LIMIT 1',
    [COMPATIBILITY],
  )
  return (
    rows[0] &&
    `this is Tierway ${VERSION}, and the database needs ${rows[0].version} or later: start that version, or restore a backup from before the update`
  )
}

export async function requireCompatible(database: Pick<pg.ClientBase, 'query'>): Promise<void> {
  const reason = await incompatibilityOf(database)
  if (reason !== undefined) throw new IncompatibleError(reason)
}
