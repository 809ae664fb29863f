import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildService } from './service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A later version of the service: this one with one more migration. */
export interface NextVersion {
  readonly root: string
  readonly migration: string
  remove(): Promise<void>
}

export async function createNextVersion(sql: string): Promise<NextVersion> {
  await buildService()
  const root = await mkdtemp(join(tmpdir(), 'tierway-next-'))
  const migration = '20991231000000_next'
  // Not links: the service finds its migrations relative to its own files.
  for (const folder of ['dist', 'prisma', 'docs', 'examples'])
    await cp(join(ROOT, folder), join(root, folder), { recursive: true })
  await cp(join(ROOT, 'package.json'), join(root, 'package.json'))
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  await mkdir(join(root, 'prisma/migrations', migration))
  await writeFile(join(root, 'prisma/migrations', migration, 'migration.sql'), sql)
  return { root, migration, remove: () => rm(root, { recursive: true }) }
}
