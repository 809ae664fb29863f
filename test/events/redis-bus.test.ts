import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../src/events/catalogue.ts'
import { createRedisBus } from '../../src/events/redis-bus.ts'
import { type RedisServer, startRedis, withoutRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

const event: StreamEvent = {
  environmentId: '00000000-0000-7000-8000-000000000000',
  position: 1n,
  type: 'player.created',
  handle: null,
  playerId: '00000000-0000-7000-8000-000000000001',
  scenarioId: null,
  nodeId: null,
  runId: null,
  byClient: false,
  data: '{}',
  occurredAt: new Date(0),
  follows: null,
}

describe.skipIf(withoutRedis)(`${withoutRedis}the database number in REDIS_URL`, () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis?.remove())

  it('separates the signals of deployments whose environments have the same ids', async () => {
    const buses = ['', '/0', '/1', '/2', '/2'].map((number) => createRedisBus({ url: `${redis.url}${number}` }))
    await until('all are connected', () => buses.every((bus) => bus.isConnected()))
    const heard = await Promise.all(
      buses.map(async (bus) => {
        const positions: bigint[] = []
        const hear = (events: readonly StreamEvent[]) => positions.push(...events.map(({ position }) => position))
        await bus.subscribe(event.environmentId, { events: hear, reaches: () => undefined, gap: () => undefined })
        return positions
      }),
    )
    for (const [index, bus] of buses.entries()) bus.publish([{ ...event, position: BigInt(index) }])
    // A bus receives its own signals at once, and those over Redis in the order in which they were published.
    const sorted = () => heard.map((positions) => [...positions].sort())
    await until(
      'those of one number have heard each other',
      () => sorted()[3]?.length === 2 && sorted()[1]?.length === 2,
    )
    for (const bus of buses) await bus.close()
    expect(sorted()).toEqual([[0n, 1n], [0n, 1n], [2n], [3n, 4n], [3n, 4n]])
  })
})
