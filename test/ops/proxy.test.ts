import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { endWithTests } from '../harness/children.ts'
import { season } from '../harness/definitions.ts'
import { freePort } from '../harness/free-port.ts'
import { without } from '../harness/needs.ts'
import { type Service, startService, stopService, type World, type WorldPlayer } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

const GRACE_MS = 4_000
/** So many that each instance has some of them. The number is odd: a proxy that takes instances in turn changes a player's. */
const PLAYERS = 13
/** Calls of each player in a round. */
const TURNS = 8
/** The share of calls on remembered rows. With calls in turn, it is nearly none. */
const STAY = 0.95
/** So many calls that both instances have some of them. */
const SPREAD = 40
/** The pause of a player between two calls while instances restart. */
const REST_MS = 60
const METRICS_TOKEN = 'the-metrics-of-tests'
const EVENTS = 'subscription Own { events { cursor } }'
const read = (name: string): string => readFileSync(new URL(`../../ops/proxy/${name}`, import.meta.url), 'utf8')

/** The proxies, with their commands for a configuration in the foreground. */
const PROXIES = [
  {
    name: 'nginx',
    program: 'nginx',
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
    program: 'haproxy',
    file: 'haproxy.cfg',
    change: (text: string) => text,
    command: (path: string) => ['haproxy', '-db', '-f', path],
  },
] as const

let world: World
let env: Readonly<Record<string, string>>
const instances: Service[] = []

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season', season())
  env = { ...world.env, SHUTDOWN_GRACE_MS: String(GRACE_MS), TRUSTED_PROXIES: '1', METRICS_TOKEN }
  instances.push(...(await Promise.all([startService(env), startService(env)])))
})
afterAll(async () => {
  for (const instance of instances) await stopService(instance)
  await world?.close()
})

describe.each(PROXIES)('$name with the configuration of ops/proxy', ({ name, program, file, change, command }) => {
  const missing = without(program)
  let folder: string
  let proxy: ChildProcess
  let baseUrl: string

  beforeAll(async () => {
    if (missing !== '') return
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
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  const post = (path: string, token: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify(body),
    })

  /** Adds 1 xp. */
  const grant = ({ token, runId }: WorldPlayer, headers: Record<string, string> = {}) =>
    post(
      '/sdk/v1/battlepass/xp',
      token,
      { scenarioId: 'season', nodeId: 'pass', runId, amount: 1, source: '' },
      headers,
    )

  /** Plays until nearly all calls of a round are decided on remembered rows, on both instances. Gives the calls. */
  async function untilTheyStay(players: readonly WorldPlayer[]): Promise<number> {
    let rounds = 0
    await until('players stay with an instance', async () => {
      const before = await Promise.all(instances.map(commandsOf))
      for (let turn = 0; turn < TURNS; turn += 1)
        for (const answer of await Promise.all(players.map((player) => grant(player)))) expect(answer.status).toBe(200)
      rounds += 1
      const after = await Promise.all(instances.map(commandsOf))
      const [memory = [], all = []] = (['memory', 'all'] as const).map((path) =>
        after.map((commands, index) => commands[path] - (before[index]?.[path] ?? 0)),
      )
      expect(sum(all)).toBe(TURNS * players.length)
      return sum(memory) >= STAY * sum(all) && !all.includes(0)
    })
    return rounds * TURNS
  }

  it.skipIf(missing !== '')(
    `${missing}keeps players with an instance, also after both have restarted one after another, and fails no call`,
    async () => {
      const players = await Promise.all(Array.from({ length: PLAYERS }, () => world.player('season')))
      const before = await untilTheyStay(players)
      const failures: string[] = []
      let isOver = false
      const play = async (player: WorldPlayer) => {
        let xp = 0
        for (; !isOver; xp += 1) {
          await pause(REST_MS)
          for (const answer of [
            await grant(player, { 'idempotency-key': `grant-${xp}` }).catch(String),
            await fetch(`${baseUrl}/livez`).catch(String),
          ])
            if (typeof answer === 'string' || !answer.ok)
              failures.push(typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`)
            else await answer.text()
        }
        return xp
      }
      const playing = players.map(play)
      for (const [index, instance] of instances.entries()) {
        instance.kill('SIGTERM')
        expect(await instance.exited).toEqual({ code: 0, signal: null })
        const next = await startService({ ...env, PORT: new URL(instance.baseUrl).port })
        instances[index] = next
        // An orchestrator stops the next one once this one is in use again.
        await until('the proxy sends calls to the new process', async () => (await commandsOf(next)).all > 0)
      }
      isOver = true
      const meanwhile = await Promise.all(playing)
      expect(failures).toEqual([])
      const after = await untilTheyStay(players)
      for (const [index, { token, runId }] of players.entries()) {
        const place = { scenarioId: 'season', nodeId: 'pass', runId }
        const progress = await post('/sdk/v1/battlepass/progress', token, place)
        expect(await progress.json()).toMatchObject({ xp: before + (meanwhile[index] ?? 0) + after })
      }
    },
  )

  it.skipIf(missing !== '')(`${missing}spreads calls and WebSockets without a player's token`, async () => {
    const counts = async (name: string, before: readonly number[] = []) =>
      (await Promise.all(instances.map(metricsOf))).map(
        (metrics, index) => (metrics.get(name) ?? 0) - (before[index] ?? 0),
      )
    for (const [path, headers, status] of [
      ['/sdk/v1/authorization/refresh', { 'x-sdk-key': 'twsdk_unknown' }, 401],
      ['/server/v1/battlepass/xp', { authorization: 'Bearer twsrv_one-for-all-servers-of-a-game' }, 401],
    ] as const) {
      const counter = `tierway_http_requests_total{route="${path}",status="${status}"}`
      const before = await counts(counter)
      const answers = await Promise.all(
        Array.from({ length: SPREAD }, () => fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: '{}' })),
      )
      for (const answer of answers) expect([path, answer.status]).toEqual([path, status])
      const reached = await counts(counter, before)
      expect([path, sum(reached), reached.includes(0)]).toEqual([path, SPREAD, false])
    }
    // A browser sends no header of its own with a WebSocket: the token follows in a message.
    const url = `${baseUrl.replace('http', 'ws')}/graphql`
    const sockets = Array.from({ length: SPREAD }, () => new WebSocket(url, 'graphql-transport-ws'))
    await Promise.all(sockets.map((socket) => once(socket, 'open')))
    const open = await counts('tierway_sockets')
    expect([sum(open), open.includes(0)]).toEqual([SPREAD, false])
    for (const socket of sockets) socket.terminate()
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

/** The samples of an instance by their names with labels. */
async function metricsOf({ baseUrl }: Service): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  const samples = [...(await answer.text()).matchAll(/^(tierway_\S+) (\S+)$/gm)]
  return new Map(samples.map(([, name = '', value]) => [name, Number(value)]))
}

/** The calls that an instance decided: on remembered rows, and in total. */
async function commandsOf(instance: Service): Promise<{ memory: number; all: number }> {
  const metrics = await metricsOf(instance)
  const of = (path: string) => metrics.get(`tierway_commands_total{kind="write",path="${path}"}`) ?? 0
  return { memory: of('memory'), all: of('memory') + of('transaction') }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
