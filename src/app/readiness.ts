import type { Config } from '../base/config.ts'
import { incompatibilityOf } from '../db/compatibility.ts'
import { migrationNames, pendingMigrations } from '../db/migrate.ts'
import { refusesWrites, unsafeSettings } from '../db/pool.ts'
import type { Database } from './open-database.ts'
import type { Reports } from './reports.ts'

/** What readiness asks Postgres. Each answer is the reason in words, or undefined. */
export async function createReadiness(
  { requireFsync }: Config,
  { log, warn }: Reports,
  { pools: { probes: pool }, refusedWrites }: Database,
) {
  const migrations = await migrationNames()
  let durability: Promise<string | undefined> | undefined

  /** Why calls may get lost on this Postgres. A server is asked until it has answered once. */
  function whyNotDurable(): Promise<string | undefined> {
    durability ??= readDurability().catch((error) => {
      durability = undefined
      throw error
    })
    return durability
  }

  async function readDurability(): Promise<string | undefined> {
    const faults = (await unsafeSettings(pool)).map((name) => {
      const fault = `Postgres runs with ${name}=off: a crash of its machine can lose acknowledged calls`
      // Some file systems, such as ZFS, write whole pages, and make full_page_writes=off safe.
      if (requireFsync && name === 'fsync') return `${fault}. Turn fsync on, or set REQUIRE_FSYNC=false`
      log.warn(fault)
      return undefined
    })
    return faults.find((fault) => fault !== undefined)
  }

  return {
    whyNotDurable,
    /** A later version may migrate the database while this one runs. */
    async whyUnready(isStopping: () => boolean): Promise<string | undefined> {
      const [pending, incompatibility, fault] = await Promise.all([
        pendingMigrations(pool, migrations),
        incompatibilityOf(pool),
        whyNotDurable(),
      ])
      // A stop may have begun while the database was read.
      if (isStopping()) return 'this instance is stopping'
      if (pending.length > 0) return 'migrations are pending: run `npx tierway migrate`'
      if (incompatibility !== undefined) warn(incompatibility, 'not ready: a later version has changed the database')
      return incompatibility ?? fault
    },
    whyReadOnly: async (): Promise<string | undefined> =>
      (await refusesWrites(pool)) ? 'Postgres is read-only' : refusedWrites.reason(),
  }
}
