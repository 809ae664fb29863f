import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onEnd } from './processes.ts'

/** With more clients, pgbench does fewer transactions: they wait for each other. */
const MOST_CLIENTS = 64

export interface Pgbench {
  /** Runs the script with this name: one prepared statement a transaction. */
  run(script: string, clients: number, seconds: number): Promise<{ perSecond: number; medianMs: number }>
}

export const clientsFor = (connections: number): number => Math.min(connections, MOST_CLIENTS)

/** Measures the database alone. Undefined when pgbench is not on the PATH. */
export async function findPgbench(url: string, scripts: Record<string, string>): Promise<Pgbench | undefined> {
  const execute = promisify(execFile)
  const found = await execute('pgbench', ['--version']).then(
    () => true,
    () => false,
  )
  if (!found) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'tierway-bench-'))
  onEnd(() => rm(directory, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(scripts)) await writeFile(join(directory, name), text)
  const { hostname, port, username, password, pathname } = new URL(url)
  const env = { ...process.env, PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password }

  return {
    async run(script, connections, seconds) {
      const clients = clientsFor(connections)
      const flags = ['-n', '-M', 'prepared', '-f', join(directory, script), '-c', String(clients)]
      const threads = ['-j', String(Math.min(2, clients))]
      // The time of pgbench includes the time in which its clients connect, which can be all of it.
      for (let time = Math.ceil(seconds + clients / 60); ; time *= 2) {
        const { stdout } = await execute('pgbench', [...flags, ...threads, '-T', String(time), pathname.slice(1)], {
          env,
        })
        const read = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? Number.NaN)
        // pgbench prints only the mean.
        const figures = { perSecond: read(/tps = ([\d.]+)/), medianMs: read(/latency average = ([\d.]+)/) }
        if (figures.perSecond > 0 && figures.medianMs > 0) return figures
        if (time > 20) throw new Error(`pgbench printed no figures:\n${stdout}`)
      }
    },
  }
}
