import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/harness/free-port.ts'
import { until } from '../test/harness/until.ts'
import { onEnd, pidOf, type Server } from './processes.ts'

export const hasHaproxy = (): boolean => spawnSync('haproxy', ['-v']).status === 0

/** HAProxy with the configuration of `ops/proxy` before two servers. */
export async function startHaproxy(servers: readonly Server[]): Promise<Server> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'tierway-bench-haproxy-'))
  onEnd(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'haproxy.cfg')
  const text = await readFile(new URL('../ops/proxy/haproxy.cfg', import.meta.url), 'utf8')
  const changed = servers.reduce(
    (all, server, index) => all.replace(`tierway-${index + 1}:4000`, `127.0.0.1:${server.port}`),
    text.replace('bind :8080', `bind 127.0.0.1:${port}`),
  )
  await writeFile(path, changed)
  const child = spawn('haproxy', ['-db', '-f', path], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  onEnd(stop)
  await until('HAProxy serves', async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy ended with ${child.exitCode}`)
    return fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return { port, pid: pidOf(child), stop }
}
