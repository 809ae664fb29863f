import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { parse } from 'yaml'
import { endWithTests } from '../harness/children.ts'
import { season } from '../harness/definitions.ts'
import { freePort } from '../harness/free-port.ts'
import { type Service, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

const GRACE_MS = 4_000
/** So many that each instance has some of them. */
const PLAYERS = 12
const METRICS_TOKEN = 'the-metrics-of-tests'
const EVENTS = 'subscription Own { events { cursor } }'
const read = (name: string): string => readFileSync(new URL(`../../ops/proxy/${name}`, import.meta.url), 'utf8')

/** The proxies, with their commands for a configuration in the foreground. */
const PROXIES = [
  {
    name: 'nginx',
    version: ['nginx', '-v'],
    file: 'nginx.conf',
    // The folders of the system belong to its own nginx.
    change: (text: string, folder: string) =>
      `${process.getuid?.() === 0 ? 'user root;\n' : ''}daemon off;\npid ${folder}/pid;\n${text.replace(
        'http {',
        `http {\n access_log off; error_log stderr crit;\n ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}`,
      )}`,
    command: (path: string, folder: string) => ['nginx', '-c', path, '-p', folder, '-e', 'stderr'],
  },
  {
    name: 'HAProxy',
    version: ['haproxy', '-v'],
    file: 'haproxy.cfg',
    change: (text: string) => text,
    command: (path: string) => ['haproxy', '-db', '-f', path],
  },
] as const

const isMissing = ([command, option]: readonly [string, string]) => spawnSync(command, [option]).status !== 0

let world: World
let env: Readonly<Record<string, string>>

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season', season())
  env = { ...world.env, SHUTDOWN_GRACE_MS: String(GRACE_MS), TRUSTED_PROXIES: '1', METRICS_TOKEN }
})
afterAll(async () => {
  await world?.close()
})

describe.each(PROXIES)('$name with the configuration of ops/proxy', ({ name, version, file, change, command }) => {
  const missing = isMissing(version) ? `SKIPPED, ${name} is not installed: ` : ''
  let folder: string
  let proxy: ChildProcess
  let baseUrl: string
  const instances: Service[] = []

  beforeAll(async () => {
    if (missing !== '') return
    instances.push(...(await Promise.all([startService(env), startService(env)])))
    folder = await mkdtemp(join(tmpdir(), 'tierway-proxy-'))
    const port = await freePort()
    baseUrl = `http://127.0.0.1:${port}`
    const text = instances.reduce(
      (changed, instance, index) => changed.replace(`tierway-${index + 1}:4000`, new URL(instance.baseUrl).host),
      read(file).replace(/(listen|bind) :?8080/, `$1 127.0.0.1:${port}`),
    )
    const path = join(folder, file)
    await writeFile(path, change(text, folder))
    const [program = '', ...options] = command(path, folder)
    proxy = spawn(program, options, { stdio: 'ignore' })
    endWithTests(proxy)
    await until(`${name} serves`, () =>
      fetch(`${baseUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
  })
  afterAll(async () => {
    if (proxy) {
      const ended = new Promise((resolve) => proxy.once('exit', resolve))
      proxy.kill('SIGTERM')
      await ended
    }
    for (const instance of instances) await stopService(instance)
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  const post = (path: string, token: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify(body),
    })

  it.skipIf(missing !== '')(`${missing}fails no call while both instances restart one after another`, async () => {
    const players = await Promise.all(Array.from({ length: PLAYERS }, () => world.player('season')))
    const failures: string[] = []
    let isOver = false
    const play = async ({ token, runId }: (typeof players)[number]) => {
      let xp = 0
      while (!isOver) {
        const pass = { scenarioId: 'season', nodeId: 'pass', runId }
        const key = { 'idempotency-key': `grant-${xp}` }
        for (const answer of [
          await post('/sdk/v1/battlepass/xp', token, { ...pass, amount: 1, source: '' }, key).catch(String),
          await fetch(`${baseUrl}/livez`).catch(String),
        ])
          if (typeof answer === 'string' || !answer.ok)
            failures.push(typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`)
          else await answer.text()
        xp += 1
      }
      return xp
    }
    const playing = players.map(play)
    for (const [index, instance] of instances.entries()) {
      instance.kill('SIGTERM')
      expect(await instance.exited).toEqual({ code: 0, signal: null })
      instances[index] = await startService({ ...env, PORT: new URL(instance.baseUrl).port })
      // An orchestrator stops the next one once this one is in use again.
      await until('the proxy sends calls to the new process', () => hasCalls(instances[index] as Service))
    }
    isOver = true
    const granted = await Promise.all(playing)
    expect(failures).toEqual([])
    for (const [index, { token, runId }] of players.entries()) {
      const progress = await post('/sdk/v1/battlepass/progress', token, { scenarioId: 'season', nodeId: 'pass', runId })
      expect(await progress.json()).toMatchObject({ xp: granted[index] })
    }
  })

  it.skipIf(missing !== '')(`${missing}passes WebSockets and event streams at once`, async () => {
    const { token, runId } = await world.player('season')
    const client = createClient({
      url: `${baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${token}` },
      retryAttempts: 0,
    })
    const overSocket = client.iterate({ query: EVENTS })
    const heard = overSocket.next()
    const stream = await post('/graphql', token, { query: EVENTS }, { accept: 'text/event-stream' })
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    const streamed = (async () => {
      let text = ''
      while (!text.includes('"cursor"')) text += (await reader?.read())?.value ?? ''
      return text
    })()
    let isHeard = false
    const both = Promise.all([heard, streamed]).then((all) => {
      isHeard = true
      return all
    })
    await until('both hear an event', async () => {
      const grant = { scenarioId: 'season', nodeId: 'pass', runId, amount: 1, source: '' }
      expect((await post('/sdk/v1/battlepass/xp', token, grant)).status).toBe(200)
      return isHeard
    })
    expect((await both)[0].value?.errors).toBeUndefined()
    await reader?.cancel()
    await overSocket.return?.()
    await client.dispose()
  })
})

it('the configuration for Envoy can be read, and says that it was not tried', () => {
  const text = read('envoy.yaml')
  expect(Object.keys(parse(text, { merge: true }).static_resources)).toEqual(['listeners', 'clusters'])
  expect(text).toContain('NOT TRIED')
})

async function hasCalls({ baseUrl }: Service): Promise<boolean> {
  const answer = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return (await answer.text()).includes('tierway_http_requests_total{route="/sdk/v1/battlepass/xp",status="200"}')
}
