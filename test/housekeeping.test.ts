import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHousekeeping } from '../src/app/housekeeping.ts'
import { type Game, startGame } from './harness/game.ts'
import { openPool } from './harness/sql.ts'
import { until } from './harness/until.ts'

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

describe('the removal of old rows', () => {
  it('is part of the first round, too: an instance that is started again every few minutes removes them', async () => {
    const removed: string[] = []
    const housekeeping = createHousekeeping({
      pool: game.app.pool,
      run: game.app.service.run,
      config: { eventRetentionDays: 30 },
      partitions: { tend: async () => {} },
      log: pino({ level: 'silent' }),
      onRemoved: (what) => removed.push(what),
      onError: (error) => expect.fail(String(error)),
      everyMs: 3_600_000,
      firstMs: 1,
    })
    await game.app.pool.query("INSERT INTO call_minutes VALUES ($1, now() - interval '1 year', 1)", [
      game.environmentId,
    ])
    housekeeping.start()
    await until('they are removed', () => removed.includes('minutes of old calls'))
    await housekeeping.stop()
  })

  it('takes one round at a time, and a stop waits for the present statement only', async () => {
    const mine = new URL(game.databaseUrl)
    mine.searchParams.set('application_name', 'housekeeping')
    const pool = openPool(mine.href)
    const removed: string[] = []
    const housekeeping = createHousekeeping({
      pool,
      run: game.app.service.run,
      config: { eventRetentionDays: 30 },
      partitions: { tend: async () => {} },
      log: pino({ level: 'silent' }),
      onRemoved: (what) => removed.push(what),
      onError: (error) => expect.fail(String(error)),
      everyMs: 1,
      firstMs: 1,
    })
    const atWork = async () => {
      const { rows } = await game.app.pool.query(
        "SELECT query FROM pg_stat_activity WHERE application_name = 'housekeeping' AND state = 'active'",
      )
      return rows.length
    }
    // The first two kinds of rows that are removed.
    await game.app.pool.query(
      `INSERT INTO auth_providers (environment_id, kind, name, enabled, url, secret) VALUES ($1, 'custom', 'old', true, 'u', 's')`,
      [game.environmentId],
    )
    await game.app.pool.query(
      `INSERT INTO replaced_secrets (environment_id, kind, name, id, secret, expires_at)
       VALUES ($1, 'custom', 'old', gen_random_uuid(), 's', now() - interval '1 day')`,
      [game.environmentId],
    )
    await game.app.pool.query("INSERT INTO call_minutes VALUES ($1, now() - interval '1 year', 1)", [
      game.environmentId,
    ])
    const holder = openPool(game.databaseUrl)
    const client = await holder.connect()
    try {
      await client.query('BEGIN')
      await client.query('LOCK TABLE replaced_secrets')
      housekeeping.start()
      let looks = 0
      // Twenty looks take many times the pause between two rounds.
      await until('twenty looks', async () => {
        const busy = await atWork()
        expect(busy).toBeLessThanOrEqual(1)
        if (busy === 1) looks += 1
        return looks === 20
      })
      let isStopped = false
      const stopped = housekeeping.stop().then(() => {
        isStopped = true
      })
      expect(await atWork()).toBe(1)
      expect(isStopped).toBe(false)
      await client.query('COMMIT')
      await stopped
      expect(await atWork()).toBe(0)
      expect(removed).toEqual(['expired secrets of providers'])
    } finally {
      client.release(true)
      await holder.end()
      await pool.end()
    }
  })
})
