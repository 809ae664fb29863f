import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../src/dev/seed-random.ts'
import { createLocalBus } from '../../src/events/bus.ts'
import { cursorOf, readCursor } from '../../src/events/cursor.ts'
import { createSubscriptions, type Subscriptions } from '../../src/events/subscriptions.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { startGame, times } from '../harness/game.ts'
import { backUp } from '../harness/linearizability/books.ts'
import { withoutRedis } from '../harness/redis.ts'
import { SEED } from '../harness/seed.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'
import { cursorAt, storedCursor, untimed } from './cursors.ts'
import { EVERY_EVENT } from './filters.ts'
import { climb, createFleet, graphql, type Listener, listen, stream, subscribed } from './fleet.ts'

const RESTORES = 12
const LISTENERS = 12
const QUERY = `query ($environment: String, $after: String, $before: String) {
  events(environment: $environment, after: $after, before: $before, first: 50) { edges { cursor } } }`

const codesOf = ({ errors }: Pick<Listener, 'errors'>) => errors.map((error) => error.extensions?.code ?? error)

describe.skipIf(withoutRedis !== '')(`${withoutRedis}a restore`, () => {
  it('ends with CURSOR_EXPIRED every subscription that sent lost events, over WebSocket and SSE, and expires every cursor of a lost event, on all instances (contract 14)', async () => {
    const fleet = await createFleet()
    try {
      const { platformKey: token, environmentId, world } = fleet
      const instances = await Promise.all([fleet.start(), fleet.start()])
      const [one, other] = instances as [(typeof instances)[0], (typeof instances)[0]]
      const player = await fleet.climber()
      const production = { environment: 'production' }
      const created = await graphql(
        one,
        token,
        'mutation { createEnvironment(input: { name: "other", reason: "a test" }) { __typename } }',
      )
      expect(created.errors).toBeUndefined()
      const start = await fleet.end()
      const own: string[] = []
      const listeners = instances.flatMap((instance) => [
        listen(instance, { token, variables: production, onEvent: ({ cursor }) => own.push(cursor) }),
        listen(instance, { token: player.token }),
        stream(instance, { token, variables: production }),
      ])
      const untouched = listen(one, { token, variables: { environment: 'other' } })
      await subscribed(one, 4)
      await subscribed(other, 3)

      for (const _ of times(5, String)) expect((await climb(one, player)).status).toBe(200)
      await settled(world.pool)
      const { rows } = await world.pool.query('SELECT position, occurred_at FROM events ORDER BY position DESC LIMIT 1')
      const kept = storedCursor(environmentId, rows[0])
      const backup = await backUp(fleet.databaseUrl)
      for (const _ of times(3, String)) expect((await climb(other, player)).status).toBe(200)
      await Promise.all(listeners.map((listener) => listener.heard(8)))
      const lost = own.filter((cursor) => readCursor(environmentId, cursor).position > start + 5)

      await backup.restore()
      // As many events as were lost, so that the positions are the same.
      for (const index of times(3, (at) => at))
        expect((await climb(instances[index % 2] ?? one, player)).status).toBe(200)
      await until('all have ended', () => listeners.every(({ errors }) => errors.length > 0))
      for (const listener of listeners) {
        expect(codesOf(listener)).toEqual(['CURSOR_EXPIRED'])
        expect(listener.positions).toEqual(times(8, (index) => start + 1 + index))
      }

      expect(lost.length).toBe(6)
      for (const instance of instances) {
        for (const after of lost) {
          const asked = [
            listen(instance, { token, variables: { ...production, after } }),
            stream(instance, { token, variables: { ...production, after } }),
            stream(instance, { token, variables: production, lastEventId: after }),
            listen(instance, { token: player.token, variables: { after } }),
          ]
          await until('they are refused', () => asked.every(({ errors }) => errors.length > 0))
          for (const listener of asked) expect(codesOf(listener)).toEqual(['CURSOR_EXPIRED'])
          for (const place of [{ after }, { before: after }]) {
            const { errors } = await graphql(instance, token, QUERY, { ...production, ...place })
            expect(errors?.[0]?.extensions.code).toBe('CURSOR_EXPIRED')
          }
          const node = await graphql(instance, token, 'query ($id: ID!) { node(id: $id) { id } }', {
            id: `Event:${after}`,
          })
          expect([node.errors, node.data.node]).toEqual([undefined, null])
          for (const listener of asked) listener.terminate()
        }
        // Restored events are still there, and their cursors are valid.
        const back = [
          listen(instance, { token, variables: { ...production, after: kept } }),
          stream(instance, { token, variables: { ...production, after: untimed(kept) } }),
        ]
        for (const listener of back) {
          await listener.heard(3)
          expect(listener.positions).toEqual(times(3, (index) => start + 6 + index))
          listener.terminate()
        }
      }
      expect([untouched.errors, untouched.closed]).toEqual([[], undefined])
      await backup.drop()
    } finally {
      await fleet.close()
    }
  })
})

