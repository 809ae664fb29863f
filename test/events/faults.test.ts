import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { scenario } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { withoutRedis } from '../harness/redis.ts'
import { atScale } from '../harness/scale.ts'
import { post, type Service } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { positionOf } from './cursors.ts'
import {
  climb,
  createFleet,
  type Fleet,
  type Listener,
  listen,
  metric,
  range,
  ready,
  stream,
  subscribed,
} from './fleet.ts'

const AWAY_MS = 10_000
/** Events around the time in which Redis is down, and their subscribers. */
const AWAY = { events: atScale(2_000, 300), subscribers: atScale(100, 20) }
const KILLS = atScale(50, 4)
const STALLED_EVENTS = atScale(20_000, 8_000)
/** Without Redis, events arrive up to a second late. The rest is for a busy machine. */
const LATE_MS = 4_000
const MB = 2 ** 20
const WRITER = fileURLToPath(new URL('writer.mjs', import.meta.url))

const becomes = (status: string, instances: readonly Service[]): Promise<void> =>
  until(`all are ${status}`, async () => {
    const health = await Promise.all(instances.map(ready))
    return health.every(({ body }) => body.status === status)
  })

describe.skipIf(withoutRedis !== '')(`${withoutRedis}subscriptions on two instances that start without Redis`, () => {
  let fleet: Fleet
  let instances: readonly [Service, Service]
  let isRedisUp = false
  const opened: Listener[] = []

  beforeAll(async () => {
    fleet = await createFleet()
    await fleet.redis.kill()
    instances = await Promise.all([fleet.start(), fleet.start()])
  })
  afterEach(async () => {
    for (const listener of opened.splice(0)) listener.terminate()
    await Promise.all(instances.map((instance) => subscribed(instance, 0)))
  })
  afterAll(() => fleet?.close())

  async function bringRedisUp(): Promise<void> {
    if (!isRedisUp) await fleet.redis.restart()
    isRedisUp = true
    await becomes('ready', instances)
  }

  const keep = <L extends Listener>(listener: L): L => {
    opened.push(listener)
    return listener
  }

  it('deliver events once and in order while nothing listens at REDIS_URL, and while Redis forbids to publish and subscribe: instances start, /readyz is degraded, and Redis is used once it is up and allows them (contract 14)', async () => {
    const [a, b] = instances
    const player = await fleet.climber()
    const start = await fleet.end()
    const variables = { environment: 'production', after: fleet.cursorAt(start) }
    const listener = keep(listen(b, { token: fleet.platformKey, variables }))
    await subscribed(b, 1)
    await becomes('degraded', instances)
    for (const _ of times(50, String)) expect((await climb(a, player)).status).toBe(200)
    const sinceLast = startStopwatch()
    await until('all is heard', () => listener.positions.length >= 50)
    expect(sinceLast()).toBeLessThan(LATE_MS)

    await bringRedisUp()
    const channels = async () => ((await fleet.redis.ask('PUBSUB', 'CHANNELS')) as unknown[]).length
    const isSubscribed = () => until('the channel is subscribed to', async () => (await channels()) === 1)
    await isSubscribed()
    const published = async () =>
      Number(/cmdstat_publish:calls=(\d+)/.exec(String(await fleet.redis.ask('INFO', 'commandstats')))?.[1] ?? 0)
    const before = await published()
    for (const round of times(20, (index) => index)) {
      await climb(a, player)
      await until('it is heard', () => listener.positions.length > 50 + round)
    }
    expect((await published()) - before).toBeGreaterThanOrEqual(20)

    // As with a Redis user without channels. Redis disconnects a user that subscribes to a channel and then loses it.
    await fleet.redis.ask('ACL', 'SETUSER', 'default', 'resetchannels')
    await becomes('degraded', instances)
    expect(await channels()).toBe(0)
    for (const _ of times(20, String)) expect((await climb(a, player)).status).toBe(200)
    await listener.heard(90)
    await fleet.redis.ask('ACL', 'SETUSER', 'default', 'allchannels')
    await becomes('ready', instances)
    await isSubscribed()
    for (const _ of times(20, String)) await climb(a, player)
    await listener.heard(110)
    expect(listener.positions).toEqual(range(start + 1, start + 110))
  })

  it(`deliver ${AWAY.events} events to ${AWAY.subscribers} subscribers once and in order while Redis is killed for 10 s, within 2 s of its return, and no mutation fails (contract 14)`, async () => {
    await bringRedisUp()
    const { events: count, subscribers } = AWAY
    const players = await Promise.all(times(20, fleet.climber))
    const start = await fleet.end()
    const variables = { environment: 'production', after: fleet.cursorAt(start) }
    const followers = instances.flatMap((instance) =>
      times(subscribers / 2, () => keep(listen(instance, { token: fleet.platformKey, variables }))),
    )
    await Promise.all(instances.map((instance) => subscribed(instance, subscribers / 2)))

    // The writes are spread evenly, from before Redis is killed until after it has returned.
    const began = performance.now()
    let written = 0
    const work = Promise.all(
      players.map(async (player, index) => {
        for (const round of times(count / players.length, (at) => at)) {
          await pause(began + (round * players.length + index) * ((AWAY_MS * 1.2) / count) - performance.now())
          const { status } = await climb(instances[(round + index) % 2] as Service, player)
          expect(status).toBe(200)
          written += 1
        }
      }),
    )
    // A failure is reported when `work` is awaited. Until then it must not count as an unhandled rejection.
    work.catch(() => undefined)
    await until('the first are written', () => written > count / 20)
    await fleet.redis.kill()
    const killed = performance.now()
    await becomes('degraded', instances)
    await pause(killed + AWAY_MS - performance.now())
    await becomes('degraded', instances)

    await fleet.redis.restart()
    const sinceReturn = startStopwatch()
    const known = written
    await until('what was written is heard', () => followers.every(({ positions }) => positions.length >= known))
    const late = sinceReturn()
    await becomes('ready', instances)
    console.log(`after the return of Redis: all ${known} events heard in ${late.toFixed(0)} ms`)
    expect(late).toBeLessThan(2_000)
    await work
    await until('all is heard', () => followers.every(({ positions }) => positions.length >= count))
    for (const { positions } of followers) expect(positions).toEqual(range(start + 1, start + count))
    expect(instances.map(({ exit }) => exit)).toEqual([undefined, undefined])
  })

  it('survive a freeze of their instance that is longer than the ping timeout, and then deliver the missed events (contract 14)', async () => {
    await bringRedisUp()
    const [frozen, writer] = instances
    const player = await fleet.climber()
    const start = await fleet.end()
    const ask = {
      token: fleet.platformKey,
      variables: { environment: 'production', after: fleet.cursorAt(start) },
    }
    const followers = [keep(listen(frozen, ask)), keep(stream(frozen, ask))]
    const beside = keep(listen(writer, ask))
    await Promise.all([subscribed(frozen, 2), subscribed(writer, 1)])
    frozen.kill('SIGSTOP')
    const stopped = performance.now()
    for (const _ of times(100, String)) expect((await climb(writer, player)).status).toBe(200)
    await beside.heard(100)
    await pause(stopped + 26_000 - performance.now())
    frozen.kill('SIGCONT')
    await Promise.all(followers.map((follower) => follower.heard(100)))
    for (const { positions, closed } of [...followers, beside])
      expect([positions, closed]).toEqual([range(start + 1, start + 100), undefined])
  })

  it(`deliver every committed event once and in order when a writer is killed ${KILLS} times between COMMIT and the signal (contract 14)`, async () => {
    await bringRedisUp()
    const start = await fleet.end()
    const ask = {
      token: fleet.platformKey,
      variables: { environment: 'production', after: fleet.cursorAt(start) },
    }
    const followers = instances.flatMap((reader) =>
      [listen(reader, ask), listen(reader, ask), stream(reader, ask)].map(keep),
    )
    await Promise.all(instances.map((reader) => subscribed(reader, 3)))

    let acknowledged = 0
    const killOften = async (): Promise<void> => {
      for (const _ of times(KILLS / 2, String)) acknowledged += await writeUntilKilled(fleet)
    }
    // Two writers at a time: the unsignalled events of one lie between the events of the other.
    await Promise.all([killOften(), killOften()])
    const stored = await fleet.stored(start)
    expect(stored).toEqual(range(start + 1, start + stored.length))
    // Each killed writer had committed at least one group that it did not acknowledge.
    expect(stored.length - acknowledged).toBeGreaterThanOrEqual(KILLS)
    await until('all is heard', () => followers.every(({ positions }) => positions.length >= stored.length))
    for (const { positions } of followers) expect(positions).toEqual(stored)
  })

  it(`disconnect stalled readers (1013) during ${STALLED_EVENTS} events: 24 others lose nothing, memory is bounded, and the stalled ones continue from their cursor (contract 14)`, async () => {
    await bringRedisUp()
    const count = STALLED_EVENTS
    const perRun = 100
    // Long names, so that the backlog of one slow reader would be tens of megabytes.
    const gift = (index: number) => `gift-${index}-${'x'.repeat(100)}`
    const gifts = times(perRun - 1, (index) => ({
      id: gift(index),
      type: 'reward',
      data: { rewards: [{ currency: 'gold', amount: 1 }] },
    }))
    const edges = gifts.map(({ id }) => ({ from: 'start', handle: 'onStart', to: id }))
    await fleet.world.publish('cascade', scenario(gifts, edges))
    const [writer, reader] = instances
    const players = await Promise.all(times(4, fleet.climber))
    const start = await fleet.end()
    const after = { environment: 'production', after: fleet.cursorAt(start) }
    const ask = { token: fleet.platformKey, variables: after }

    const all = times(4, () => keep(listen(reader, ask)))
    // Each of these receives the events of one node only: a small machine could not receive a million messages.
    const query = `subscription ($environment: String, $after: String, $nodeId: String) {
        events(environment: $environment, after: $after, nodeId: $nodeId) { cursor } }`
    const some = times(20, (index) =>
      keep(listen(reader, { ...ask, query, variables: { ...after, nodeId: gift(index) } })),
    )
    const wide = `subscription ($environment: String, $after: String) {
        events(environment: $environment, after: $after) { cursor
          ${times(15, (index) => `a${index}: nodeId`).join(' ')} } }`
    const slow = times(8, () => listen(reader, { ...ask, query: wide }))
    const slowStreams = times(8, () => stallingStream(reader, { ...ask, query: wide }))
    const readers = all.length + some.length
    await subscribed(reader, readers + slow.length + slowStreams.length)
    for (const socket of slow) socket.pause()

    const memory = () => metric(reader, 'process_resident_memory_bytes')
    const before = await memory()
    let highest = before
    let watching = true
    const watch = (async () => {
      for (; watching; await pause(250)) highest = Math.max(highest, await memory())
    })()
    await Promise.all(
      players.map(async (player) => {
        for (const _ of times(count / perRun / players.length, String)) {
          const answer = await post(writer, '/sdk/v1/scenarios/start', player.token, { scenarioId: 'cascade' })
          expect(answer.status).toBe(200)
        }
      }),
    )
    const written = performance.now()
    const runs = count / perRun
    await until('the others have heard all', () =>
      [
        ...all.map(({ positions }) => positions.length / count),
        ...some.map(({ positions }) => positions.length / runs),
      ].every((share) => share >= 1),
    )
    for (const { positions } of all) expect(positions).toEqual(range(start + 1, start + count))
    for (const { positions } of some) expect(new Set(positions).size).toBe(runs)

    await until(
      'the streams are let go',
      async () => (await metric(reader, 'tierway_subscriptions')) === readers + slow.length,
    )
    // A paused socket does not see its close, which is due after ten seconds, plus a check each second.
    await pause(written + 13_000 - performance.now())
    watching = false
    await watch
    for (const late of [...slow, ...slowStreams]) late.resume()
    await until('all have ended', () => slow.every(({ closed }) => closed) && slowStreams.every(({ ended }) => ended))
    for (const { closed } of slow) expect(closed).toEqual({ code: 1013, reason: 'too slow' })
    const had = [...slow, ...slowStreams].map(({ positions }) => positions.length)
    console.log(
      `memory grew by ${((highest - before) / MB).toFixed(0)} MB from ${(before / MB).toFixed(0)} MB; the slow had ${Math.min(...had)} to ${Math.max(...had)} events when they were closed`,
    )
    expect(Math.max(...had)).toBeLessThan(count)
    // The whole backlog of the slow readers would take at least half as much again. Others that fall behind for a
    // while hold a page each.
    expect(highest - before).toBeLessThan((count / 50) * MB)

    for (const { positions } of [...slow.slice(0, 1), ...slowStreams.slice(0, 1)]) {
      const end = fleet.cursorAt(positions.at(-1) ?? start)
      const rests = [
        keep(listen(reader, { ...ask, variables: { ...after, after: end } })),
        keep(stream(reader, { ...ask, lastEventId: end })),
      ]
      for (const rest of rests) {
        await until('it has all', () => positions.length + rest.positions.length >= count)
        expect([...positions, ...rest.positions]).toEqual(range(start + 1, start + count))
      }
    }
  })
})

