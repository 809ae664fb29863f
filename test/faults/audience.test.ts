import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../src/dev/seed-random.ts'
import { storedCursor } from '../events/cursors.ts'
import { createFleet, metric } from '../events/fleet.ts'
import { times } from '../harness/game.ts'
import { type LightListener, openLightListener } from '../harness/light-listener.ts'
import { withoutRedis } from '../harness/redis.ts'
import { atScale } from '../harness/scale.ts'
import { SEED } from '../harness/seed.ts'
import { post, type Service, type WorldPlayer } from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'

const PLAYERS = atScale(10_000, 400)
const LEVELS = 2
const CALLERS = 32
const OPENED_AT_ONCE = 500
const DEADLINE_MS = 120_000
const QUERY = 'subscription ($after: String) { onLevelUp(after: $after) { cursor } }'

describe.skipIf(withoutRedis !== '')(`${withoutRedis}${PLAYERS} subscribed players`, () => {
  it(`each receive all their events once and in order, while Redis and an instance are killed (contract 14; seed ${SEED})`, async () => {
    const { pick } = createRandom(SEED, 2)
    const fleet = await createFleet()
    const listeners: LightListener[] = []
    try {
      let services: Service[] = await Promise.all([fleet.start(), fleet.start()])
      const players: WorldPlayer[] = []
      await inParallel(64, PLAYERS, async () => void players.push(await fleet.climber()))
      const start = await fleet.end()
      const after = fleet.cursorAt(start)
      const port = () => Number(new URL(pick(services).baseUrl).port)
      const isReached = (count: number) =>
        until(`${count} are subscribed`, () => listeners.filter(({ isSubscribed }) => isSubscribed).length >= count, {
          deadlineMs: DEADLINE_MS,
        })
      for (const player of players) {
        listeners.push(openLightListener({ port, token: player.token, query: QUERY, after }))
        if (listeners.length % OPENED_AT_ONCE === 0) await isReached(listeners.length)
      }
      const open = async () => {
        const counts = await Promise.all(services.map((service) => metric(service, 'tierway_subscriptions')))
        return counts.reduce((sum, count) => sum + count, 0)
      }
      await until('all subscriptions are open', async () => (await open()) === PLAYERS, { deadlineMs: DEADLINE_MS })

      const total = PLAYERS * LEVELS
      let made = 0
      /** Repeats a call with its key until it is answered, as a game client does. */
      const levelUp = async (index: number) => {
        const { token, runId } = players[index % PLAYERS] as WorldPlayer
        const call = { scenarioId: 'climb', nodeId: 'pass', runId, amount: 1, source: 'audience' }
        for (;;) {
          const answer = await post(pick(services), '/sdk/v1/battlepass/xp', token, call, {
            'idempotency-key': `${runId}-${Math.floor(index / PLAYERS)}`,
          }).catch(() => undefined)
          if (answer?.status === 200) break
          if (answer && answer.status < 500) throw new Error(JSON.stringify(answer.body))
          await pause(50)
        }
        made += 1
      }
      const faults = (async () => {
        const isAt = (share: number) =>
          until(`${share} of the calls are answered`, () => made >= share * total, { deadlineMs: 2 * DEADLINE_MS })
        await isAt(0.2)
        await fleet.redis.kill()
        await isAt(0.4)
        const [first, second] = services as [Service, Service]
        services = [first]
        second.kill('SIGKILL')
        await isAt(0.6)
        await fleet.redis.restart()
        services = [first, await fleet.start()]
      })()
      await Promise.all([faults, inParallel(CALLERS, total, levelUp)])

      await settled(fleet.world.pool)
      const { rows } = await fleet.world.pool.query<{ player_id: string; position: string; occurred_at: Date }>(
        'SELECT player_id, position, occurred_at FROM events WHERE position > $1 ORDER BY position',
        [start],
      )
      expect(rows.length).toBe(total)
      const expected = new Map<string, string[]>(players.map(({ playerId }) => [playerId, []]))
      for (const row of rows) expected.get(row.player_id)?.push(storedCursor(fleet.environmentId, row))
      const isHeard = () => listeners.every(({ cursors, faults }) => cursors.length >= LEVELS || faults.length > 0)
      await until('all events are heard', isHeard, { deadlineMs: DEADLINE_MS })
      for (const [index, { cursors, faults }] of listeners.entries()) {
        expect([faults, cursors]).toEqual([[], expected.get(players[index]?.playerId ?? '')])
      }
      console.log(`${total} events heard once each by ${PLAYERS} players`)
    } finally {
      for (const listener of listeners) listener.close()
      await fleet.close()
    }
  }, 600_000)
})

async function inParallel(workers: number, count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    times(workers, async () => {
      while (next < count) {
        next += 1
        await work(next - 1)
      }
    }),
  )
}
