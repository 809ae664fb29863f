import type pg from 'pg'
import { VERSION } from '../base/version.ts'

/**
 * The number of this build. A release that earlier versions must not run beside raises it, and adds it to the table
 * `compatibility` in a migration.
 */
export const COMPATIBILITY = 1
/** The first migration. Databases of builds that had others cannot be migrated. */
const BASELINE = '20261201000000_baseline'

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

/** Refuses a database that this version must not run on. `folder` is that of the embedded database. */
export async function requireCompatible(
  database: Pick<pg.ClientBase, 'query'>,
  folder: string | null = null,
): Promise<void> {
  const reason = (await incompatibilityOf(database)) ?? (await whyTooOld(database, folder))
  if (reason !== undefined) throw new IncompatibleError(reason)
}

async function whyTooOld(database: Pick<pg.ClientBase, 'query'>, folder: string | null): Promise<string | undefined> {
  const { rows: found } = await database.query<{ exists: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`,
  )
  if (!found[0]?.exists) return undefined
  const { rows } = await database.query<{ known: boolean | null }>(
    'SELECT bool_or(migration_name = $1) AS known FROM _prisma_migrations WHERE rolled_back_at IS NULL',
    [BASELINE],
  )
  // Null before the first migration.
  if (rows[0]?.known !== false) return undefined
  const [place, advice] = folder
    ? [` in ${folder}`, `remove it, with all that is in it: rm -r ${folder}`]
    : ['', 'set DATABASE_URL to an empty one']
  return `the database${place} was made by a build before 0.2.0, and no version can migrate it: ${advice}`
}
