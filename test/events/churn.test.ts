import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../src/dev/seed-random.ts'
import type { Bus } from '../../src/events/bus.ts'
import { EVENT_TYPES, type StreamEvent } from '../../src/events/catalogue.ts'
import { type EventFilter, matches } from '../../src/events/filter.ts'
import { eventOf, SELECTED_EVENT } from '../../src/events/history.ts'
import type { Subscription } from '../../src/events/subscription.ts'
import { createSubscriptions, type Subscriptions } from '../../src/events/subscriptions.ts'
import { countingBus } from '../harness/counting-bus.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { SEED } from '../harness/seed.ts'
import { until } from '../harness/until.ts'

const PLAYERS = times(4, (index) => `00000000-0000-7000-8000-00000000000${index}`)
const SCENARIOS = ['season', 'other', null]
const HANDLES = ['onLevelUp', 'onComplete', 'onStart', null]
const ROUNDS_BEFORE = 40
/** Some fifty events each: in the end more than the buffer keeps. */
const ROUNDS = 100
const LISTENERS = 15
const CHURN = 10_000

let game: Game
const { next, chance, pick } = createRandom(SEED, 0)
const below = (count: number): number => Math.floor(next() * count)

beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

/** Writes events directly to the database, and publishes all, some or none of them on the bus, in any order. */
async function write(bus: Bus, all: StreamEvent[]): Promise<void> {
  const count = 1 + below(chance(0.1) ? 900 : 8)
  const rows = times(count, () => ({
    type: pick(EVENT_TYPES),
    handle: pick(HANDLES),
    player_id: pick(PLAYERS),
    scenario_id: pick(SCENARIOS),
    node_id: pick(['a', 'b']),
    by_client: chance(0.3),
  }))
  const { rows: written } = await game.app.pool.query(
    `WITH moved AS (
       INSERT INTO streams AS s (environment_id, position, reached_at) VALUES ($1, $2, now())
       ON CONFLICT (environment_id) DO UPDATE SET position = s.position + excluded.position, reached_at = now()
       RETURNING position
     )
     INSERT INTO events (environment_id, position, type, handle, player_id, scenario_id, node_id, by_client, data)
     SELECT $1, position - $2 + n, r->>'type', r->>'handle', (r->>'player_id')::uuid, r->>'scenario_id', r->>'node_id', (r->>'by_client')::boolean,
       '{}'
     FROM moved, jsonb_array_elements($3::jsonb) WITH ORDINALITY AS e(r, n)
     RETURNING ${SELECTED_EVENT}`,
    [game.stagingId, count, JSON.stringify(rows)],
  )
  const events = written.map((row) => eventOf(game.stagingId, row)).sort((a, b) => Number(a.position - b.position))
  all.push(...events)
  const told = events.filter(() => chance(0.97))
  if (chance(0.2)) for (const event of told.reverse()) bus.publish([event])
  else if (chance(0.9)) bus.publish(told)
}

const anyFilter = (): EventFilter => ({
  playerId: chance(0.5) ? pick(PLAYERS) : null,
  scenarioId: chance(0.3) ? pick(['season', 'other', 'none']) : null,
  nodeId: chance(0.3) ? pick(['a', 'b']) : null,
  types: chance(0.3) ? new Set(EVENT_TYPES.filter(() => chance(0.6))) : null,
  handles: chance(0.4) ? new Set(['onLevelUp', 'onComplete', 'onStart'].filter(() => chance(0.6))) : null,
  byClient: chance(0.2) ? chance(0.5) : null,
})

/** A listener that takes every event, and pauses now and then. */
function listen(subscription: Subscription, heard: bigint[]): void {
  subscription.flow({
    take(events) {
      heard.push(...events.map(({ position }) => position))
      if (chance(0.7)) return true
      if (chance(0.5)) setImmediate(() => subscription.resume())
      else setTimeout(() => subscription.resume(), below(20))
      return false
    },
    end: () => undefined,
  })
}

describe('short subscriptions (contract 14)', () => {
  it('receive exactly the events after their cursor that match their filter, in order, however they pause', async () => {
    const { bus, count } = countingBus()
    const subscriptions = createSubscriptions({ settle: async () => {}, pool: game.app.pool, bus })
    const all: StreamEvent[] = []
    // No listener exists yet: these events are in Postgres only.
    for (let round = 0; round < ROUNDS_BEFORE; round += 1) await write(bus, all)
    const visits: { heard: bigint[]; isDue: (event: StreamEvent) => boolean }[] = []
    let isWriting = true
    const listeners = times(LISTENERS, async () => {
      while (isWriting) {
        const filter = anyFilter()
        const after = BigInt(below(all.length + 1))
        const heard: bigint[] = []
        const subscription = await subscriptions.open({
          environmentId: game.stagingId,
          after: { position: after, at: null },
          filter,
        })
        listen(subscription, heard)
        const isDue = (event: StreamEvent) => event.position > after && matches(filter, event)
        if (chance(0.5)) {
          const due = all.filter(isDue).length
          await until('it has heard what there was', () => heard.length >= due)
        } else {
          for (let turns = below(30); turns > 0; turns -= 1) await nextTurn()
        }
        subscription.end()
        const { length } = heard
        await nextTurn()
        expect(heard.length).toBe(length)
        visits.push({ heard, isDue })
      }
    })
    for (let round = 0; round < ROUNDS; round += 1) {
      await write(bus, all)
      for (let turns = below(6); turns > 0; turns -= 1) await nextTurn()
    }
    isWriting = false
    await Promise.all(listeners)
    expect(visits.length).toBeGreaterThan(LISTENERS)
    // Compared only now: a subscription can receive an event before the writer's query returns.
    for (const { heard, isDue } of visits) {
      const due = all.filter(isDue).slice(0, heard.length)
      expect(heard).toEqual(due.map(({ position }) => position))
    }
    console.log(`${visits.length} visits heard ${visits.flatMap(({ heard }) => heard).length} of ${all.length} events`)
    expect(count()).toBe(0)
    await subscriptions.close()
  })

  it('leave nothing behind after 10,000 have come and gone', async () => {
    const { bus, count } = countingBus()
    const subscriptions: Subscriptions = createSubscriptions({ settle: async () => {}, pool: game.app.pool, bus })
    const open = async (filter: EventFilter) => {
      const subscription = await subscriptions.open({ environmentId: game.stagingId, after: null, filter })
      subscription.onceEnded(() => (ended += 1))
      return subscription
    }
    let ended = 0
    let opened = 0
    const kept: Subscription[] = []
    while (opened < CHURN) {
      for (const subscription of await Promise.all(times(1_000, () => open(anyFilter())))) {
        opened += 1
        if (chance(0.9)) subscription.flow({ take: () => true, end: () => undefined })
        kept.push(subscription)
      }
      while (kept.length > 500) kept.splice(below(kept.length), 1)[0]?.end()
    }
    expect([opened - ended, count()]).toEqual([500, 1])
    for (const subscription of kept) subscription.end()
    expect([opened - ended, count()]).toEqual([0, 0])
    await subscriptions.close()
  })
})
