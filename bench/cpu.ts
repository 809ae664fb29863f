import { readFile } from 'node:fs/promises'

// CPU time and memory of a process and its descendants, from /proc of Linux. On a busy machine CPU time is steadier
// than calls a second.

/** Linux counts CPU time in hundredths of a second, on every machine. */
const TICK_MICROSECONDS = 10_000
/** Children start and end while their times are read. */
const ATTEMPTS = 20

/**
 * CPU time of these processes, their threads and their children, including ended ones, in microseconds. Null where it
 * cannot be measured.
 */
export async function cpuOf(pids: readonly number[]): Promise<number | null> {
  if (process.platform !== 'linux') return null
  let ticks = 0
  for (const pid of pids) ticks += await ticksOfTree(pid)
  return ticks * TICK_MICROSECONDS
}

async function ticksOfTree(pid: number): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await read(pid)
    try {
      let ticks = before.own
      for (const child of await childrenOf(pid)) ticks += await ticksOfTree(child)
      const after = await read(pid)
      // A child that ends meanwhile moves its time to its parent, where it may be missed or counted twice: read again.
      if (after.ended === before.ended || attempt === ATTEMPTS) return ticks + after.ended
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if ((code !== 'ENOENT' && code !== 'ESRCH') || attempt === ATTEMPTS) throw error
    }
  }
}

/** The ticks of a process with its threads, and of its children that have ended. */
async function read(pid: number): Promise<{ own: number; ended: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The program's name is in parentheses and can contain any character; the third field and all others follow it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number)
  return { own: user + system, ended: endedUser + endedSystem }
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(' ').filter(Boolean).map(Number)
}

/** The resident memory of a process and its children, in bytes. */
export async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  let bytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
  for (const child of await childrenOf(pid)) bytes += await memoryOf(child)
  return bytes
}
