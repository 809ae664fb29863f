import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

let dataDir: string
let first: ChildProcess | undefined
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tierway-serve-'))
})
afterAll(async () => {
  if (first && first.exitCode === null) {
    const closed = once(first, 'close')
    first.kill('SIGTERM')
    await closed
  }
  await rm(dataDir, { recursive: true, force: true })
})

function start(port: string): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', 'src/server.ts'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, TIERWAY_DATA_DIR: dataDir, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

test('a second start in the same folder says that the port is taken, and leaves the first one its database', async () => {
  first = start('0')
  let said = ''
  for await (const chunk of first.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    said += chunk
    if (said.includes('ready at http')) break
  }
  first.stdout?.resume()
  const [, baseUrl = '', port = ''] = /ready at (http:\/\/[\d.]+:(\d+))/.exec(said) ?? []
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200)

  const second = start(port)
  let error = ''
  second.stderr?.on('data', (chunk) => {
    error += chunk
  })
  second.stdout?.resume()
  expect(await once(second, 'close')).toEqual([1, null])
  expect(error).toContain(`PORT ${port} is in use`)
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200)
}, 60_000)
