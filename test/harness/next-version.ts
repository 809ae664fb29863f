import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMPATIBILITY } from '../../src/db/compatibility.ts'
import { type MigrationTexts, writeMigrations } from './next-migrations.ts'
import { buildService } from './service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A later version of the service: this one with more migrations. */
export interface NextVersion {
  readonly root: string
  remove(): Promise<void>
}

/** Earlier versions must not run beside it where its number is higher than that of this one. */
export async function createNextVersion(migrations: MigrationTexts, number = COMPATIBILITY): Promise<NextVersion> {
  await buildService()
  const root = await mkdtemp(join(tmpdir(), 'tierway-next-'))
  // Not links: the service finds its migrations relative to its own files.
  for (const folder of ['dist', 'prisma', 'docs', 'examples'])
    await cp(join(ROOT, folder), join(root, folder), { recursive: true })
  await cp(join(ROOT, 'package.json'), join(root, 'package.json'))
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  await writeMigrations(join(root, 'prisma/migrations'), migrations)
  const file = join(root, 'dist/db/compatibility.js')
  const [own, raised] = [COMPATIBILITY, number].map((one) => `COMPATIBILITY = ${one};`) as [string, string]
  const text = await readFile(file, 'utf8')
  if (!text.includes(own)) throw new Error(`${file} lacks ${own}`)
  await writeFile(file, text.replace(own, raised))
  return { root, remove: () => rm(root, { recursive: true }) }
}
