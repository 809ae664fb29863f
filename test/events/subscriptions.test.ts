import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../src/app.ts'
import { createPlatformKey } from '../../src/auth/keys.ts'
import { generateTokenKey } from '../../src/auth/tokens.ts'
import { readConfig } from '../../src/config.ts'
import { printCursor } from '../../src/events/cursor.ts'
import { createProject } from '../../src/projects/projects.ts'
import { auditBooks } from '../support/audit.ts'
import { season } from '../support/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../support/game.ts'
import { until } from '../support/until.ts'

let game: Game
const place = { scenarioId: 'season', nodeId: 'pass' }

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
  await game.publish('other', season())
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

const xp = (player: TestPlayer, runId: string, amount: number) =>
  player.post('/sdk/v1/battlepass/xp', { ...place, runId, amount, source: 'match' })

const cursorNow = async (): Promise<string> =>
  (await game.graphql(game.platformKey, '{ streamCursor(environment: "production") }')).data.streamCursor

const ALL = `subscription ($after: String, $playerId: String, $handles: [String!], $types: [EventType!], $scenarioId: String, $nodeId: String) {
  events(environment: "production", after: $after, playerId: $playerId, handles: $handles, types: $types, scenarioId: $scenarioId, nodeId: $nodeId) {
    cursor playerId scenarioId nodeId runId handle data
  }
}`

describe('the four subscriptions of a battle pass (spec 6)', () => {
  it('tell each crossing with its own members, and only to its player', async () => {
    const after = await cursorNow()
    const player = await game.player({ wallet: { gems: 950n } })
    const stranger = await game.player()
    const runId = await player.start('season')
    const common = 'playerId scenarioId nodeId runId handle'
    const subscriptions = {
      onLevelUp: game.subscribe(
        player.token,
        `subscription ($after: String) { onLevelUp(after: $after) { ${common} fromLevel toLevel xp source } }`,
        { after },
      ),
      onMaxLevel: game.subscribe(
        player.token,
        `subscription ($after: String) { onMaxLevel(after: $after) { ${common} level xp source } }`,
        { after },
      ),
      onPremiumPurchase: game.subscribe(
        player.token,
        `subscription ($after: String) { onPremiumPurchase(after: $after) { ${common} price { currency amount } } }`,
        { after },
      ),
      onComplete: game.subscribe(
        player.token,
        `subscription ($after: String) { onComplete(after: $after) { ${common} data } }`,
        { after },
      ),
    }
    const strangers = game.subscribe(
      stranger.token,
      'subscription ($after: String) { events(after: $after) { playerId handle } }',
      { after },
    )

    await xp(player, runId, 150)
    await player.post('/sdk/v1/battlepass/premium', { ...place, runId })
    await xp(player, runId, 250)
    await player.graphql('mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed { level } } }', {
      input: { ...place, runId },
    })
    await stranger.start('season')

    const base = { playerId: player.playerId, ...place, runId }
    expect(await subscriptions.onLevelUp.take(2)).toEqual([
      { ...base, handle: 'onLevelUp', fromLevel: 1, toLevel: 2, xp: '150', source: 'match' },
      { ...base, handle: 'onLevelUp', fromLevel: 2, toLevel: 5, xp: '400', source: 'match' },
    ])
    expect(await subscriptions.onMaxLevel.next()).toEqual({
      ...base,
      handle: 'onMaxLevel',
      level: 5,
      xp: '400',
      source: 'match',
    })
    expect(await subscriptions.onPremiumPurchase.next()).toEqual({
      ...base,
      handle: 'onPremiumPurchase',
      price: { currency: 'gems', amount: '950' },
    })
    expect(await subscriptions.onComplete.next()).toEqual({ ...base, handle: 'onComplete', data: {} })
    // The stream is in order: had the stranger been told anything of the player, it would have come before its own start.
    expect(await strangers.take(2)).toEqual([
      { playerId: stranger.playerId, handle: null },
      { playerId: stranger.playerId, handle: 'onStart' },
    ])
    for (const subscription of [...Object.values(subscriptions), strangers]) await subscription.close()
  })

  it('narrow by scenario, node, player, handle and type', async () => {
    const after = await cursorNow()
    const [one, two] = [await game.player(), await game.player()]
    for (const player of [one, two]) {
      await player.start('other')
      await xp(player, await player.start('season'), 100)
    }
    const take = async (filter: Record<string, unknown>, count: number) => {
      const subscription = game.subscribe(game.platformKey, ALL, { after, ...filter })
      const events = await subscription.take(count)
      await subscription.close()
      return events.map(({ playerId, scenarioId, handle }) => [
        playerId === one.playerId ? 'one' : 'two',
        scenarioId,
        handle,
      ])
    }
    expect(await take({ playerId: two.playerId }, 4)).toEqual([
      ['two', null, null],
      ['two', 'other', 'onStart'],
      ['two', 'season', 'onStart'],
      ['two', 'season', 'onLevelUp'],
    ])
    expect(await take({ scenarioId: 'other' }, 2)).toEqual([
      ['one', 'other', 'onStart'],
      ['two', 'other', 'onStart'],
    ])
    expect(await take({ nodeId: 'pass' }, 2)).toEqual([
      ['one', 'season', 'onLevelUp'],
      ['two', 'season', 'onLevelUp'],
    ])
    expect(await take({ handles: ['onLevelUp'] }, 1)).toEqual([['one', 'season', 'onLevelUp']])
    expect(await take({ types: ['playerCreated'] }, 2)).toEqual([
      ['one', null, null],
      ['two', null, null],
    ])
  })
})

