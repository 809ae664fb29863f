import { execFile } from 'node:child_process'
import { chmod, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onEnd } from './processes.ts'

/** Makes the flushes of a Postgres take longer. */
export interface SlowFlush {
  /** The server's environment variables. */
  readonly env: Readonly<Record<string, string>>
  /** How it is done, for people. */
  readonly how: string
  set(milliseconds: number): Promise<void>
}

/**
 * A library that is compiled and preloaded. Without a compiler, `commit_delay` of Postgres stands in: it waits before a
 * flush instead of in it, so that commits that come meanwhile share that flush.
 */
export async function createSlowFlush(query: (text: string) => Promise<void>): Promise<SlowFlush> {
  const folder = await mkdtemp(join(tmpdir(), 'tierway-slow-flush-'))
  onEnd(() => rm(folder, { recursive: true, force: true }))
  // Postgres may run as another user.
  await chmod(folder, 0o755)
  const library = join(folder, 'slow-flush.so')
  const source = fileURLToPath(new URL('slow-flush.c', import.meta.url))
  const isCompiled =
    process.platform === 'linux' &&
    (await promisify(execFile)('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl']).then(
      () => true,
      () => false,
    ))
  if (!isCompiled) {
    return {
      env: {},
      how: 'commit_delay, as there is no C compiler',
      async set(milliseconds) {
        await query(`ALTER SYSTEM SET commit_delay = ${milliseconds * 1_000}`)
        await query('ALTER SYSTEM SET commit_siblings = 0')
        await query('SELECT pg_reload_conf()')
      },
    }
  }
  const path = join(folder, 'microseconds')
  const file = await open(path, 'w+')
  await file.write(Buffer.alloc(4), 0, 4, 0)
  await file.chmod(0o644)
  onEnd(() => file.close())
  return {
    env: { LD_PRELOAD: library, SLOW_FLUSH: path },
    how: 'a preloaded fdatasync that sleeps',
    async set(milliseconds) {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32LE(milliseconds * 1_000)
      await file.write(bytes, 0, 4, 0)
    },
  }
}