describe('each of many restores', () => {
  it(`leaves every listener with exactly the events of the database, or with CURSOR_EXPIRED (contract 14; seed ${SEED})`, async () => {
    const { chance, pick, next } = createRandom(SEED, 1)
    const below = (count: number): number => Math.floor(next() * count)
    const game = await startGame()
    const { environmentId } = game
    // The second instance receives no signals: it reads the stream each second.
    const quiet = createSubscriptions({ settle: async () => {}, pool: game.app.pool, bus: createLocalBus() })
    const instances = [game.app.subscriptions, quiet]
    const write = async (count: number) => {
      for (const _ of times(count, String)) await game.app.service.run(createPlayer(environmentId, null))
    }
    const stored = async (): Promise<string[]> => {
      await settled(game.app.pool)
      const { rows } = await game.app.pool.query('SELECT position, occurred_at FROM events ORDER BY position')
      return rows.map((row) => storedCursor(environmentId, row))
    }
    let expired = 0
    const visitors = times(LISTENERS, () => createVisitor(environmentId, () => (expired += 1)))
    try {
      await write(3)
      for (const _ of times(RESTORES, String)) {
        await Promise.all(visitors.map((visitor) => visitor.return(pick(instances))))
        await write(below(4))
        const backup = await backUp(game.databaseUrl)
        await write(below(4))
        const before = await stored()
        if (chance(0.5))
          await until('all events are received', () => visitors.every((visitor) => visitor.isAt(before.at(-1))))
        for (const visitor of visitors) if (chance(0.3)) visitor.leave()
        await backup.restore()
        // Other events at the same positions: fewer, as many, or more.
        await write(below(6))
        await nextTurn()
        const now = await stored()
        await until('all have received the stored events', async () => {
          for (const visitor of visitors) await visitor.return(pick(instances))
          return visitors.every((visitor) => visitor.isAt(now.at(-1)))
        })
        for (const visitor of visitors) expect(visitor.heard).toEqual(now.slice(now.indexOf(visitor.start) + 1))
        await backup.drop()
      }
      expect(expired).toBeGreaterThan(0)
    } finally {
      await quiet.close()
      await game.stop()
    }
  })
})

/** A listener that returns with its last cursor, and starts over when that cursor is expired. */
function createVisitor(environmentId: string, onExpired: () => void) {
  const first = cursorAt(environmentId, 0)
  let start = first
  let heard: string[] = []
  let end: (() => void) | undefined

  async function open(subscriptions: Subscriptions): Promise<void> {
    const after = readCursor(environmentId, heard.at(-1) ?? start)
    const subscription = await subscriptions.open({ environmentId, after, filter: EVERY_EVENT })
    let isOpen = true
    subscription.flow({
      take(events) {
        if (isOpen) heard.push(...events.map(cursorOf))
        return true
      },
      end(error) {
        if (isOpen && error !== undefined) reset()
      },
    })
    end = () => {
      isOpen = false
      subscription.end()
    }
  }

  function reset(): void {
    onExpired()
    start = first
    heard = []
    end = undefined
  }

  return {
    get start() {
      return start
    },
    get heard() {
      return heard
    },
    /** True when this is the last event that was received. Always false for a listener that has ended. */
    isAt: (cursor: string | undefined) => end !== undefined && (heard.at(-1) ?? start) === (cursor ?? first),
    leave() {
      end?.()
      end = undefined
    },
    async return(subscriptions: Subscriptions) {
      if (end) return
      await open(subscriptions).catch(() => {
        reset()
        return open(subscriptions)
      })
    },
  }
}