describe('who may listen', () => {
  const refused = async (token: string, query: string, variables: Record<string, unknown> = {}) => {
    const subscription = game.subscribe(token, query, variables)
    const error = await subscription.next().catch((thrown) => thrown)
    await subscription.close()
    return (error.errors ?? error)?.[0]?.extensions?.code
  }

  it('refuses a player that asks for another player, and an operator of another project', async () => {
    const [player, other] = [await game.player(), await game.player()]
    const { projectId } = await createProject(game.app.pool, { name: 'Other', environments: ['elsewhere'] })
    const foreignKey = (await createPlatformKey(game.app.pool, projectId, 'admin')).key
    expect(await refused(player.token, ALL, { playerId: other.playerId })).toBe('FORBIDDEN')
    expect(await refused(foreignKey, ALL)).toBe('ENVIRONMENT_NOT_FOUND')
    expect(await refused(game.platformKey, 'subscription { events { cursor } }')).toBe('INVALID_REQUEST')
    await game.app.pool.query(`UPDATE players SET status = 'banned' WHERE id = $1`, [player.playerId])
    expect(await refused(player.token, 'subscription { events { cursor } }')).toBe('PLAYER_BANNED')
  })

  it('refuses cursors that cannot be honoured: of another stream, of the future, past retention, of nowhere', async () => {
    const position = (await game.app.feeds.end(game.environmentId)) + 1_000n
    expect(await refused(game.platformKey, ALL, { after: printCursor(game.environmentId, position) })).toBe(
      'CURSOR_EXPIRED',
    )
    expect(await refused(game.platformKey, ALL, { after: printCursor(game.projectId, 0n) })).toBe('CURSOR_EXPIRED')
    expect(await refused(game.platformKey, ALL, { after: 'nonsense' })).toBe('INVALID_REQUEST')
  })
})

