import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCallCounts, purgeCalls } from '../../src/operations/figures/calls.ts'
import { type Game, startGame, startInstance, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'

const QUERY = `query ($environment: String!, $from: DateTime, $to: DateTime) {
  callStatistics(environment: $environment, from: $from, to: $to) { from to calls minutes { startsAt calls } } }`
const MINUTE_MS = 60_000

let game: Game

beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

async function read(variables: object = {}, credentials = game.platformKey) {
  const answer = await game.graphql(credentials, QUERY, { environment: 'production', ...variables })
  return { ...answer.data?.callStatistics, errors: answer.errors }
}

describe('calls by minute', () => {
  it('count each call of a player over REST and GraphQL, including refused calls, and no call of an operator', async () => {
    const player = await game.player()
    expect((await player.post('/sdk/v1/storage/get', {})).status).toBe(200)
    expect((await player.post('/sdk/v1/storage/get', [])).status).toBe(400)
    await player.graphql('{ me { playerId } }')
    await game.graphql(game.platformKey, '{ project { name } }')
    await until('the calls are written', async () => (await read()).calls === 3)
    const { minutes } = await read()
    expect(minutes.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0)).toBe(3)
    expect((await read({ environment: 'staging' })).calls).toBe(0)
  })

  it('of two instances are summed, and a stopping instance writes the calls that it has not written yet', async () => {
    const game = await startGame()
    const other = await startInstance(game.databaseUrl, {})
    const counts = [game, other].map(({ app }) => app.service.countCall)
    for (const count of counts) for (const _ of times(50, Number)) count(game.environmentId)
    await other.stop()
    const seen = async () =>
      (await game.graphql(game.platformKey, QUERY, { environment: 'production' })).data.callStatistics.calls
    expect(await seen()).toBeGreaterThanOrEqual(50)
    await until('both are written', async () => (await seen()) === 100)
    await game.stop()
  })

  it('that could not be written are written by the next round', async () => {
    const { pool } = game.app
    const errors: string[] = []
    const counts = createCallCounts({ pool, onError: (_, message) => errors.push(message) })
    for (const _ of times(7, Number)) counts.count(game.stagingId)
    await pool.query('ALTER TABLE call_minutes RENAME TO away')
    await counts.stop()
    expect((await read({ environment: 'staging' })).errors).toBeDefined()
    await pool.query('ALTER TABLE away RENAME TO call_minutes')
    expect(errors).toEqual(['calls could not be counted; the next round tries again'])
    counts.count(game.stagingId)
    await counts.stop()
    expect((await read({ environment: 'staging' })).calls).toBe(8)
  })

  it('have an entry for every minute of the range, and are removed after a week', async () => {
    const { pool } = game.app
    const at = Math.floor(Date.now() / MINUTE_MS - 60 * 24) * MINUTE_MS
    const insert = 'INSERT INTO call_minutes VALUES ($1, $2, $3)'
    await pool.query(insert, [game.stagingId, new Date(at), 5])
    await pool.query(insert, [game.stagingId, new Date(at + 2 * MINUTE_MS), 6])
    await pool.query(insert, [game.stagingId, new Date(at - 7 * 24 * 60 * MINUTE_MS), 9])
    const range = { from: new Date(at + 30_000).toISOString(), to: new Date(at + 3 * MINUTE_MS).toISOString() }
    const { calls, minutes } = await read({ environment: 'staging', ...range })
    expect([calls, minutes]).toEqual([
      11,
      [5, 0, 6].map((calls, index) => ({ startsAt: new Date(at + index * MINUTE_MS).toISOString(), calls })),
    ])
    expect(await purgeCalls(pool)).toBe(1)
    expect((await read({ environment: 'staging', ...range })).calls).toBe(11)
  })

  it('are readable for a range of at most two days', async () => {
    const [error] = (await read({ from: '2026-12-01T00:00:00Z', to: '2026-12-03T00:00:01Z' })).errors
    expect(error.extensions).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [{ path: 'from', message: 'must be at most 2 days before to' }],
    })
    expect((await read({ environment: 'nowhere' })).errors[0].extensions.code).toBe('ENVIRONMENT_NOT_FOUND')
  })
})
