import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES, type StreamEvent } from '../../src/events/catalogue.ts'
import { type EventFilter, matches } from '../../src/events/filter.ts'
import { SubscriptionIndex, type Topic } from '../../src/events/subscription-index.ts'
import { EVERY_EVENT } from './filters.ts'

const NAMES = ['a', 'b', 'c', 'a\nb', 'b/c', '']

// Few names, so that filters often overlap or are equal.
const name = fc.constantFrom(...NAMES)
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null, freq: 2 })
const setOf = <T>(of: fc.Arbitrary<T>, maxLength: number) =>
  maybe(fc.uniqueArray(of, { maxLength }).map((all): ReadonlySet<T> => new Set(all)))
const filter: fc.Arbitrary<EventFilter> = fc.record({
  playerId: maybe(name),
  scenarioId: maybe(name),
  nodeId: maybe(name),
  types: setOf(fc.constantFrom(...EVENT_TYPES), 2),
  handles: setOf(name, 4),
  byClient: maybe(fc.boolean()),
})
const event: fc.Arbitrary<StreamEvent> = fc.record({
  environmentId: fc.constant('e'),
  position: fc.constant(1n),
  type: fc.constantFrom(...EVENT_TYPES),
  handle: maybe(name),
  playerId: name,
  scenarioId: maybe(name),
  nodeId: maybe(name),
  runId: fc.constant(null),
  byClient: fc.boolean(),
  data: fc.constant('{}'),
  occurredAt: fc.constant(new Date(0)),
  follows: fc.constant(null),
})

interface Subscriber {
  readonly filter: EventFilter
  readonly topic: Topic<Subscriber>
}

function add(index: SubscriptionIndex<Subscriber>, given: EventFilter): Subscriber {
  const subscriber = { filter: given } as Subscriber
  return Object.assign(subscriber, { topic: index.add(given, subscriber) })
}

/** The subscribers that an event wakes, each as often as it is woken. */
function woken(index: SubscriptionIndex<Subscriber>, one: StreamEvent): Subscriber[] {
  const found: Subscriber[] = []
  index.visit(one, ({ subscriptions }) => found.push(...subscriptions))
  return found
}

describe('the index of subscriptions (contract 14)', () => {
  it('wakes exactly the subscriptions whose filter matches, each once, after any additions and removals', () => {
    const step = fc.oneof(fc.record({ add: filter }), fc.record({ remove: fc.nat() }), fc.record({ tell: event }))
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
        const index = new SubscriptionIndex<Subscriber>()
        const all: Subscriber[] = []
        for (const one of steps) {
          if ('add' in one) all.push(add(index, one.add))
          else if ('remove' in one) {
            const [leaving] = all.splice(one.remove % (all.length + 1), 1)
            if (leaving) index.delete(leaving.topic, leaving)
          } else {
            const expected = all.filter((subscriber) => matches(subscriber.filter, one.tell))
            expect(new Set(woken(index, one.tell))).toEqual(new Set(expected))
            expect(woken(index, one.tell)).toHaveLength(expected.length)
          }
        }
        for (const leaving of all) index.delete(leaving.topic, leaving)
        expect(index.size).toBe(0)
      }),
      { numRuns: 500 },
    )
  })

  it('finds a filter of any combination of fields, and none that differs in one field', () => {
    const told: StreamEvent = {
      environmentId: 'e',
      position: 1n,
      type: 'crossing',
      handle: 'onLevelUp',
      playerId: 'p',
      scenarioId: 's',
      nodeId: 'n',
      runId: null,
      byClient: false,
      data: '{}',
      occurredAt: new Date(0),
      follows: null,
    }
    const fields = {
      playerId: ['p', 'other'],
      scenarioId: ['s', 'other'],
      nodeId: ['n', 'other'],
      types: [new Set(['crossing']), new Set(['player.created'])],
      handles: [new Set(['onMaxLevel', 'onLevelUp']), new Set(['onMaxLevel'])],
      byClient: [false, true],
    }
    for (let shape = 0; shape < 64; shape += 1) {
      const fixed = Object.entries(fields).filter((_, bit) => shape & (1 << bit))
      const fitting = Object.fromEntries(fixed.map(([field, [fits]]) => [field, fits]))
      const index = new SubscriptionIndex<Subscriber>()
      const hit = add(index, { ...EVERY_EVENT, ...fitting })
      for (const [field, [, misses]] of fixed) add(index, { ...EVERY_EVENT, ...fitting, [field]: misses })
      expect(woken(index, told)).toEqual([hit])
    }
  })

  it('is empty after 100,000 subscriptions were added and removed, a thousand at a time', () => {
    const index = new SubscriptionIndex<Subscriber>()
    let count = 0
    let largest = 0
    const open: Subscriber[] = []
    for (const given of fc.sample(filter, 1_000)) {
      for (let again = 0; again < 100; again += 1) {
        const playerId = again % 2 === 0 ? given.playerId : `player ${count}`
        open.push(add(index, { ...given, playerId }))
        count += 1
        const leaving = open.length > 1_000 ? open.shift() : undefined
        if (leaving) index.delete(leaving.topic, leaving)
        largest = Math.max(largest, index.size)
      }
    }
    expect(count).toBe(100_000)
    expect(largest).toBeGreaterThan(100)
    for (const leaving of open) index.delete(leaving.topic, leaving)
    expect(index.size).toBe(0)
  })
})
