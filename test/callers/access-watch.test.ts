import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AccessWatchOptions, createAccessWatch } from '../../src/callers/access-watch.ts'
import type { PlayerCaller } from '../../src/callers/callers.ts'
import { createEndedAccess } from '../../src/callers/ended-access.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { BEGIN } from '../harness/begin.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'

const COUNT = 240
const LOOK_MS = 20

let game: Game
let callers: PlayerCaller[]

beforeAll(async () => {
  game = await startGame()
  const { environmentId, projectId, app } = game
  callers = await Promise.all(
    times(COUNT, async () => {
      const { playerId } = await app.service.run(createPlayer(environmentId, null))
      return { kind: 'player', environmentId, projectId, playerId, familyId: null, expiresAt: Number.POSITIVE_INFINITY }
    }),
  )
})
afterAll(() => game?.stop())

/** A watch that checks more often than the service does. */
function openWatch(query: (statement: pg.QueryConfig) => unknown, onError?: AccessWatchOptions['onError']) {
  const pool = { query } as unknown as pg.Pool
  const ended = createEndedAccess({ pool, lookMs: LOOK_MS })
  const watch = createAccessWatch({ pool, ended, onError })
  void ended.start()
  return { watch: watch.watch, close: ended.close }
}

/** A watch over all callers, its reports, and the number of callers in each check. */
function watchAll() {
  const asked: number[] = []
  const query = (statement: pg.QueryConfig) => {
    const [environmentIds = []] = (statement.values ?? []) as string[][]
    if (statement.name === 'watch') asked.push(environmentIds.length)
    return game.app.pool.query(statement)
  }
  const watch = openWatch(query)
  const ended: [playerId: string, reason: string][] = []
  for (const caller of callers) watch.watch(caller, (reason) => ended.push([caller.playerId, reason]))
  const looks = (count: number) => until(`${count} looks`, () => asked.length >= count)
  return { watch, asked, ended, looks }
}

const setStatus = (client: pg.Pool | pg.PoolClient, { playerId }: PlayerCaller, status: string) =>
  client.query('UPDATE players SET status = $2 WHERE id = $1', [playerId, status])

describe('the watch over callers with open connections (contract 5)', () => {
  it('checks every caller at first and then at most one in sixty at a time', async () => {
    const { watch, asked, looks } = watchAll()
    await looks(5)
    watch.close()
    expect(asked[0]).toBe(COUNT)
    expect(Math.max(...asked.slice(1))).toBeLessThanOrEqual(Math.ceil(COUNT / 60))
  })

  it('reports a ban soon after its commit, even when the transaction stays open for long', async () => {
    const { watch, asked, ended, looks } = watchAll()
    const [banned] = callers.slice(-1) as [PlayerCaller]
    const client = await game.app.pool.connect()
    try {
      await client.query(BEGIN)
      await setStatus(client, banned, 'banned')
      await looks(10)
      expect(ended).toEqual([])
      await client.query('COMMIT')
      const before = asked.length
      await until('it is told', () => ended.length > 0)
      // The sweep alone would take more checks.
      expect(asked.length - before).toBeLessThan(10)
      expect(ended).toEqual([[banned.playerId, 'player banned']])
    } finally {
      watch.close()
      client.release()
      await setStatus(game.app.pool, banned, 'active')
    }
  })

  it('finds ended players within one sweep when the trigger recorded nothing', async () => {
    const { watch, asked, ended, looks } = watchAll()
    await looks(2)
    const { pool } = game.app
    const banned = [callers[0], callers[COUNT - 1]] as PlayerCaller[]
    await pool.query('ALTER TABLE players DISABLE TRIGGER players_note_ended_access')
    try {
      for (const caller of banned) await setStatus(pool, caller, 'deleted')
      const before = asked.length
      await until('both are told', () => ended.length === 2)
      expect(asked.length - before).toBeLessThanOrEqual(70)
      expect(new Set(ended)).toEqual(new Set(banned.map(({ playerId }) => [playerId, 'player deleted'])))
    } finally {
      watch.close()
      await pool.query('ALTER TABLE players ENABLE TRIGGER players_note_ended_access')
      for (const caller of banned) await setStatus(pool, caller, 'active')
    }
  })

  it('checks a new caller again until the database answers', async () => {
    const { pool } = game.app
    let isAway = true
    const errors: unknown[] = []
    const query = (statement: pg.QueryConfig) => (isAway ? Promise.reject(new Error('away')) : pool.query(statement))
    const watch = openWatch(query, (error) => errors.push(error))
    const [caller] = callers as [PlayerCaller]
    const ended: string[] = []
    await setStatus(pool, caller, 'banned')
    watch.watch(caller, (reason) => ended.push(reason))
    await until('it has asked in vain', () => errors.length >= 2)
    isAway = false
    await until('it is told', () => ended.length > 0)
    watch.close()
    expect(ended).toEqual(['player banned'])
    await setStatus(pool, caller, 'active')
  })

  it('finds after an outage what ended on a standby that lagged and took over, which gives ids of transactions again', async () => {
    const { pool } = game.app
    let isAway = false
    const query = (statement: string) => (isAway ? Promise.reject(new Error('away')) : pool.query(statement))
    const ended = createEndedAccess({ pool: { query } as unknown as pg.Pool, lookMs: LOOK_MS })
    let looks = 0
    ended.onLook(async () => {
      looks += 1
    })
    await ended.start()
    isAway = true
    const seen = looks
    await until('it has failed', () => looks > seen + 1)
    const loginId = randomUUID()
    await pool.query('INSERT INTO ended_access VALUES (3, $1, $2, now(), $3)', [
      ...[game.environmentId, randomUUID(), loginId],
    ])
    isAway = false
    await until('it is found', () => ended.logins.has(loginId))
    ended.close()
  })

  it('reports each outage once, with its duration, when the database answers again', async () => {
    const { pool } = game.app
    let isAway = false
    let errors = 0
    const back: number[] = []
    const query = (statement: pg.QueryConfig) => (isAway ? Promise.reject(new Error('away')) : pool.query(statement))
    const ended = createEndedAccess({
      pool: { query } as unknown as pg.Pool,
      lookMs: LOOK_MS,
      onError: () => (errors += 1),
      onBack: (milliseconds) => back.push(milliseconds),
    })
    let looks = 0
    ended.onLook(async () => {
      looks += 1
    })
    await ended.start()
    for (const times of [3, 5]) {
      isAway = true
      const before = errors
      await until('it has failed', () => errors >= before + times)
      isAway = false
      const seen = looks
      await until('it has looked again', () => looks >= seen + 3)
    }
    ended.close()
    expect(back).toHaveLength(2)
    for (const milliseconds of back) expect(milliseconds).toBeGreaterThanOrEqual(LOOK_MS)
  })
})
