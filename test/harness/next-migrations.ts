import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DIRECTORY = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

/** Migrations by their names. */
export type MigrationTexts = Readonly<Record<string, string>>

/** Migrations of a later release, made up: each changes a table that this release reads and writes all the time. */
export const NEXT: MigrationTexts = {
  '20991231000000_streaks': 'ALTER TABLE "passes" ADD COLUMN "streak" INTEGER NOT NULL DEFAULT 0;',
  '20991231000100_streaks_index': `-- Runs outside a transaction.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "passes_streak_idx" ON "passes" ("environment_id", "streak");
DROP INDEX CONCURRENTLY IF EXISTS "passes_by_streak_idx";
`,
  '20991231000200_held': `ALTER TABLE "wallets" ADD COLUMN "held" BIGINT NOT NULL DEFAULT 0,
  ADD CONSTRAINT "wallets_held_check" CHECK ("held" >= 0) NOT VALID;`,
  '20991231000300_held_valid': 'ALTER TABLE "wallets" VALIDATE CONSTRAINT "wallets_held_check";',
  '20991231000400_shards': 'ALTER TABLE "streams" ADD COLUMN "shard" INTEGER;',
  '20991231000500_ledger': 'ALTER TABLE "xp_ledger" ADD COLUMN "match" TEXT;',
  '20991231000600_clans': `
CREATE TABLE "clans" (
    "environment_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    PRIMARY KEY ("environment_id", "name"),
    FOREIGN KEY ("environment_id") REFERENCES "environments" ("id")
);
CREATE INDEX "clans_name_idx" ON "clans" ("name");`,
}

/** The first migration, which makes the schema, and those after it, which instances of earlier releases see happen. */
export async function ownMigrations(): Promise<{ readonly first: MigrationTexts; readonly online: MigrationTexts }> {
  const names = (await readdir(DIRECTORY)).filter((name) => !name.endsWith('.toml')).sort()
  const texts = await Promise.all(
    names.map(async (name) => [name, await readFile(join(DIRECTORY, name, 'migration.sql'), 'utf8')] as const),
  )
  return { first: Object.fromEntries(texts.slice(0, 1)), online: Object.fromEntries(texts.slice(1)) }
}

/** Writes migrations to a folder, in the form of the migrator. */
export async function writeMigrations(folder: string, migrations: MigrationTexts): Promise<void> {
  for (const [name, sql] of Object.entries(migrations)) {
    await mkdir(join(folder, name), { recursive: true })
    await writeFile(join(folder, name, 'migration.sql'), sql)
  }
}

/** What a migration does that instances of an earlier release, or their calls, would not survive. */
export function offlineParts(text: string): readonly string[] {
  const sql = text.replaceAll(/--.*$/gm, '')
  const made = new Set([...sql.matchAll(/CREATE TABLE "(\w+)"/g)].map(([, table]) => table))
  const existing = (pattern: RegExp) =>
    [...sql.matchAll(pattern)].flatMap(([, table = '']) => (made.has(table) ? [] : [table]))
  const blocked = existing(/CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)[^;]*? ON "(\w+)"/g)
  const changed = new Set(existing(/(?:ALTER TABLE|CREATE TRIGGER [^;]*? ON|REFERENCES) "(\w+)"/g))
  const [lost] = /\b(?:DROP\s+(?:TABLE|COLUMN)|RENAME\s)/i.exec(sql) ?? []
  return [
    ...blocked.map((table) => `builds an index that blocks writes of ${table}`),
    ...(changed.size > 1 ? [`changes several tables: ${[...changed].join(', ')}`] : []),
    ...(lost === undefined ? [] : [`takes away what earlier releases use: ${lost.trim()}`]),
  ]
}
