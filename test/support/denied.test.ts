import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BEGIN } from '../harness/begin.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { codeOf, newOperator, type Operator, support } from './desk.ts'

// Denied calls cannot fill the audit log. The limits count per minute of the clock: a flood that crosses the end of a
// minute has the rows of two minutes.

const ROWS_A_MINUTE = 100
/** One more row counts the further denied calls of an action in a minute. */
const ROWS_BEYOND = 1

let game: Game
let victim: TestPlayer

beforeAll(async () => {
  game = await startGame()
  victim = await game.player()
})
afterAll(() => game.stop())

const viewer = (): Promise<Operator> => newOperator(game.app.pool, game.projectId, 'viewer')

const ban = async (key: string, playerId: string): Promise<string> =>
  codeOf(await support(game, key, 'banPlayer', { playerId, reason: 'x' }))

interface Row {
  readonly actor: string
  readonly target: string
  readonly attempts: number
  readonly minute: string
}

/** The denied entries of actors, with the sum of attempts and the number of minutes. */
async function rowsOf(actor: string): Promise<{ rows: Row[]; attempts: number; minutes: number }> {
  const { rows } = await game.app.pool.query<Row>(
    `SELECT actor, target, attempts, minute::text FROM audit_log
     WHERE project_id = $1 AND actor LIKE $2 AND action = 'player.ban.denied' ORDER BY id`,
    [game.projectId, actor],
  )
  const attempts = rows.reduce((sum, row) => sum + row.attempts, 0)
  return { rows, attempts, minutes: new Set(rows.map(({ minute }) => minute)).size }
}

/** Sends many calls at once. */
async function flood(count: number, call: (index: number) => Promise<string>): Promise<void> {
  expect(new Set(await Promise.all(times(count, call)))).toEqual(new Set(['FORBIDDEN']))
}

describe('denied calls', () => {
  it('share one row per minute, which counts them, when 150 arrive at once', async () => {
    const { key, actor } = await viewer()
    await flood(150, () => ban(key, victim.playerId))
    const { rows, attempts, minutes } = await rowsOf(actor)
    expect(attempts).toBe(150)
    expect(rows).toHaveLength(minutes)
    expect(new Set(rows.map(({ target }) => target))).toEqual(new Set([victim.playerId]))
  })

  it('are shown with the number of attempts, which is 1 for an allowed call', async () => {
    const { key, actor } = await viewer()
    for (const _ of times(3, () => 0)) await ban(key, victim.playerId)
    const admin = await newOperator(game.app.pool, game.projectId, 'admin')
    await support(game, admin.key, 'endSessions', { playerId: victim.playerId, reason: 'x' })
    const ask = async (by: string) => {
      const query = `{ auditLog(actor: "${by}") { edges { node { action attempts } } } }`
      const { data } = await game.graphql(admin.key, query)
      return data.auditLog.edges.map(({ node }: { node: { attempts: number } }) => node.attempts)
    }
    const counted: number[] = await ask(actor)
    expect(counted.reduce((sum, attempts) => sum + attempts, 0)).toBe(3)
    expect(await ask(admin.actor)).toEqual([1])
  })

  it('have an entry for any text that they name as their player', async () => {
    const { key, actor } = await viewer()
    for (const target of [victim.playerId, '', 'a\0b', '\ud800', '💎'.repeat(1000)])
      expect(await ban(key, target)).toBe('FORBIDDEN')
    expect((await rowsOf(actor)).attempts).toBe(5)
  })

  it('of one key on many targets fill a hundred rows per minute, and one row without a target counts the others', async () => {
    const { key, actor } = await viewer()
    await flood(300, (index) => ban(key, `target ${index}`))
    const { rows, attempts, minutes } = await rowsOf(actor)
    expect(attempts).toBe(300)
    expect(rows.length).toBeLessThanOrEqual(minutes * (ROWS_A_MINUTE + ROWS_BEYOND))
    if (minutes === 1) expect(rows).toHaveLength(ROWS_A_MINUTE + ROWS_BEYOND)
    const beyond = rows.filter(({ target }) => target === '')
    expect(beyond.length).toBeLessThanOrEqual(minutes)
  })

  it('leave the database free for other calls while sixty wait to be written', async () => {
    const { key, actor } = await viewer()
    const holder = await game.app.pool.connect()
    let flooding: Promise<void>
    try {
      // Holds the lock as another instance does while it writes.
      await holder.query(BEGIN)
      const source = `audit ${game.projectId} ${actor}`
      await holder.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [source])
      flooding = flood(60, (index) => ban(key, `target ${index}`))
      for (const _ of times(10, () => 0)) expect((await victim.post('/sdk/v1/player/get', {})).status).toBe(200)
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
    await flooding
    expect((await rowsOf(actor)).attempts).toBe(60)
  })

  it('of many players fill a hundred rows per minute and project, and those of keys count separately', async () => {
    const players = await Promise.all(times(130, () => game.player()))
    await flood(130, (index) => ban(players[index]?.token ?? '', victim.playerId))
    const { rows, attempts, minutes } = await rowsOf('player:%')
    expect(attempts).toBe(130)
    expect(rows.length).toBeLessThanOrEqual(minutes * (ROWS_A_MINUTE + ROWS_BEYOND))
    const beyond = rows.filter(({ actor }) => actor === 'player:*')
    if (minutes === 1) expect(beyond).toMatchObject([{ target: '', attempts: 30 }])
    const { key, actor } = await viewer()
    await ban(key, victim.playerId)
    expect((await rowsOf(actor)).rows).toMatchObject([{ target: victim.playerId, attempts: 1 }])
  })
})
