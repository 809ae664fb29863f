import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'

// Faults of the machine that people meet at a start: each has a sentence, and the command that mends it.

/** A start that cannot succeed as things are. The message is for people: the cause, and what to type. */
export class StartFault extends Error {}

const IS_FULL = /No space left on device|Disk quota exceeded/i

/**
 * The fault of files that is behind an error, or behind its cause. Undefined for any other error. `hasDatabase` says
 * whether the database is in the data directory, too.
 */
export async function faultOfFiles(
  error: unknown,
  dataDir: string,
  hasDatabase = true,
): Promise<StartFault | undefined> {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof StartFault) return each
    const { code, path, syscall } = each as NodeJS.ErrnoException
    if (!hasDatabase && code === '53100')
      return new StartFault('the disk of Postgres is full. Free some space there, and start again.')
    if (code === 'ENOSPC' || code === 'EDQUOT' || IS_FULL.test(each.message)) {
      return new StartFault(
        `the disk of ${dataDir} is full. Free some space there, or set TIERWAY_DATA_DIR to a folder on another disk. To see the space, type: df -h ${dataDir}`,
      )
    }
    if (code === 'EROFS') {
      return new StartFault(`${dataDir} cannot be written. Set TIERWAY_DATA_DIR to a folder that can be.`)
    }
    const isOfFile = path !== undefined && syscall !== 'spawn' && syscall !== 'listen'
    if (isOfFile && (code === 'EACCES' || code === 'EPERM')) return foreign(await firstOf(path), dataDir)
  }
  return undefined
}

/** The fault of a folder that this process must not use. */
function foreign({ path, owner }: { path: string; owner: number | undefined }, dataDir: string): StartFault {
  const user = process.getuid?.()
  if (owner === undefined || user === undefined || owner === user)
    return new StartFault(
      `this user has no right to ${path}. Give it the right, or set TIERWAY_DATA_DIR to a folder of its own. To give it, type: chmod -R u+rwX ${path}`,
    )
  return new StartFault(
    `${path} belongs to user ${owner}, and this process runs as user ${user}. Set TIERWAY_DATA_DIR to a folder of this user, or make it the owner. To do so, type: sudo chown -R ${user} ${dataDir}`,
  )
}

/** The first of a path and the folders above it that can be seen, and its owner. */
async function firstOf(path: string): Promise<{ path: string; owner: number | undefined }> {
  for (let at = path; ; at = dirname(at)) {
    const found = await stat(at).catch(() => undefined)
    if (found) return { path: at, owner: found.uid }
    if (at === dirname(at)) return { path, owner: undefined }
  }
}
