import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool } from '../../src/db/pool.ts'
import { createLocalBus } from '../../src/events/bus.ts'
import { createNumbering } from '../../src/events/numbering.ts'
import { auditBooks } from '../harness/audit.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { pull } from '../harness/pull.ts'
import { settled } from '../harness/settled.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { EVERY_EVENT } from './filters.ts'

let game: Game
beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
})
afterAll(() => game.stop())

const subscribe = () =>
  game.app.subscriptions.open({ environmentId: game.environmentId, after: null, filter: EVERY_EVENT })
const EVENTS = `query ($playerId: ID) {
  events(environment: "production", playerId: $playerId, last: 100) { edges { node { type handle } } }
}`

/** Commits an event of a player as a call does, and leaves it without a position. */
const INSERT = `INSERT INTO unnumbered_events (environment_id, type, player_id, data) VALUES ($1, 'player.created', $2, $3)`

const eventsOf = async (playerId: string) =>
  (
    await game.app.pool.query<{ data: string; position: string; occurred_at: Date }>(
      'SELECT data, position, occurred_at FROM events WHERE player_id = $1 ORDER BY position',
      [playerId],
    )
  ).rows

/** Locks the row of the stream in another session, until the returned function is called. */
async function holdStream(): Promise<() => Promise<void>> {
  const holder = new pg.Client({ connectionString: game.databaseUrl })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM streams WHERE environment_id = $1 FOR UPDATE', [game.environmentId])
  return async () => {
    await holder.query('COMMIT')
    await holder.end()
  }
}

describe('the positions of events', () => {
  it('exist once a call is answered: in the history, and behind a subscription that begins', async () => {
    for (const _ of times(30, Number)) {
      const player = await game.player()
      await player.start('season')
      const { data } = await game.graphql(game.platformKey, EVENTS, { playerId: player.playerId })
      expect(data.events.edges.map(({ node }: { node: { handle: string } }) => node.handle)).toEqual([null, 'onStart'])
      const live = pull(await subscribe())
      const next = await game.player()
      expect((await live.next()).value?.playerId).toBe(next.playerId)
      await live.return(undefined)
    }
  })

  it('are given within two seconds to events that a killed instance has left, and live subscribers receive them', async () => {
    const { playerId } = await game.player()
    const live = pull(await subscribe())
    const elapsed = startStopwatch()
    await game.app.pool.query(INSERT, [game.environmentId, playerId, '{"left":true}'])
    expect((await live.next()).value).toMatchObject({ playerId, data: '{"left":true}' })
    expect(elapsed()).toBeLessThan(2_000)
    await live.return(undefined)
  })

  it('hold up no call: calls with events are answered while another session holds the stream', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    const release = await holdStream()
    try {
      const place = { scenarioId: 'season', nodeId: 'pass', runId }
      const { status, body } = await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 100, source: 'match' })
      expect([status, body.leveledUp]).toEqual([200, true])
      expect((await eventsOf(player.playerId)).map(({ data }) => data)).not.toContainEqual(
        expect.stringMatching(/toLevel/),
      )
    } finally {
      await release()
    }
    await settled(game.app.pool)
    expect((await eventsOf(player.playerId)).at(-1)?.data).toMatch(/toLevel/)
    await auditBooks(game.app.pool)
  })

  it('keep the order of a player whose event was not yet committed when later ones of others were numbered', async () => {
    const [player, other] = [await game.player(), await game.player()]
    const levelUp = async ({ start, post }: typeof player) => {
      const runId = await start('season')
      const place = { scenarioId: 'season', nodeId: 'pass', runId }
      const { body } = await post('/sdk/v1/battlepass/xp', { ...place, amount: 100, source: 'match' })
      return `"toLevel":${body.level}`
    }
    const placeOf = async ({ playerId }: typeof player, text: string) =>
      (await eventsOf(playerId)).findIndex(({ data }) => data.includes(text))
    const slow = new pg.Client({ connectionString: game.databaseUrl })
    slow.on('error', () => undefined)
    await slow.connect()
    // The instance looks for what is left twice a second, which could hide a fault in a single round.
    for (const round of times(4, String)) {
      await slow.query('BEGIN')
      await slow.query(INSERT, [game.environmentId, player.playerId, `slow ${round}`])
      const later = await levelUp(other)
      await until(
        'the event that was written after it has its position',
        async () => (await placeOf(other, later)) >= 0,
      )
      await slow.query('COMMIT')
      const next = await levelUp(player)
      await settled(game.app.pool)
      expect(await placeOf(player, `slow ${round}`)).toBeGreaterThan(0)
      expect(await placeOf(player, next)).toBeGreaterThan(await placeOf(player, `slow ${round}`))
    }
    await slow.end()
    await auditBooks(game.app.pool)
  })

  it('are gapless and keep the order of each player when four instances number at once and lose their sessions', async () => {
    const pools = times(4, () => createPool({ url: game.databaseUrl, connections: 3, onError: () => undefined }))
    const numberings = pools.map((pool) =>
      createNumbering({ pool, ownPool: pool, bus: createLocalBus(), onError: () => undefined }),
    )
    for (const numbering of numberings) numbering.start()
    const players = await Promise.all(times(8, async () => (await game.player()).playerId))
    let isWriting = true
    const write = async (playerId: string, index: number) => {
      for (const n of times(60, Number)) {
        // The next event of a player begins after the COMMIT of the one before.
        await game.app.pool.query(INSERT, [game.environmentId, playerId, String(n)])
        await numberings[(index + n) % 4]?.settle(game.environmentId)
      }
    }
    let broken = 0
    const positionOf = async () =>
      (await game.app.pool.query('SELECT position FROM streams WHERE environment_id = $1', [game.environmentId]))
        .rows[0]?.position
    const breakSessions = async () => {
      let before: unknown
      while (isWriting) {
        await new Promise(setImmediate)
        // An event gets its position before the next break, or none ever would on a slow machine.
        const now = await positionOf()
        if (now === before) continue
        const { rowCount } = await game.app.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
             AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE 'WITH held AS MATERIALIZED%FROM streams%'`,
        )
        if (rowCount) before = now
        broken += rowCount ?? 0
      }
    }
    const breaking = breakSessions()
    await Promise.all(players.map(write))
    isWriting = false
    await breaking
    await settled(game.app.pool)
    await Promise.all(numberings.map((numbering) => numbering.stop()))
    await Promise.all(pools.map((pool) => pool.end()))
    expect(broken).toBeGreaterThan(0)
    for (const playerId of players)
      expect((await eventsOf(playerId)).slice(1).map(({ data }) => data)).toEqual(times(60, String))
    await auditBooks(game.app.pool)
  })
})