describe('replay joined to the live stream (decisions: no gap, no duplicate, in order)', () => {
  it('gives every listener the very stream, from whatever cursor, while sixteen writers go on', async () => {
    const after = await cursorNow()
    const players = await Promise.all(times(16, () => game.player()))
    const runs = await Promise.all(players.map((player) => player.start('season')))
    const writers = players.map(async (player, index) => {
      for (const _ of times(20, () => 0)) await xp(player, runs[index] ?? '', 25)
    })
    const listeners = times(10, () => game.subscribe(game.platformKey, ALL, { after }))
    await Promise.all(writers)
    const { rows } = await game.app.pool.query<{ position: string }>(
      'SELECT position FROM events WHERE environment_id = $1 ORDER BY position',
      [game.environmentId],
    )
    const all = rows.map(({ position }) => printCursor(game.environmentId, BigInt(position)))
    const expected = all.slice(all.indexOf(after) + 1)
    for (const listener of listeners)
      expect((await listener.take(expected.length)).map(({ cursor }) => cursor)).toEqual(expected)
    for (const from of times(20, (index) => Math.floor((index / 20) * expected.length))) {
      const late = game.subscribe(game.platformKey, ALL, { after: expected[from] })
      expect((await late.take(expected.length - from - 1)).map(({ cursor }) => cursor)).toEqual(
        expected.slice(from + 1),
      )
      await late.close()
    }
    for (const listener of listeners) await listener.close()
  })

  it('misses nothing that happens right after a cursor was read, in a hundred rounds', async () => {
    for (const _ of times(100, () => 0)) {
      const after = await cursorNow()
      const player = await game.player()
      const subscription = game.subscribe(game.platformKey, ALL, { after })
      expect((await subscription.next()).playerId).toBe(player.playerId)
      await subscription.close()
    }
  })

  it('brings what another instance wrote, without any signal between them', async () => {
    const keys = [await generateTokenKey()]
    const config = readConfig({
      NODE_ENV: 'test',
      PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: game.databaseUrl,
      TOKEN_KEYS: JSON.stringify(keys),
    })
    const other = await createApp({
      config,
      log: pino({ level: 'silent' }),
      databaseUrl: game.databaseUrl,
      tokenKeys: keys,
    })
    const listener = game.subscribe(game.platformKey, ALL, { after: await cursorNow() })
    const made = await Promise.all(times(5, () => other.operations.createPlayer(game.environmentId, 'From afar')))
    const heard = await listener.take(5)
    expect(heard.map(({ playerId }) => playerId).sort()).toEqual(made.map(({ playerId }) => playerId).sort())
    await listener.close()
    await other.stop()
  })

  it('frees what a listener held, also when nothing ever came', async () => {
    const player = await game.player()
    const subscription = game.subscribe(player.token, 'subscription { onMaxLevel { cursor } }')
    const waiting = subscription.next().catch(() => undefined)
    const open = async () => (await game.app.metrics.subscriptions.get()).values[0]?.value
    await until('the subscription is open', async () => (await open()) === 1)
    await subscription.close()
    await waiting
    await until('the subscription is gone', async () => (await open()) === 0)
  })
})

describe('server-sent events', () => {
  it('carry the same stream over HTTP', async () => {
    const after = await cursorNow()
    const player = await game.player()
    const aborted = new AbortController()
    const response = await fetch(`${game.baseUrl}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${game.platformKey}`,
      },
      body: JSON.stringify({
        query: 'subscription ($after: String) { playerCreated(environment: "production", after: $after) { playerId } }',
        variables: { after },
      }),
      signal: aborted.signal,
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      if (text.includes(player.playerId)) break
    }
    aborted.abort()
    expect(text).toContain('event: next')
  })
})

describe('positions', () => {
  it('are gapless and in commit order, with an idle transaction open beside them', async () => {
    const idle = await game.app.pool.connect()
    await idle.query('BEGIN')
    await idle.query('SELECT count(*) FROM events')
    const players = await Promise.all(times(16, () => game.player()))
    await Promise.all(players.map((player) => player.start('season')))
    await idle.query('ROLLBACK')
    idle.release()
    const { rows } = await game.app.pool.query(
      'SELECT count(*)::int AS events, max(position)::int AS last, count(DISTINCT position)::int AS positions FROM events WHERE environment_id = $1',
      [game.environmentId],
    )
    expect(rows[0].events).toBe(rows[0].last)
    expect(rows[0].positions).toBe(rows[0].last)
  })
})
