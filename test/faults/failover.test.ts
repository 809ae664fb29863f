import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { positionOf } from '../events/cursors.ts'
import { climb, createFleet, type Fleet } from '../events/fleet.ts'
import { auditBooks } from '../harness/audit.ts'
import { type Cluster, type Death, startCluster, withoutFailover } from '../harness/failover.ts'
import { times } from '../harness/game.ts'
import { type LightListener, openLightListener } from '../harness/light-listener.ts'
import { withoutRedis } from '../harness/redis.ts'
import { atScale } from '../harness/scale.ts'
import type { Service, WorldPlayer } from '../harness/service.ts'
import { until } from '../harness/until.ts'

const FAILOVERS = atScale(10, 2)
/** So many play at a time. Each has so many calls until the top of the season, where another one goes on. */
const PLAYERS = 12
const CALLS = 900
const TURNS = 20
/** From the end of the failover to the next answer. A machine with much other work takes longer. */
const WITHIN_MS = atScale(2_000, 60_000)
const DEATHS: readonly Death[] = ['its Postgres', 'its machine']
const RETRY_MS = 20
const TIMEOUT_MS = 900_000
const without = withoutFailover || withoutRedis

let cluster: Cluster
let fleet: Fleet
let services: readonly Service[]

beforeAll(async () => {
  if (without !== '') return
  cluster = await startCluster('tierway')
  fleet = await createFleet({ url: cluster.url, drop: () => cluster.stop() })
  services = await Promise.all([fleet.start(), fleet.start()])
}, TIMEOUT_MS)
afterAll(async () => {
  await fleet?.close()
}, TIMEOUT_MS)

describe.skipIf(without !== '')(`${without}a primary that dies under load, with a synchronous standby`, () => {
  it(
    `loses no acknowledged call and skips no event in ${FAILOVERS} failovers, and calls go on after each`,
    async () => {
      const players = await Promise.all(times(PLAYERS * TURNS, () => fleet.climber()))
      const levels = new Map<WorldPlayer, number>()
      const listeners = services.map(listenTo)
      await until('both listen', () => listeners.every(({ isSubscribed }) => isSubscribed))
      /** The moment of the last answer with success to a call that began at this moment or later. */
      const answered = { since: Number.POSITIVE_INFINITY, at: Number.NaN }
      let isOver = false

      async function play(index: number): Promise<void> {
        for (const turn of times(TURNS, (number) => number))
          await climbOn(players[index + turn * PLAYERS] as WorldPlayer, index)
      }

      async function climbOn(player: WorldPlayer, index: number): Promise<void> {
        for (let level = 1; !isOver && level <= CALLS; level += 1) {
          for (let attempt = 0; ; attempt += 1) {
            const began = performance.now()
            const target = services[(index + attempt) % services.length] as Service
            const { status, body } = await climb(target, player, { 'idempotency-key': `level ${level}` })
            if (status === 200) {
              if (began >= answered.since && Number.isNaN(answered.at)) answered.at = performance.now()
              break
            }
            expect([status, body.code]).toEqual([503, 'unavailable'])
            await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
          }
          levels.set(player, level)
        }
      }

      const playing = Promise.all(times(PLAYERS, play))
      playing.catch(() => undefined)
      const sum = () => [...levels.values()].reduce((total, level) => total + level, 0)
      const waits: number[] = []
      for (const round of times(FAILOVERS, (index) => index)) {
        const before = sum()
        await Promise.race([playing, until('the players play', () => sum() > before + 5 * PLAYERS)])
        answered.at = Number.NaN
        answered.since = Number.POSITIVE_INFINITY
        const promotion = cluster.killPrimary(DEATHS[round % DEATHS.length] as Death)
        // Answers that were on their way do not count.
        answered.since = performance.now()
        const promotedAt = await promotion
        answered.since = promotedAt
        answered.at = Number.NaN
        await Promise.race([playing, until('calls are answered again', () => !Number.isNaN(answered.at))])
        waits.push(answered.at - promotedAt)
        await cluster.heal()
      }
      isOver = true
      await playing

      console.log(
        `from the end of a failover to the next answer: ${waits.map((ms) => `${Math.round(ms)} ms`).join(', ')}`,
      )
      const { rows } = await fleet.world.pool.query<{ player_id: string; xp: string }>(
        `SELECT player_id, xp FROM passes WHERE player_id = ANY ($1::uuid[]) AND xp > 0`,
        [players.map(({ playerId }) => playerId)],
      )
      // Each call is one point of xp.
      const kept = new Map(rows.map(({ player_id, xp }) => [player_id, Number(xp)]))
      expect(kept).toEqual(new Map([...levels].map(([{ playerId }, level]) => [playerId, level])))
      const positions = await fleet.stored()
      expect(positions).toEqual(times(positions.length, (index) => index + 1))
      expect(positions.length).toBeGreaterThanOrEqual(sum())
      for (const { cursors, faults, close } of listeners) {
        await until('all events are heard', () => cursors.length >= positions.length || faults.length > 0)
        close()
        expect(faults).toEqual([])
        expect(cursors.map(positionOf)).toEqual(positions)
      }
      await auditBooks(fleet.world.pool)
      expect(Math.max(...waits)).toBeLessThan(WITHIN_MS)
    },
    TIMEOUT_MS,
  )
})

function listenTo(service: Service): LightListener {
  return openLightListener({
    port: () => Number(new URL(service.baseUrl).port),
    token: fleet.platformKey,
    query: 'subscription ($after: String) { events(environment: "production", after: $after) { cursor } }',
    after: fleet.cursorAt(0),
  })
}