/** Runs a process that writes until it kills itself. Returns how many of its events were acknowledged. */
async function writeUntilKilled({ world, redis, environmentId }: Fleet): Promise<number> {
  const child = spawn(process.execPath, [WRITER], {
    env: {
      ...world.env,
      REDIS_URL: redis.url,
      ENVIRONMENT_ID: environmentId,
      LAST_GROUP: String(1 + Math.floor(Math.random() * 10)),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const [, signal] = await once(child, 'close')
  expect([signal, errors]).toEqual(['SIGKILL', ''])
  return output.length
}

/** A stream of server-sent events whose response is not read before `resume`. */
function stallingStream(
  { baseUrl }: Service,
  { token, query, variables }: { token: string; query: string; variables: Record<string, unknown> },
) {
  const positions: number[] = []
  let response: IncomingMessage | undefined
  let ended = false
  const call = request(`${baseUrl}/graphql`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
  })
  call.on('response', (answer) => {
    response = answer
    answer.on('error', () => undefined)
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify({ query, variables }))

  function resume(): void {
    let text = ''
    response?.on('data', (chunk) => {
      const frames = (text + chunk).split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const cursor = /^id: (.*)$/m.exec(frame)?.[1]
        if (cursor !== undefined) positions.push(positionOf(cursor))
      }
    })
    response?.on('close', () => {
      ended = true
    })
  }

  return {
    positions,
    resume,
    get ended() {
      return ended
    },
  }
}
