import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { climb, createFleet, type Fleet, listen, range, ready, stream, subscribed } from '../events/fleet.ts'
import { times } from '../harness/game.ts'
import { withoutRedis } from '../harness/redis.ts'
import { type Service, stopService, type WorldPlayer } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

/** The limit of a client address per hour. */
const LOGINS = 4
/** Longer than a login waits for Redis, and shorter than the timeout of a connection to Redis. */
const SLOW_MS = 400

/** Events arrive up to a second late. A call that waited for Redis would take longer. The rest is for a busy machine. */
const LATE_MS = 4_000

const faults = [
  {
    title: 'is cut off',
    begin: (proxy: TcpProxy) => proxy.cut({ refuse: true }),
    end: (proxy: TcpProxy) => proxy.restore(),
    status: 'degraded',
  },
  {
    title: 'accepts connections and never answers',
    begin: (proxy: TcpProxy) => proxy.pause(),
    end: (proxy: TcpProxy) => proxy.resume(),
    status: 'degraded',
  },
  {
    title: 'is slow',
    begin: (proxy: TcpProxy) => proxy.delay(SLOW_MS),
    end: (proxy: TcpProxy) => proxy.delay(0),
    // It delivers signals late.
    status: 'ready',
  },
] as const

describe.skipIf(withoutRedis !== '')(`${withoutRedis}a Redis`, () => {
  let fleet: Fleet
  let proxy: TcpProxy
  let instances: [Service, Service]
  let players: readonly WorldPlayer[]

  beforeAll(async () => {
    fleet = await createFleet()
    proxy = await startTcpProxy(() => fleet.redis.url)
    instances = await Promise.all([fleet.start(env()), fleet.start(env())])
    players = await Promise.all(times(4, fleet.climber))
  })
  afterAll(async () => {
    await fleet?.close()
    await proxy?.close()
  })

  const env = () => ({
    REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
    RATE_LIMITS: `login=${LOGINS}/h`,
    // Each login names the address that it comes from.
    TRUSTED_PROXIES: '1',
  })

  const becomes = (status: string) =>
    until(`both are ${status}`, async () => {
      const health = await Promise.all(instances.map(ready))
      return health.every((one) => one.status === 200 && one.body.status === status)
    })

  /** Raises each player by `rounds` levels, on these instances in turn. */
  async function write(rounds: number, on: readonly Service[] = instances): Promise<void> {
    await Promise.all(
      players.map(async (player, index) => {
        for (const round of times(rounds, (at) => at)) {
          const elapsed = startStopwatch()
          expect((await climb(on[(index + round) % on.length] as Service, player)).status).toBe(200)
          expect(elapsed()).toBeLessThan(LATE_MS)
        }
      }),
    )
  }

  const newAddress = (): string => `198.18.${randomInt(256)}.${randomInt(256)}`

  /** The status of a login without a key: 401, or 429 beyond the limit of its address. */
  async function login({ baseUrl }: Service, address: string): Promise<number> {
    const response = await fetch(`${baseUrl}/sdk/v1/authorization/custom`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: '{"customData":{}}',
    })
    await response.text()
    return response.status
  }

  /** The status of one more login on each instance, once the first has counted the whole limit of an address. */
  async function oneMore(): Promise<number[]> {
    const [first, second] = instances
    const address = newAddress()
    for (const _ of times(LOGINS, String)) expect(await login(first, address)).toBe(401)
    return [await login(first, address), await login(second, address)]
  }

  it.each(faults.map((fault) => [fault.title, fault] as const))(
    'that %s loses and repeats no event, lets each instance count logins alone, and sets the /readyz status (contract 14)',
    async (_title, { begin, end, status }) => {
      await becomes('ready')
      const start = await fleet.end()
      const ask = { token: fleet.platformKey, variables: { environment: 'production', after: fleet.cursorAt(start) } }
      const listeners = instances.flatMap((instance) => [listen(instance, ask), stream(instance, ask)])
      await Promise.all(instances.map((instance) => subscribed(instance, 2)))
      const hear = (count: number) => Promise.all(listeners.map((listener) => listener.heard(count)))
      await write(5)
      await hear(20)
      expect(await oneMore()).toEqual([429, 429])

      begin(proxy)
      await write(5)
      await becomes(status)
      await write(2)
      await hear(48)
      // An instance that writes itself notices the events that it lacks. The other one must look for them.
      const waits: number[] = []
      for (const events of [52, 56, 60]) {
        const elapsed = startStopwatch()
        await write(1, [instances[0]])
        await hear(events)
        waits.push(elapsed())
      }
      expect(Math.min(...waits)).toBeLessThan(LATE_MS)
      expect(await oneMore()).toEqual([429, 401])
      // A new subscription, and a new instance.
      const third = await fleet.start(env())
      const late = [listen(instances[1], ask), listen(third, ask)]
      await Promise.all(late.map((listener) => listener.heard(60)))
      await becomes(status)

      end(proxy)
      await becomes('ready')
      await write(5)
      await Promise.all([hear(80), ...late.map((listener) => listener.heard(80))])
      await until('logins are counted together again', async () => (await oneMore())[1] === 429)
      for (const { positions, errors } of [...listeners, ...late])
        expect([positions, errors]).toEqual([range(start + 1, start + 80), []])
      for (const listener of [...listeners, ...late]) listener.terminate()
      await Promise.all(instances.map((instance) => subscribed(instance, 0)))
      expect(instances.map(({ exit }) => exit)).toEqual([undefined, undefined])
      await stopService(third)
    },
  )
})
