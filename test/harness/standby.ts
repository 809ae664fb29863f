import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endWithTests } from './children.ts'
import { freePort } from './free-port.ts'
import { execute } from './sql.ts'
import { bin, NOBODY } from './system-postgres.ts'
import { until } from './until.ts'

/** A streaming standby, which serves reads. */
export interface Standby {
  readonly url: string
  /** Kills its first process. The others end with it. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** Starts a standby of a {@link startSystemPostgres}. It streams from the port, which may be that of a relay. */
export async function startStandby(name: string, upstreamPort: number): Promise<Standby> {
  const home = await mkdtemp(join(tmpdir(), 'tierway-standby-'))
  if (NOBODY.uid !== undefined) await chown(home, NOBODY.uid, NOBODY.gid)
  await chmod(home, 0o700)
  const data = join(home, 'data')
  const from = ['-h', '127.0.0.1', '-p', String(upstreamPort), '-U', name]
  // Not `spawnSync`: the relay is in this process.
  const copy = spawn(join(bin ?? '', 'pg_basebackup'), [...from, '-D', data, '-R', '-X', 'stream', '-c', 'fast'], {
    ...NOBODY,
    cwd: home,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const code = await new Promise((resolve) => copy.once('exit', resolve))
  if (code !== 0) throw new Error(`pg_basebackup ended with ${code}`)
  const port = await freePort()
  const url = `postgres://${name}@127.0.0.1:${port}/${name}`
  // Replay ends the statements that are in its way at once.
  const settings = [
    'fsync=off',
    'max_standby_streaming_delay=0',
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
  ]
  let child: ChildProcess

  function launch(): void {
    child = spawn(join(bin ?? '', 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
      ...NOBODY,
      cwd: home,
      stdio: 'ignore',
    })
    endWithTests(child)
  }
  async function start(): Promise<void> {
    launch()
    await until('the standby accepts connections', () => {
      // It does not start while processes of one that was killed are still there.
      if (child.exitCode !== null) launch()
      return execute(url, 'SELECT 1').then(
        () => true,
        () => false,
      )
    })
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }

  await start()
  return {
    url,
    kill: () => end('SIGKILL'),
    start,
    async stop() {
      await end('SIGQUIT')
      await rm(home, { recursive: true, force: true })
    },
  }
}
